import type { Client, Tool } from '@modelcontextprotocol/client';
import { ProtocolError, SdkHttpError } from '@modelcontextprotocol/client';
import {
  resolveToolReference,
  type RoutedTool,
  type ToolCall,
  type ToolCaller,
  type ToolInfo,
  type ToolResult,
} from '@thv/workflow-dag';
import { VmcpError } from '../errors.js';
import type { ServerConfig, Servers } from './config.js';
import { connect, reasonOf, type BackendConnection, type ConnectionOptions } from './connection.js';

/** How backends are opened. */
export interface BackendsOptions {
  /** Servers to connect to. @defaultValue all */
  readonly only?: ReadonlySet<string>;
  /** Folder that `cwd` of a server is relative to. @defaultValue the folder of this process */
  readonly folder?: string;
  /** Variables for every child besides those of its configuration. @defaultValue PATH, HOME and the like */
  readonly env?: Readonly<Record<string, string>>;
  /** How this program introduces itself. @defaultValue thv */
  readonly client?: { readonly name: string; readonly version: string };
  /** Gives up connecting. */
  readonly signal?: AbortSignal;
}

/** A tool of a backend, under the name by which it is offered. */
export interface BackendTool extends RoutedTool {
  readonly tool: Tool;
}

/** Connections to several servers, as one set of tools. */
export interface Backends extends ToolCaller {
  /** Every tool once; `advertised` is its own name where no other server has that, otherwise `workload_name`. */
  readonly tools: readonly BackendTool[];
  /** Finds a tool by its offered name, by `workload.name` or by `workload_name`. */
  resolve(reference: string): ToolInfo | undefined;
  /** The tools that a plain name may mean, as `workload.name`; none: it is clear, or unknown. */
  ambiguous(reference: string): readonly string[];
  /** Ends every connection and every child. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Between two attempts of the engine; the engine's own timeout ends a call. */
const NO_TIMEOUT = 2 ** 31 - 1;
const INVALID_PARAMS = -32602;
const METHOD_NOT_FOUND = -32601;

/**
 * Connects to servers, all at once, and lists their tools. A server that goes away is connected to again by the next call.
 *
 * @throws VmcpError `ERR_VMCP_CONNECT` for the first server that cannot be reached, with all of them in `details.failures`;
 * no connection stays open then.
 */
export async function openBackends(servers: Servers, options: BackendsOptions = {}): Promise<Backends> {
  const { only, folder, env, client = { name: 'thv', version: '0.0.0' } } = options;
  const { signal = new AbortController().signal } = options;
  if (!(servers instanceof Map)) {
    const got = `\`${String(servers)}\` (${typeof servers})`;
    throw new VmcpError('ERR_VMCP_ARGUMENT', `Expected \`servers\` to be what parseServers answers, got ${got}`);
  }
  const wanted = [...servers].filter(([name]) => only?.has(name) ?? true);
  const settings: ConnectionOptions = { client, folder, env };
  const attempts = await Promise.allSettled(
    wanted.map(async ([name, config]) => connect(name, config, settings, signal)),
  );
  const failures = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason as unknown] : []));
  const opened = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
  if (failures.length > 0) {
    await Promise.all(opened.map(async (connection) => connection.close()));
    signal.throwIfAborted();
    const messages = failures.map((failure) => (failure instanceof Error ? failure.message : String(failure)));
    throw new VmcpError('ERR_VMCP_CONNECT', messages.join('; '), {
      cause: failures[0],
      details: { failures: messages },
    });
  }
  const entries = wanted.flatMap(([name, config], index) => {
    const connection = opened[index];
    return connection === undefined ? [] : [new Backend(name, config, settings, connection)];
  });
  return new OpenBackends(entries);
}

class OpenBackends implements Backends {
  readonly tools: readonly BackendTool[];
  readonly #backends: ReadonlyMap<string, Backend>;
  readonly #routes: readonly BackendTool[];
  #closed = false;

