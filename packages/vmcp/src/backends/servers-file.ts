import { parseDuration } from '@thv/workflow-dag';
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { VmcpError } from '../errors.js';
import { CONNECT_TIMEOUT_MS, type ServerConfig, type Servers } from './config.js';

/** How a servers file is read. */
export interface ServersFileOptions {
  /** Where `${NAME}` is looked up. @defaultValue nothing is known */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Servers to read; the others are checked for their shape alone, so that their variables need not be set. */
  readonly only?: ReadonlySet<string>;
}

/** One thing that is wrong with a servers file. */
export interface ServersProblem {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}

const MAX_BYTES = 1024 * 1024;
const MAX_SERVERS = 1000;
const STDIO_KEYS = ['command', 'args', 'env', 'cwd', 'timeout', 'type'];
const REMOTE_KEYS = ['url', 'headers', 'transport', 'timeout', 'type'];

/**
 * Reads a servers file: YAML or JSON with a map `servers` (or `mcpServers`, as many clients call it) of names to
 * either `{command, args, env, cwd, timeout}` or `{url, headers, transport, timeout}`. `${NAME}` in values is replaced
 * from `env`, `${NAME:-text}` by the text where the variable is not set.
 *
 * @throws VmcpError `ERR_VMCP_SERVERS_FILE` with all problems in `details.problems`; `ERR_VMCP_VARIABLE` for variables
 * that are not set.
 */
export function parseServers(text: string, { env = {}, only }: ServersFileOptions = {}): Servers {
  if (Buffer.byteLength(text) > MAX_BYTES) throw refused([problem(`the file is larger than ${MAX_BYTES} bytes`)]);
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false, version: '1.2' });
  const at = (offset: number | undefined): Omit<ServersProblem, 'message'> => {
    const { line, col } = counter.linePos(offset ?? 0);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  if (document.errors.length > 0) {
    throw refused(document.errors.map(({ message, pos }) => ({ message: `no YAML: ${message}`, ...at(pos[0]) })));
  }
  const problems: ServersProblem[] = [];
  const complain: Complain = (path, message) => {
    const node: unknown = document.getIn(path, true);
    const range = typeof node === 'object' && node !== null && 'range' in node ? (node.range as number[] | null) : null;
    problems.push({ message: `${path.join('.')}${path.length > 0 ? ' ' : ''}${message}`, ...at(range?.[0]) });
  };
  let root: unknown;
  try {
    root = document.toJS({ maxAliasCount: 100, mapAsMap: true });
  } catch (error) {
    // An alias without an anchor, or too many of them.
    throw refused([problem(error instanceof Error ? error.message : String(error))]);
  }
  const reader = new Reader(complain, env, only);
  const servers = reader.read(root, isMap(document.contents) ? document.contents.items.map(({ key }) => key) : []);
  if (reader.missing.size > 0) {
    const names = [...reader.missing];
    throw new VmcpError(
      'ERR_VMCP_VARIABLE',
      `the servers file uses ${names.length === 1 ? 'a variable that is' : 'variables that are'} not set: ${names.join(', ')}; set ${names.length === 1 ? 'it' : 'them'}, or write \${NAME:-default}`,
      { details: { names } },
    );
  }
  if (problems.length > 0) throw refused(problems);
  return servers;
}

type Path = readonly (string | number)[];
type Complain = (path: Path, message: string) => void;

class Reader {
  readonly missing = new Set<string>();
  readonly #complain: Complain;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #only: ReadonlySet<string> | undefined;

  constructor(
    complain: Complain,
    env: Readonly<Record<string, string | undefined>>,
    only: ReadonlySet<string> | undefined,
  ) {
    this.#complain = complain;
    this.#env = env;
    this.#only = only;
  }

