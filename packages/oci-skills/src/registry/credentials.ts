import type { CredentialProvider, RegistryCredentials, RegistryOptions } from '../types.js';
import { askHelper } from './credential-helper.js';
import { dockerConfigPath, readAuth, readDockerConfig, registryKeys } from './docker-config.js';
import type { DockerConfig } from './docker-config.js';

type Env = Readonly<Record<string, string | undefined>>;

const anonymous: RegistryCredentials = { kind: 'anonymous' };

function fromEnv(env: Env, prefix: string): RegistryCredentials | undefined {
  const username = env[`${prefix}_USERNAME`] ?? '';
  const password = env[`${prefix}_PASSWORD`] ?? '';
  return username === '' || password === '' ? undefined : { kind: 'basic', username, password };
}

function firstKey<T>(map: ReadonlyMap<string, T>, registry: string): T | undefined {
  for (const key of registryKeys(registry)) {
    const value = map.get(key);
    if (value !== undefined) return value;
  }
  return undefined;
}

async function fromDocker(config: DockerConfig, path: string, registry: string, env: Env, signal?: AbortSignal) {
  const server = registryKeys(registry)[0] ?? registry;
  const helper = firstKey(config.credHelpers, registry);
  if (helper !== undefined) return await askHelper(helper, server, { env, signal });
  const auth = firstKey(config.auths, registry);
  const written = auth === undefined ? undefined : readAuth(auth, path);
  if (written !== undefined || config.credsStore === '') return written;
  return await askHelper(config.credsStore, server, { env, signal });
}

/**
 * One chain for pull, push and signatures: environment of the host, the environment's general pair for the one host
 * that it is meant for, then the Docker configuration with its helpers and store.
 */
export function createCredentialChain(options: RegistryOptions): CredentialProvider {
  const { env = {}, home, genericCredentialsFor } = options;
  return async (registry, { signal }) => {
    const prefix = `REGISTRY_${registry.replaceAll(/[.:-]/g, '_').toUpperCase()}`;
    const own = fromEnv(env, prefix);
    if (own !== undefined) return own;
    const general = genericCredentialsFor === registry ? fromEnv(env, 'REGISTRY') : undefined;
    if (general !== undefined) return general;
    const path = dockerConfigPath(env, home);
    if (path === undefined) return anonymous;
    return (await fromDocker(await readDockerConfig(path), path, registry, env, signal)) ?? anonymous;
  };
}