  constructor(backends: readonly Backend[]) {
    this.#backends = new Map(backends.map((backend) => [backend.name, backend]));
    const all = backends.flatMap(({ name, tools }) =>
      tools.map((tool) => ({ workload: name, original: tool.name, tool })),
    );
    const owners = new Map<string, number>();
    for (const { original } of all) owners.set(original, (owners.get(original) ?? 0) + 1);
    const prefixed = (entry: (typeof all)[number]) => ({ ...entry, advertised: `${entry.workload}_${entry.original}` });
    const unique = ({ original }: (typeof all)[number]) => owners.get(original) === 1;
    this.tools = all.map((entry) => (unique(entry) ? { ...entry, advertised: entry.original } : prefixed(entry)));
    this.#routes = [...this.tools, ...all.filter(unique).map(prefixed)];
  }

  resolve(reference: string): ToolInfo | undefined {
    const found = resolveToolReference(reference, this.#routes);
    if (found === undefined) return undefined;
    const { inputSchema, annotations } = found.tool;
    return {
      name: found.original,
      workload: found.workload,
      inputSchema: inputSchema as NonNullable<ToolInfo['inputSchema']>,
      ...(annotations === undefined ? {} : { annotations: annotations as NonNullable<ToolInfo['annotations']> }),
    };
  }

  ambiguous(reference: string): readonly string[] {
    if (this.resolve(reference) !== undefined) return [];
    return this.tools
      .filter(({ original }) => original === reference)
      .map(({ workload }) => `${workload}.${reference}`);
  }

  async call(call: ToolCall): Promise<ToolResult> {
    if (this.#closed)
      throw new VmcpError('ERR_VMCP_CLOSED', 'the connections to the servers are closed', { retryable: false });
    const backend = this.#backends.get(call.tool.workload ?? '');
    if (backend === undefined) {
      throw new VmcpError('ERR_VMCP_CALL', `no server "${call.tool.workload ?? ''}" is connected`, {
        retryable: false,
      });
    }
    return backend.call(call);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#backends.values()].map(async (backend) => backend.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** One server; connected anew where it has gone away. */
class Backend {
  readonly name: string;
  readonly tools: readonly Tool[];
  readonly #config: ServerConfig;
  readonly #settings: ConnectionOptions;
  readonly #ended = new AbortController();
  #connection: Promise<BackendConnection>;
  #current: BackendConnection | 'lost' | undefined;

  constructor(name: string, config: ServerConfig, settings: ConnectionOptions, connection: BackendConnection) {
    this.name = name;
    this.tools = connection.tools;
    this.#config = config;
    this.#settings = settings;
    this.#current = connection;
    this.#connection = Promise.resolve(connection);
  }

  async call({ tool, arguments: args, idempotencyKey, signal }: ToolCall): Promise<ToolResult> {
    const client = await this.#client();
    try {
      const result = await client.callTool(
        { name: tool.name, arguments: { ...args }, _meta: { 'toolhive.dev/idempotencyKey': idempotencyKey } },
        { signal, timeout: NO_TIMEOUT, resetTimeoutOnProgress: true },
      );
      return result as ToolResult;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw this.#explain(tool.name, error);
    }
  }

  async #client(): Promise<Client> {
    if (this.#current === 'lost' || this.#current?.lost() === true) {
      // Calls that come meanwhile wait for the same attempt.
      this.#current = undefined;
      this.#connection = connect(this.name, this.#config, this.#settings, this.#ended.signal);
    }
    const attempt = this.#connection;
    try {
      const connection = await attempt;
      if (attempt === this.#connection) this.#current = connection;
      return connection.client;
    } catch (error) {
      // The next call tries once more.
      if (attempt === this.#connection) this.#current = 'lost';
      throw error;
    }
  }

  #explain(tool: string, error: unknown): VmcpError {
    const isHttp = error instanceof SdkHttpError;
    const status = isHttp ? error.status : undefined;
    const code = error instanceof ProtocolError ? error.code : undefined;
    const hopeless = code === INVALID_PARAMS || code === METHOD_NOT_FOUND || status === 401 || status === 403;
    return new VmcpError('ERR_VMCP_CALL', `tool "${tool}" of server "${this.name}": ${reasonOf(error)}`, {
      cause: error,
      retryable: !hopeless,
      details: {
        server: this.name,
        tool,
        ...(code === undefined ? {} : { code }),
        ...(status === undefined ? {} : { status }),
      },
    });
  }

  async close(): Promise<void> {
    this.#ended.abort(new VmcpError('ERR_VMCP_CLOSED', 'the connections to the servers are closed'));
    const connection = await this.#connection.catch(() => undefined);
    await connection?.close();
  }
}
