import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkloadsError } from './errors.js';
import { createJson, hasCode, messageOf, parseJsonObject, removeFile, writeJson } from './json-file.js';
import { checkGroupName, checkWorkloadName } from './names.js';
import { createFieldReader } from './field-reader.js';
import type { FieldReader } from './field-reader.js';
import type { Paths } from './paths.js';
import { wordSet } from './word-set.js';

/** How the server speaks. */
export type TransportType = 'stdio' | 'sse' | 'streamable-http';

/** How processes are shared among clients. */
export type Isolation = (typeof isolations)[number];

/** Every way to share a process. */
export const isolations = ['shared', 'session', 'principal', 'lease'] as const;

/** What the server speaks; `auto` asks it. */
export const backendEras = ['auto', 'legacy', 'modern'] as const;

/** All that is needed to run a server again; the JSON of `export` and `run --from-config`. */
export interface RunConfig {
  readonly schema_version: string;
  readonly name: string;
  /** The package in the form the user gave it, `npx://NAME`; empty for a plain command. */
  readonly image: string;
  /** The program; found through `PATH`. */
  readonly command: string;
  readonly cmd_args: readonly string[];
  /** Where the program runs; the folder of `run`. */
  readonly working_dir?: string;
  readonly transport: TransportType;
  /** How clients speak to a stdio server; for another one it is the transport. */
  readonly proxy_mode: 'streamable-http' | 'sse';
  readonly host: string;
  /** Port of the proxy, kept over restarts. */
  readonly port: number;
  readonly group: string;
  readonly env_vars: Readonly<Record<string, string>>;
  readonly container_labels: Readonly<Record<string, string>>;
  /** Address of a server somewhere else; `command` is empty then. */
  readonly remote_url?: string;
  /** Where a server that speaks HTTP is expected to listen; 0 or absent takes a free port at each start. */
  readonly target_port?: number;
  readonly target_host?: string;
  /** What stands in front of the path where clients reach the proxy. */
  readonly endpoint_prefix?: string;
  readonly trust_proxy_headers?: boolean;
  /** File with certificates in PEM that are trusted besides those of the system. */
  readonly thv_ca_bundle?: string;
  readonly isolation: Isolation;
  readonly backend_era: (typeof backendEras)[number];
  /** File with the keys that seal request states. */
  readonly state_key_file?: string;
  /** A duration in Go's grammar. */
  readonly session_ttl?: string;
  readonly stateless: boolean;
  readonly strict_protocol_validation: boolean;
  readonly allowed_origins: readonly string[];
}

export const schemaVersion = 'v0.1.0';
export const defaultGroup = 'default';

/** Fields of the wider format that ask for something this package does not do; an empty value asks for nothing. */
const unsupported = new Map([
  ['secrets', 'secrets'],
  ['permission_profile_name_or_path', 'permission profiles'],
  ['isolate_network', 'network isolation'],
  ['volumes', 'volumes'],
  ['publish', 'published ports'],
  ['oidc_config', 'authentication of clients'],
  ['token_exchange_config', 'token exchange'],
  ['remote_auth_config', 'authentication to remote servers'],
  ['authz_config', 'authorization'],
  ['authz_config_path', 'authorization'],
  ['audit_config', 'audit logging'],
  ['audit_config_path', 'audit logging'],
  ['telemetry_config', 'telemetry'],
  ['tools_filter', 'tool filters'],
  ['tools_override', 'tool overrides'],
  ['middleware_configs', 'middleware'],
  ['k8s_pod_template_patch', 'Kubernetes'],
]);
/** Fields of the wider format that say nothing about how the server must run. */
const ignored = wordSet(`
  $schema base_name container_name debug env_file_dir ignore_config permission_profile
  jwks_auth_token_file registry_api_url registry_url registry_server_name
  mcpserver_generation allow_docker_gateway runtime_config
`);
const known = wordSet(`
  schema_version name image command cmd_args working_dir transport proxy_mode host port group env_vars
  container_labels isolation backend_era state_key_file session_ttl stateless strict_protocol_validation allowed_origins
  remote_url target_port target_host endpoint_prefix trust_proxy_headers thv_ca_bundle
`);

