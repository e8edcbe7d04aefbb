import { WorkloadsError } from './errors.js';
import { wordSet } from './word-set.js';

/** Environment variables as Node hands them out. */
export type Environment = Readonly<Record<string, string | undefined>>;

// A server gets what a program needs to run and to reach the network, and nothing that may be somebody's secret.
const inherited = wordSet(`
  PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM TMPDIR TEMP TMP HTTP_PROXY HTTPS_PROXY NO_PROXY
  ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
  XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR NPM_CONFIG_CACHE NPM_CONFIG_REGISTRY
  NPM_CONFIG_USERCONFIG NPM_CONFIG_OFFLINE NPM_CONFIG_PREFER_OFFLINE UV_CACHE_DIR UV_DEFAULT_INDEX
  UV_INDEX_URL PIP_INDEX_URL VOLTA_HOME NVM_DIR PNPM_HOME PYENV_ROOT ASDF_DATA_DIR
`);
const inheritedOnWindows = wordSet(`
  SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES
  PROGRAMFILES(X86) USERPROFILE USERNAME HOMEDRIVE HOMEPATH NUMBER_OF_PROCESSORS
  PROCESSOR_ARCHITECTURE
`);

/** Options of {@link childEnvironment}. */
export interface ChildEnvironmentOptions {
  /** The environment of the process that starts the server. */
  readonly env: Environment;
  /** What the user asked for, `-e` and `--env-file`; wins over everything. */
  readonly user: Readonly<Record<string, string>>;
  readonly transport: 'stdio' | 'sse' | 'streamable-http';
  /** For the HTTP kinds: where the server is expected to listen. */
  readonly target?: { readonly host: string; readonly port: number };
  readonly platform?: NodeJS.Platform;
}

/**
 * What a server process sees: a short list of inherited variables, what tells it its transport, then what the user set.
 * A stdio server is told `MCP_TRANSPORT` alone; an HTTP one `MCP_PORT`, `FASTMCP_PORT` and `MCP_HOST` as well.
 */
export function childEnvironment(options: ChildEnvironmentOptions): Record<string, string> {
  const { env, user, transport, target, platform = process.platform } = options;
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && isInherited(name, platform)) result[name] = value;
  }
  result['MCP_TRANSPORT'] = transport;
  if (transport !== 'stdio' && target !== undefined) {
    result['MCP_PORT'] = String(target.port);
    result['FASTMCP_PORT'] = String(target.port);
    result['MCP_HOST'] = target.host;
  }
  return Object.assign(result, user);
}

function isInherited(name: string, platform: NodeJS.Platform): boolean {
  const upper = name.toUpperCase();
  if (inherited.has(upper) || upper.startsWith('LC_')) return true;
  return platform === 'win32' && inheritedOnWindows.has(upper);
}

const nameForm = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/**
 * Reads one `KEY=VALUE` of the command line. `KEY` alone takes the value from `env`.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_ENV` when the name is no name, or `KEY` alone is not set.
 */
export function parseEnvAssignment(text: string, env: Environment = {}): readonly [name: string, value: string] {
  const at = text.indexOf('=');
  const name = at < 0 ? text : text.slice(0, at);
  if (!nameForm.test(name)) {
    throw new WorkloadsError('ERR_WORKLOADS_ENV', `Expected an environment variable as KEY=VALUE, got "${text}"`, {
      details: { hint: 'write for example -e API_KEY=abc, or -e API_KEY to pass on the value of this shell' },
    });
  }
  if (at >= 0) return [name, text.slice(at + 1)];
  const value = env[name];
  if (value !== undefined) return [name, value];
  throw new WorkloadsError('ERR_WORKLOADS_ENV', `"${name}" is not set in this shell, so there is no value to pass on`, {
    details: { hint: `write -e ${name}=VALUE` },
  });
}

/**
 * Reads the text of an env file: `KEY=VALUE` lines, `#` comments, an optional `export`, values in single or double quotes
 * (double ones know `\n`, `\t`, `\"` and `\\`). CRLF and a byte order mark are no part of a value.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_ENV` with file and line.
 */
export function parseEnvFile(text: string, file: string): Record<string, string> {
  const result: Record<string, string> = {};
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  for (const [index, raw] of lines.entries()) {
    const line = raw.trim().replace(/^export\s+/, '');
    if (line === '' || line.startsWith('#')) continue;
    const at = line.indexOf('=');
    const name = at < 0 ? line : line.slice(0, at).trimEnd();
    if (at < 0 || !nameForm.test(name)) {
      throw envFileError(file, index + 1, `Expected KEY=VALUE, got "${line}"`);
    }
    result[name] = parseValue(line.slice(at + 1).trim(), file, index + 1);
  }
  return result;
}

function parseValue(text: string, file: string, line: number): string {
  const quote = text[0];
  if (quote !== '"' && quote !== "'") return text.replace(/\s+#.*$/, '');
  const body = quote === '"' ? /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/s : /^'([^']*)'\s*(?:#.*)?$/s;
  const match = body.exec(text);
  if (match === null) throw envFileError(file, line, `The quote ${quote} is not closed`);
  const inner = match[1] ?? '';
  if (quote === "'") return inner;
  return inner.replaceAll(/\\(.)/gs, (_, character: string) => ({ n: '\n', t: '\t', r: '\r' })[character] ?? character);
}

function envFileError(file: string, line: number, problem: string): WorkloadsError {
  return new WorkloadsError('ERR_WORKLOADS_ENV', `${file}:${line}: ${problem}`, {
    details: { file, line, hint: `correct line ${line} of ${file}` },
  });
}
