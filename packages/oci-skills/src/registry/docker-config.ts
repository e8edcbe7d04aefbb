import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OciSkillsError } from '../errors.js';
import { printable } from '../text.js';
import type { RegistryCredentials } from '../types.js';

/** What is used of a Docker configuration. Keys are registries. */
export interface DockerConfig {
  readonly credHelpers: ReadonlyMap<string, string>;
  readonly auths: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly credsStore: string;
}

const MOST_BYTES = 4 * 1024 * 1024;

function fault(path: string, why: string, cause?: unknown): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_CREDENTIALS',
    `The Docker configuration \`${printable(path, 300)}\` ${why}; correct the file`,
    { cause, details: { path } },
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function entries(value: unknown): (readonly [string, unknown])[] {
  return isRecord(value) ? Object.entries(value) : [];
}

/** Where the configuration is, or undefined when neither the environment nor a home directory says. */
export function dockerConfigPath(env: Readonly<Record<string, string | undefined>>, home?: string): string | undefined {
  const directory = env['DOCKER_CONFIG'];
  if (directory !== undefined && directory !== '') return join(directory, 'config.json');
  return home === undefined ? undefined : join(home, '.docker', 'config.json');
}

/** Read a configuration; a missing file is an empty one. @throws OciSkillsError `ERR_OCI_SKILLS_CREDENTIALS` */
export async function readDockerConfig(path: string): Promise<DockerConfig> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw fault(path, 'cannot be read', error);
    return { credHelpers: new Map(), auths: new Map(), credsStore: '' };
  }
  if (text.length > MOST_BYTES) throw fault(path, 'is too large');
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    // The parser's message quotes the file, which holds secrets.
    throw fault(path, `is no JSON (${error instanceof SyntaxError ? 'syntax error' : 'unknown error'})`);
  }
  if (!isRecord(json)) throw fault(path, 'is no JSON object');
  const helpers = entries(json['credHelpers']).flatMap(([host, name]) =>
    typeof name === 'string' ? [[host, name] as const] : [],
  );
  const auths = entries(json['auths']).flatMap(([host, auth]) => (isRecord(auth) ? [[host, auth] as const] : []));
  const store = json['credsStore'];
  return { credHelpers: new Map(helpers), auths: new Map(auths), credsStore: typeof store === 'string' ? store : '' };
}

/** The keys that a registry may stand under. */
export function registryKeys(registry: string): readonly string[] {
  const hub =
    registry === 'index.docker.io' ? ['https://index.docker.io/v1/', 'docker.io', 'registry-1.docker.io'] : [];
  return [
    ...hub,
    registry,
    `https://${registry}`,
    `http://${registry}`,
    `https://${registry}/`,
    `https://${registry}/v1/`,
    `https://${registry}/v2/`,
  ];
}

function text(record: Readonly<Record<string, unknown>>, key: string): string {
  const value = record[key];
  return typeof value === 'string' ? value : '';
}

/** The credentials of one entry of `auths`, or undefined when it has none, as beside a credential store. */
export function readAuth(auth: Readonly<Record<string, unknown>>, path: string): RegistryCredentials | undefined {
  const identity = text(auth, 'identitytoken');
  if (identity !== '') return { kind: 'identity-token', token: identity };
  const registry = text(auth, 'registrytoken');
  if (registry !== '') return { kind: 'registry-token', token: registry };
  const encoded = text(auth, 'auth');
  if (encoded !== '') {
    const decoded = Buffer.from(encoded, 'base64').toString('utf8').replace(/\0+$/, '');
    const colon = decoded.indexOf(':');
    if (colon < 1) throw fault(path, 'has an `auth` that is not base64 of `name:password`');
    return { kind: 'basic', username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
  }
  const username = text(auth, 'username');
  return username === '' ? undefined : { kind: 'basic', username, password: text(auth, 'password') };
}
