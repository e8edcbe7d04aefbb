import { setTimeout as sleep } from 'node:timers/promises';
import type { Drop } from '@thv/dispatcher';
import { createGatewayHandler } from '@thv/gateway';
import type { ConnectRequest, GatewayHandler, GatewayOptions } from '@thv/gateway';
import { openListener, parseDuration } from '@thv/transport';
import type { Connection, ConnectionDown, Listener, StdioConnectionOptions } from '@thv/transport';
import { createChildProcesses } from './child-processes.js';
import type { ChildProcesses, ChildWatch } from './child-processes.js';
import { childEnvironment } from './environment.js';
import type { Environment } from './environment.js';
import { describeDown, startError } from './host-start.js';
import { portError } from './ports.js';
import type { RunConfig } from './run-config.js';
import { readStateKeys } from './state-keys.js';
import { openWatchdog } from './watchdog.js';
import type { Watchdog } from './watchdog.js';

/** How the server behind a listener is. */
export type HostState =
  | { readonly kind: 'up'; readonly restarts: number }
  /** The server is gone; it is started again after `retryAfterMs`. */
  | { readonly kind: 'down'; readonly reason: string; readonly retryAfterMs?: number }
  /** The server is gone and is not started again. */
  | {
      readonly kind: 'given-up';
      readonly reason: string;
      readonly restarts: number;
      readonly stderrTail: readonly string[];
    };

/** What {@link OpenHost} takes besides the configuration. */
export interface HostOptions {
  readonly env: Environment;
  /** Aborted to give up a start. */
  readonly signal: AbortSignal;
  /** @defaultValue `300000`, since a package may have to be fetched first */
  readonly startTimeoutMs?: number;
  /** What the server writes to stderr. */
  readonly onServerOutput?: (text: string) => void;
  /** The server processes that live now, each the leader of its group. */
  readonly onChildren?: (pids: readonly number[]) => void;
  readonly onState?: (state: HostState) => void;
  readonly onEvent?: (event: string, fields: Readonly<Record<string, unknown>>) => void;
}

/** A server that answers behind a listener. */
export interface WorkloadHost {
  readonly port: number;
  /** Ends listener, clients and server, in this order. Idempotent. */
  close(): Promise<void>;
}

/** Opens a listener with a server behind it; resolves when the server answered its handshake. */
export type OpenHost = (config: RunConfig, options: HostOptions) => Promise<WorkloadHost>;

const maxTailLines = 50;
const listenerGraceMs = 2000;
/** A server that is still being fetched says nothing for a while. */
const probeTimeoutMs = 30_000;

export const openHost: OpenHost = async (config, options) => {
  const host = new Host(config, options);
  try {
    await host.open();
    return host;
  } catch (error) {
    await host.close();
    throw error;
  }
};

class Host implements WorkloadHost {
  readonly #config: RunConfig;
  readonly #options: HostOptions;
  readonly #watchdog: Watchdog;
  readonly #children: ChildProcesses;
  readonly #tail: string[] = [];
  #handler: GatewayHandler | undefined;
  #listener: Listener | undefined;
  #isReady = false;
  #restarts = -1;
  /** Set when a server ended before it answered for the first time. */
  #early: ConnectionDown | undefined;
  #spawnError: unknown;
  #closing: Promise<void> | undefined;