  read(root: unknown, keys: readonly unknown[]): Servers {
    const servers = new Map<string, ServerConfig>();
    if (!(root instanceof Map)) {
      this.#complain([], 'the file must have a map "servers" of names to servers');
      return servers;
    }
    for (const node of keys) {
      const key = isScalar(node) ? String(node.value) : '';
      if (key !== 'servers' && key !== 'mcpServers') this.#complain([key], 'is an unknown key; write servers');
    }
    const key = root.has('servers') ? 'servers' : 'mcpServers';
    if (root.has('servers') && root.has('mcpServers'))
      this.#complain(['mcpServers'], 'stands beside servers; keep one of the two');
    const map: unknown = root.get(key);
    if (!(map instanceof Map)) {
      this.#complain(
        root.has(key) ? [key] : [],
        'must be a map of names to servers, for example servers: {everything: {command: npx}}',
      );
      return servers;
    }
    if (map.size > MAX_SERVERS) this.#complain([key], `has more than ${MAX_SERVERS} servers`);
    for (const [name, value] of [...map].slice(0, MAX_SERVERS)) {
      const server = this.#server([key, String(name)], String(name), value);
      if (server !== undefined) servers.set(String(name), server);
    }
    return servers;
  }

  #server(path: Path, name: string, value: unknown): ServerConfig | undefined {
    if (!/^[a-zA-Z0-9][a-zA-Z0-9_-]*$/.test(name)) {
      this.#complain(path, 'is no name of a server: use letters, digits, "-" and "_"');
      return undefined;
    }
    if (!(value instanceof Map)) {
      this.#complain(path, 'must be a map with command or url');
      return undefined;
    }
    const isRemote = value.has('url');
    if (isRemote && value.has('command'))
      this.#complain([...path, 'url'], 'stands beside command; keep one of the two');
    if (!isRemote && !value.has('command')) {
      this.#complain(path, 'needs a command or a url');
      return undefined;
    }
    const known = isRemote ? REMOTE_KEYS : STDIO_KEYS;
    for (const key of value.keys()) {
      if (!known.includes(String(key)))
        this.#complain([...path, String(key)], `is an unknown key; known keys: ${known.join(', ')}`);
    }
    const fields = new Fields(value, path, this.#complain, (text) => this.#expand(text, name));
    return isRemote ? readRemote(fields) : readStdio(fields);
  }

  #expand(text: string, name: string): string {
    return text.replaceAll(
      /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g,
      (_, variable: string, fallback?: string) => {
        const value = this.#env[variable];
        if (value !== undefined && value !== '') return value;
        if (fallback === undefined && (this.#only?.has(name) ?? true)) this.missing.add(variable);
        return fallback ?? '';
      },
    );
  }
}

/** The fields of one server. */
class Fields {
  readonly #map: ReadonlyMap<unknown, unknown>;
  readonly #path: Path;
  readonly #complain: Complain;
  readonly #expand: (text: string) => string;

  constructor(map: ReadonlyMap<unknown, unknown>, path: Path, complain: Complain, expand: (text: string) => string) {
    this.#map = map;
    this.#path = path;
    this.#complain = complain;
    this.#expand = expand;
  }

  complain(key: string, message: string): void {
    this.#complain([...this.#path, key], message);
  }

  text(key: string): string | undefined {
    const value = this.#map.get(key);
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'string' && value !== '') return this.#expand(value);
    this.complain(key, 'must be text');
    return undefined;
  }

  list(key: string): readonly string[] {
    const value = this.#map.get(key) ?? [];
    const isText = (item: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof item);
    if (Array.isArray(value) && value.every(isText)) return value.map((item) => this.#expand(String(item)));
    this.complain(key, 'must be a list of texts');
    return [];
  }

  texts(key: string): Readonly<Record<string, string>> {
    const value = this.#map.get(key) ?? new Map<string, string>();
    if (!(value instanceof Map)) {
      this.complain(key, 'must be a map of names to texts');
      return {};
    }
    const entries = [...(value as ReadonlyMap<unknown, unknown>)].map(([name, item]): [string, string] => {
      if (!['string', 'number', 'boolean'].includes(typeof item))
        this.#complain([...this.#path, key, String(name)], 'must be text');
      return [String(name), this.#expand(String(item))];
    });
    return Object.fromEntries(entries);
  }

  timeoutMs(): number {
    const value = this.#map.get('timeout');
    if (value === undefined || value === null) return CONNECT_TIMEOUT_MS;
    try {
      const milliseconds = Number(parseDuration(String(value)) / 1_000_000n);
      if (milliseconds >= 1) return Math.min(milliseconds, 2 ** 31 - 1);
    } catch {
      // The same complaint as for a time of zero.
    }
    this.complain('timeout', 'must be a duration above zero, for example 30s');
    return CONNECT_TIMEOUT_MS;
  }
}

function readStdio(fields: Fields): ServerConfig {
  const cwd = fields.text('cwd');
  return {
    kind: 'stdio',
    command: fields.text('command') ?? '',
    args: fields.list('args'),
    env: fields.texts('env'),
    ...(cwd === undefined ? {} : { cwd }),
    connectTimeoutMs: fields.timeoutMs(),
  };
}

function readRemote(fields: Fields): ServerConfig {
  const address = fields.text('url') ?? '';
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    fields.complain('url', 'must be an http or https address');
  const transport = fields.text('transport');
  if (transport !== undefined && transport !== 'sse' && transport !== 'streamable-http') {
    fields.complain('transport', 'must be one of: streamable-http, sse');
  }
  const guessed = url?.pathname.endsWith('/sse') === true ? 'sse' : 'streamable-http';
  return {
    kind: 'remote',
    url: url ?? new URL('http://invalid.invalid'),
    headers: fields.texts('headers'),
    transport: transport === 'sse' || transport === 'streamable-http' ? transport : guessed,
    connectTimeoutMs: fields.timeoutMs(),
  };
}

function problem(message: string): ServersProblem {
  return { message, line: 1, column: 1 };
}

function refused(problems: readonly ServersProblem[]): VmcpError {
  const lines = problems.map(({ message, line, column }) => `${line}:${column} ${message}`);
  return new VmcpError('ERR_VMCP_SERVERS_FILE', `the servers file is invalid: ${lines.join('; ')}`, {
    details: { problems, line: problems[0]?.line ?? 1 },
  });
}