/**
 * Reads a run configuration from text; `path` is for messages alone.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_FILE` with file and line when it is broken, `ERR_WORKLOADS_UNSUPPORTED` when it asks
 * for what this package cannot do.
 */
export function parseRunConfig(text: string, path: string, remedy: string): RunConfig {
  const fields = parseJsonObject(text, path, remedy);
  for (const [name, value] of fields) {
    const feature = unsupported.get(name);
    if (feature !== undefined && asksForSomething(value)) {
      throw unsupportedError(path, `"${name}" asks for ${feature}, which this version does not support`, name);
    }
    if (!known.has(name) && !ignored.has(name) && feature === undefined) {
      throw new WorkloadsError('ERR_WORKLOADS_FILE', `${path}: unknown field "${name}"`, {
        details: { file: path, hint: remedy },
      });
    }
  }
  const read = createFieldReader(fields, path, remedy);
  const name = read.string('name', '');
  if (name !== '') checkWorkloadName(name);
  const group = read.string('group', defaultGroup) || defaultGroup;
  checkGroupName(group);
  const command = read.string('command', '');
  const image = read.string('image', '');
  const remoteUrl = read.string('remote_url', '');
  if (remoteUrl !== '') checkRemoteUrl(remoteUrl, command, path);
  if (command === '' && remoteUrl === '') {
    const what = image === '' ? 'has no "command"' : `runs the container image "${image}"`;
    throw unsupportedError(path, `the configuration ${what}; this version runs commands and packages`, 'command');
  }
  const workingDir = read.string('working_dir', '');
  const sessionTtl = read.string('session_ttl', '');
  const stateKeyFile = read.string('state_key_file', '');
  const transport = readTransport(read, remoteUrl, path);
  return {
    schema_version: read.string('schema_version', schemaVersion),
    name,
    image,
    command,
    cmd_args: read.strings('cmd_args'),
    ...(workingDir === '' ? {} : { working_dir: workingDir }),
    transport,
    proxy_mode:
      transport === 'stdio' ? read.choice('proxy_mode', ['streamable-http', 'sse'], 'streamable-http') : transport,
    host: read.string('host', '127.0.0.1') || '127.0.0.1',
    port: read.integer('port', 0, 0, 65_535),
    group,
    env_vars: read.record('env_vars'),
    container_labels: read.record('container_labels'),
    ...httpFields(read, remoteUrl),
    isolation: read.choice('isolation', isolations, 'shared'),
    backend_era: read.choice('backend_era', backendEras, 'auto'),
    ...(stateKeyFile === '' ? {} : { state_key_file: stateKeyFile }),
    ...(sessionTtl === '' ? {} : { session_ttl: sessionTtl }),
    stateless: read.boolean('stateless'),
    strict_protocol_validation: read.boolean('strict_protocol_validation'),
    allowed_origins: read.strings('allowed_origins'),
  };
}

/** What only servers that speak HTTP have. */
function httpFields(read: FieldReader, remoteUrl: string): Partial<RunConfig> {
  const targetPort = read.integer('target_port', 0, 0, 65_535);
  const targetHost = read.string('target_host', '');
  const prefix = read.string('endpoint_prefix', '');
  const caBundle = read.string('thv_ca_bundle', '');
  return {
    ...(remoteUrl === '' ? {} : { remote_url: remoteUrl }),
    ...(targetPort === 0 ? {} : { target_port: targetPort }),
    ...(targetHost === '' ? {} : { target_host: targetHost }),
    ...(prefix === '' ? {} : { endpoint_prefix: prefix }),
    ...(read.boolean('trust_proxy_headers') ? { trust_proxy_headers: true } : {}),
    ...(caBundle === '' ? {} : { thv_ca_bundle: caBundle }),
  };
}

function readTransport(read: FieldReader, remoteUrl: string, path: string): TransportType {
  const transport = read.choice(
    'transport',
    ['stdio', 'sse', 'streamable-http'],
    remoteUrl === '' ? 'stdio' : 'streamable-http',
  );
  if (remoteUrl === '' || transport !== 'stdio') return transport;
  throw new WorkloadsError('ERR_WORKLOADS_FILE', `${path}: a remote server cannot speak stdio`, {
    details: { file: path, field: 'transport', hint: 'write "streamable-http" or "sse"' },
  });
}