  constructor(config: RunConfig, options: HostOptions) {
    this.#config = config;
    this.#options = options;
    this.#watchdog = openWatchdog({ onTrouble: (message) => options.onEvent?.('watchdog', { message }) });
    this.#children = createChildProcesses({
      watchdog: this.#watchdog,
      ...(options.onChildren === undefined ? {} : { onChange: options.onChildren }),
    });
  }

  get port(): number {
    return this.#listener?.port ?? this.#config.port;
  }

  async open(): Promise<void> {
    const { signal, startTimeoutMs = 300_000 } = this.#options;
    signal.throwIfAborted();
    const handler = await this.#createHandler(startTimeoutMs);
    this.#handler = handler;
    await this.#listen(handler);
    const attempt = new AbortController();
    const limited = AbortSignal.any([signal, attempt.signal, AbortSignal.timeout(startTimeoutMs)]);
    try {
      await Promise.race([this.#firstAnswer(handler), rejectOn(limited, startTimeoutMs)]);
      this.#isReady = true;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = { error: this.#spawnError ?? error, down: this.#early, stderrTail: [...this.#tail] };
      throw await startError(this.#config, failure);
    } finally {
      attempt.abort();
    }
  }

  async #firstAnswer(handler: GatewayHandler): Promise<void> {
    await handler.start({ signal: this.#options.signal });
    await handler.ready();
  }

  async #createHandler(startTimeoutMs: number): Promise<GatewayHandler> {
    const { session_ttl: ttl, isolation, backend_era: backendEra, name, state_key_file: keyFile } = this.#config;
    const { onEvent } = this.#options;
    return createGatewayHandler({
      connect: (request) => this.#connect(request),
      isolation,
      backendEra,
      name,
      // Who brings keys wants the states of the server sealed too, each for its caller.
      ...(keyFile === undefined ? {} : { stateKeys: await readStateKeys(keyFile), stateMode: 'sealed' as const }),
      probe: { timeoutMs: Math.min(probeTimeoutMs, startTimeoutMs) },
      dispatcher: {
        requestTimeoutMs: this.#requestTimeout(),
        // A first start may fetch a package.
        methodTimeoutsMs: { initialize: startTimeoutMs },
        ...(ttl === undefined ? {} : { sessionTtlMs: Math.max(1, Math.round(parseDuration(ttl))) }),
        onDropped: (drop) => this.#dropped(drop),
        onWarning: (text) => onEvent?.('warning', { text }),
      },
      http: this.#httpOptions(),
    });
  }

  #connect({ purpose }: ConnectRequest): Connection {
    const server = this.#serverOptions();
    const watch = this.#isShared ? this.#sharedWatch() : this.#sessionWatch();
    const lives = purpose === 'shared' && (this.#isShared || this.#config.isolation === 'principal');
    return this.#children.connect(lives ? server : { ...server, restart: false }, watch);
  }

  get #isShared(): boolean {
    return this.#config.isolation === 'shared';
  }

  /** What a shared server logs belongs to nobody in particular, but to its own log file it does. */
  #dropped({ reason, message, suppressed }: Drop): void {
    if (reason !== 'unattributed-log') {
      this.#options.onEvent?.('dropped', { reason, method: message.method, suppressed });
      return;
    }
    const { params } = message.json();
    const { level, logger, data } = (params ?? {}) as Readonly<Record<string, unknown>>;
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    const from = typeof logger === 'string' ? ` ${logger}:` : '';
    this.#options.onServerOutput?.(`[${String(level)}]${from} ${text.replaceAll(/[\r\n]+/g, ' ')}\n`);
  }

  #serverOptions(): StdioConnectionOptions {
    const { command, cmd_args: args, working_dir: cwd, env_vars: user, transport } = this.#config;
    const { env, onServerOutput } = this.#options;
    return {
      command,
      args,
      env: childEnvironment({ env, user, transport }),
      ...(cwd === undefined ? {} : { cwd }),
      onStderr: (line) => {
        this.#tail.push(line);
        if (this.#tail.length > maxTailLines) this.#tail.shift();
        onServerOutput?.(`${line}\n`);
      },
    };
  }

  #sessionWatch(): ChildWatch {
    return {
      onStartError: (error) => {
        this.#spawnError = error;
      },
      onDown: (down) => this.#down(down),
    };
  }

  #sharedWatch(): ChildWatch {
    return {
      onUp: () => {
        this.#restarts += 1;
        if (this.#isReady) this.#options.onState?.({ kind: 'up', restarts: this.#restarts });
      },
      onDown: (down) => this.#down(down),
    };
  }

  #down(down: ConnectionDown): void {
    if (this.#closing !== undefined || down.reason === 'closed') return;
    if (!this.#isReady) {
      this.#early = down;
      return;
    }
    const { onState } = this.#options;
    const reason = describeDown(down);
    if (!this.#isShared) {
      // Each session has a process of its own; the end of one is told to its client and is no state of the whole.
      this.#options.onEvent?.('session-ended', { reason, stderrTail: down.stderrTail.slice(-5) });
    } else if (down.retryAfterMs === undefined) {
      onState?.({ kind: 'given-up', reason, restarts: this.#restarts, stderrTail: down.stderrTail });
    } else {
      onState?.({ kind: 'down', reason, retryAfterMs: down.retryAfterMs });
    }
  }

  #httpOptions(): NonNullable<GatewayOptions['http']> {
    const { strict_protocol_validation: strict, stateless, allowed_origins: origins } = this.#config;
    const { onEvent } = this.#options;
    return {
      strictProtocolValidation: strict,
      stateless,
      ...(origins.length === 0 ? {} : { allowedOrigins: origins, cors: true }),
      onWarning: (text) => onEvent?.('warning', { text }),
    };
  }

  /** Tells about a value that it cannot use, and goes on with the default. */
  #requestTimeout(): number {
    const text = this.#options.env['TOOLHIVE_PROXY_REQUEST_TIMEOUT'];
    const fallback = 60_000;
    if (text === undefined || text === '') return fallback;
    try {
      const milliseconds = Math.round(parseDuration(text));
      if (milliseconds > 0) return milliseconds;
    } catch {
      // Told below, as a value that is not above zero is.
    }
    const note = `TOOLHIVE_PROXY_REQUEST_TIMEOUT is no positive duration ("${text}"); the default of 60s is used`;
    this.#options.onEvent?.('warning', { text: note });
    return fallback;
  }

  async #listen(handler: GatewayHandler): Promise<void> {
    const { host, port } = this.#config;
    try {
      this.#listener = await openListener({ handler, host, port });
    } catch (error) {
      throw portError(host, port, error);
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const listening = this.#listener?.close({ graceMs: listenerGraceMs });
    await this.#handler?.close();
    await listening;
    await this.#groupsGone();
    this.#watchdog.close();
  }

  /** The watchdog goes last: until then it is the one who ends what does not end by itself. */
  async #groupsGone(): Promise<void> {
    for (let turn = 0; turn < 50 && this.#children.pids.length > 0; turn += 1) {
      await sleep(100);
    }
  }
}

async function rejectOn(signal: AbortSignal, timeoutMs: number): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => {
      const reason: unknown = signal.reason;
      const isTimeout = reason instanceof Error && reason.name === 'TimeoutError';
      reject(isTimeout ? new Error(`it did not answer within ${timeoutMs / 1000} s`) : (reason as Error));
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
