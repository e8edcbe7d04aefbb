import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Tool,
  type Transport,
} from '@modelcontextprotocol/client';
import { getDefaultEnvironment, StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { VmcpError } from '../errors.js';
import type { RemoteServer, ServerConfig, StdioServer } from './config.js';

/** What all connections share. */
export interface ConnectionOptions {
  /** How this program introduces itself. */
  readonly client: { readonly name: string; readonly version: string };
  /** Folder that `cwd` of a server is relative to. */
  readonly folder: string | undefined;
  /** Variables that every child gets besides those of its configuration. @defaultValue PATH, HOME and the like */
  readonly env: Readonly<Record<string, string>> | undefined;
}

/** A connection to one server, with the tools that it had when it was opened. */
export interface BackendConnection {
  readonly client: Client;
  readonly tools: readonly Tool[];
  /** Set once the server is gone. */
  readonly lost: () => boolean;
  close(): Promise<void>;
}

const STDERR_BYTES = 4096;
const MAX_TOOLS = 10_000;
const MAX_PAGES = 200;

/**
 * Connects to a server and lists its tools.
 *
 * @throws VmcpError `ERR_VMCP_CONNECT` with the end of the server's stderr in `details.stderrTail`.
 */
export async function connect(
  name: string,
  config: ServerConfig,
  options: ConnectionOptions,
  signal: AbortSignal,
): Promise<BackendConnection> {
  signal.throwIfAborted();
  const client = new Client(options.client, { versionNegotiation: { mode: 'auto' } });
  const tail = new Tail();
  const transport = config.kind === 'stdio' ? startStdio(config, options, tail) : openRemote(config);
  let lost = false;
  client.onclose = () => {
    lost = true;
  };
  const overdue = AbortSignal.timeout(config.connectTimeoutMs);
  const either = AbortSignal.any([signal, overdue]);
  const limits = { signal: either, timeout: config.connectTimeoutMs };
  try {
    // The first request may be one that the server is asked before the handshake: it does not end with the signal.
    await orAborted(client.connect(transport, limits), either);
    const tools = client.getServerCapabilities()?.tools === undefined ? [] : await listTools(client, limits);
    return { client, tools, lost: () => lost, close: () => close(client, transport) };
  } catch (error) {
    await close(client, transport);
    signal.throwIfAborted();
    throw refused(name, config, overdue.aborted ? undefined : error, tail.text());
  }
}

async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
    // Whichever of the two is late must not count as unhandled.
    promise.catch(() => undefined);
    aborted.catch(() => undefined);
  }
}

function startStdio({ command, args, env, cwd }: StdioServer, options: ConnectionOptions, tail: Tail): Transport {
  const folder = cwd === undefined || options.folder === undefined ? cwd : `${options.folder}/${cwd}`;
  const where = cwd?.startsWith('/') === true ? cwd : (folder ?? options.folder);
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...(options.env ?? getDefaultEnvironment()), ...env },
    stderr: 'pipe',
    ...(where === undefined ? {} : { cwd: where }),
  });
  transport.stderr?.on('data', (chunk: Buffer) => tail.add(chunk));
  return transport;
}

function openRemote({ url, headers, transport }: RemoteServer): Transport {
  const requestInit = { headers: { ...headers } };
  return transport === 'sse'
    ? new SSEClientTransport(url, { requestInit })
    : new StreamableHTTPClientTransport(url, { requestInit });
}

async function listTools(
  client: Client,
  limits: { readonly signal: AbortSignal; readonly timeout: number },
): Promise<Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES && tools.length < MAX_TOOLS; page += 1) {
    const answer = await client.listTools(cursor === undefined ? undefined : { cursor }, limits);
    tools.push(...answer.tools);
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  return tools.slice(0, MAX_TOOLS);
}

async function close(client: Client, transport: Transport): Promise<void> {
  if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession().catch(() => undefined);
  await client.close().catch(() => undefined);
  await transport.close().catch(() => undefined);
}

function refused(name: string, config: ServerConfig, error: unknown, stderrTail: string): VmcpError {
  const what = config.kind === 'stdio' ? [config.command, ...config.args].join(' ') : config.url.href;
  const reason = error === undefined ? `no answer within ${config.connectTimeoutMs / 1000} s` : reasonOf(error);
  const last = stderrTail.trim().split('\n').at(-1) ?? '';
  const shown = last === '' ? '' : `; its last line on stderr: ${last.slice(0, 300)}`;
  const remedy = config.kind === 'stdio' ? 'check the command' : 'check the address, and that the server runs';
  return new VmcpError(
    'ERR_VMCP_CONNECT',
    `server "${name}" (${what}) cannot be reached: ${reason}${shown}; ${remedy}`,
    {
      cause: error,
      details: { server: name, stderrTail },
    },
  );
}

/** The innermost reason: `fetch failed` says nothing, its cause does. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return cause.errors[0].message;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
}

/** The end of a stream. */
class Tail {
  #text = '';

  add(chunk: Buffer): void {
    this.#text = (this.#text + chunk.toString('utf8')).slice(-STDERR_BYTES);
  }

  text(): string {
    return this.#text;
  }
}