/** @throws WorkloadsError `ERR_WORKLOADS_FILE` */
function checkRemoteUrl(remoteUrl: string, command: string, path: string): void {
  const refuse = (problem: string, hint: string): never => {
    throw new WorkloadsError('ERR_WORKLOADS_FILE', `${path}: ${problem}`, {
      details: { file: path, field: 'remote_url', hint },
    });
  };
  if (command !== '') refuse('it has both a "command" and a "remote_url"', 'remove one of the two');
  const url = URL.canParse(remoteUrl) ? new URL(remoteUrl) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    refuse(`"${remoteUrl}" is no http or https URL`, 'write for example https://mcp.example.com/mcp');
  } else if (url.username !== '' || url.password !== '') {
    refuse('the "remote_url" holds a user or a password', 'leave them out of the URL');
  }
}

function asksForSomething(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== undefined && value !== null && value !== '' && value !== false && value !== 0;
}

function unsupportedError(path: string, problem: string, field: string): WorkloadsError {
  return new WorkloadsError('ERR_WORKLOADS_UNSUPPORTED', `${path}: ${problem}`, {
    details: {
      file: path,
      field,
      hint: `remove "${field}" or run the server as a command: thv run --name NAME -- COMMAND`,
    },
  });
}

/** The run configurations of this user, one file a name. */
export interface RunConfigStore {
  pathOf(name: string): string;
  /** Names of all files, sorted; broken files are among them. */
  names(): Promise<string[]>;
  /** @throws WorkloadsError `ERR_WORKLOADS_NOT_FOUND`, `ERR_WORKLOADS_FILE` */
  read(name: string): Promise<RunConfig>;
  /** Writes a new file. @throws WorkloadsError `ERR_WORKLOADS_NAME_IN_USE` when the name has one already. */
  create(config: RunConfig): Promise<void>;
  write(config: RunConfig): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Opens the folder of run configurations; it is created on the first write. */
export function createRunConfigStore(paths: Pick<Paths, 'runConfigs'>): RunConfigStore {
  const pathOf = (name: string): string => join(paths.runConfigs, `${name}.json`);
  const names = async (): Promise<string[]> => {
    const entries = await readdir(paths.runConfigs).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    });
    return entries
      .filter((entry) => entry.endsWith('.json'))
      .map((entry) => entry.slice(0, -'.json'.length))
      .sort();
  };
  return {
    pathOf,
    names,
    async read(name) {
      checkWorkloadName(name);
      const path = pathOf(name);
      const remedy = `correct ${path}, or remove it with: thv rm ${name}`;
      let text: string;
      try {
        text = await readFile(path, 'utf8');
      } catch (error) {
        if (hasCode(error, 'ENOENT')) throw notFound(name);
        throw new WorkloadsError('ERR_WORKLOADS_FILE', `${path} cannot be read: ${messageOf(error)}`, {
          details: { file: path, hint: remedy },
          cause: error,
        });
      }
      // The file's name decides: a copied file must not answer for another workload.
      return { ...parseRunConfig(text, path, remedy), name };
    },
    async create(config) {
      checkWorkloadName(config.name);
      try {
        await createJson(pathOf(config.name), config);
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw error;
        throw new WorkloadsError('ERR_WORKLOADS_NAME_IN_USE', `a server named "${config.name}" already exists`, {
          details: {
            name: config.name,
            hint: `thv start ${config.name}, or thv rm ${config.name} first, or choose another --name`,
          },
          cause: error,
        });
      }
    },
    write: async (config) => writeJson(pathOf(config.name), config),
    remove: async (name) => removeFile(pathOf(name)),
  };
}

export function notFound(name: string): WorkloadsError {
  return new WorkloadsError('ERR_WORKLOADS_NOT_FOUND', `server "${name}" not found`, {
    details: { name, hint: 'thv list --all' },
  });
}
