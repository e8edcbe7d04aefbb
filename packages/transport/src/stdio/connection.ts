import { requireInteger } from '../arguments.js';
import { systemClock } from '../clock.js';
import { TransportError } from '../errors.js';
import type { Message } from '../message.js';
import type { Clock, Connection, ConnectionDown, ConnectionHandlers, ConnectionState } from '../ports.js';
import { createBackoff } from './backoff.js';
import type { Backoff, RestartOptions } from './backoff.js';
import { Child } from './child.js';
import type { ChildCommand, ChildHandlers } from './child.js';

/** How {@link createStdioConnection} runs a server. */
export interface StdioConnectionOptions {
  readonly command: string;
  readonly args?: readonly string[];
  /** The whole environment of the server; nothing is inherited beside it, so pass `PATH` at least. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** A longer message is discarded. @defaultValue 67108864 */
  readonly maxLineBytes?: number;
  /** Time between the steps of a stop: input closed, SIGTERM, SIGKILL. @defaultValue 5000 */
  readonly stopGraceMs?: number;
  /** Unwritten bytes above which `send` answers `false`. @defaultValue 1048576 */
  readonly highWaterBytes?: number;
  /** Whether and how a server that ended by itself is started again. @defaultValue `{}`, the default delays */
  readonly restart?: RestartOptions | false;
  readonly clock?: Clock;
  /** Each line that the server writes to stderr. */
  readonly onStderr?: (line: string) => void;
}

/** A connection to a child process, with its process id. */
export interface StdioConnection extends Connection {
  /** Of the process that runs now. */
  readonly pid: number | undefined;
}

/**
 * A server as a child process: newline-delimited JSON-RPC on stdin and stdout, started without a shell in a process
 * group of its own, started again with growing delays when it ends by itself.
 *
 * @throws TransportError `ERR_TRANSPORT_ARGUMENT` for a wrong option; `start` rejects with `ERR_TRANSPORT_SPAWN`.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
 */
export function createStdioConnection(options: StdioConnectionOptions): StdioConnection {
  if (typeof options.command !== 'string' || options.command === '') {
    throw new TransportError(
      'ERR_TRANSPORT_ARGUMENT',
      `Expected \`command\` to be the name of a program, got \`${String(options.command)}\` (${typeof options.command})`,
    );
  }
  return new ChildConnection(options);
}

class ChildConnection implements StdioConnection {
  readonly #options: StdioConnectionOptions;
  readonly #clock: Clock;
  readonly #backoff: Backoff | undefined;
  readonly #limits: { readonly maxLineBytes: number; readonly stopGraceMs: number; readonly highWaterBytes: number };
  #handlers: ConnectionHandlers | undefined;
  #child: Child | undefined;
  #state: ConnectionState = 'idle';
  #upSince = 0;
  #wasUp = false;
  #paused = false;
  #cancelRestart: (() => void) | undefined;
  /** Answers `start`; gone once the first start succeeded or failed. */
  #settleStart: ((error?: TransportError) => void) | undefined;

  constructor(options: StdioConnectionOptions) {
    const { maxLineBytes = 64 * 1024 * 1024, stopGraceMs = 5_000, highWaterBytes = 1024 * 1024 } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#backoff = options.restart === false ? undefined : createBackoff(options.restart);
    this.#limits = {
      maxLineBytes: requireInteger('maxLineBytes', maxLineBytes, 1),
      stopGraceMs: requireInteger('stopGraceMs', stopGraceMs, 0),
      highWaterBytes: requireInteger('highWaterBytes', highWaterBytes, 1),
    };
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get pid(): number | undefined {
    return this.#state === 'up' ? this.#child?.pid : undefined;
  }

  start(handlers: ConnectionHandlers, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (this.#state !== 'idle') {
      return Promise.reject(
        new TransportError(
          'ERR_TRANSPORT_ARGUMENT',
          `Expected a connection that was never started, got one that is ${this.#state}`,
        ),
      );
    }
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    this.#handlers = handlers;
    this.#state = 'starting';
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        reject(signal?.reason as Error);
        void this.close();
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#settleStart = (error) => {
        this.#settleStart = undefined;
        signal?.removeEventListener('abort', onAbort);
        if (error) reject(error);
        else resolve();
      };
      this.#spawn();
    });
  }

  send(message: Message): boolean {
    return this.#state === 'up' && this.#child ? this.#child.write(message.bytes) : true;
  }

  drained(): Promise<void> {
    return this.#child?.drained() ?? Promise.resolve();
  }

  pause(): void {
    this.#paused = true;
    this.#child?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#child?.resume();
  }

  async close(): Promise<void> {
    const wasRestarting = this.#state === 'restarting';
    this.#state = 'closed';
    this.#cancelRestart?.();
    this.#cancelRestart = undefined;
    await this.#child?.close(wasRestarting ? 'exit' : 'closed');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #spawn(): void {
    const { command, args = [], env, cwd } = this.#options;
    this.#child = this.#create(
      { command, args, env, cwd, ...this.#limits },
      {
        onSpawn: () => {
          this.#upSince = this.#clock.now();
          if (this.#state === 'closed') return;
          this.#state = 'up';
          this.#wasUp = true;
          if (this.#paused) this.#child?.pause();
          this.#settleStart?.();
          this.#handlers?.onUp();
        },
        onMessage: (message) => this.#handlers?.onMessage(message),
        onNoise: (text) => this.#handlers?.onNoise?.(text),
        onOversize: (idText, bytes) => this.#handlers?.onOversize?.(idText, bytes),
        onStderr: (line) => this.#options.onStderr?.(line),
        onDown: (down) => this.#onDown(down),
      },
    );
  }

  /** A NUL character or an argument list that is too long throws at once instead of telling it later. */
  #create(command: ChildCommand, handlers: ChildHandlers): Child | undefined {
    try {
      return new Child(command, handlers);
    } catch (error) {
      const cause = error instanceof Error ? error : new Error(String(error));
      handlers.onDown({ reason: 'spawn-failed', exitCode: null, signal: null, stderrTail: [], cause });
      return undefined;
    }
  }

  #onDown({ cause, ...down }: Omit<ConnectionDown, 'retryAfterMs'> & { readonly cause?: Error }): void {
    if (this.#settleStart !== undefined) {
      const error = this.#state === 'closed' ? this.#closedError() : this.#spawnError(cause);
      this.#state = 'closed';
      this.#settleStart(error);
      return;
    }
    // Closed while it was started again: that it is down was told already.
    if (this.#state === 'closed' && !this.#wasUp) return;
    this.#wasUp = false;
    const livedMs = down.reason === 'spawn-failed' ? 0 : this.#clock.now() - this.#upSince;
    const retryAfterMs = this.#state === 'closed' ? undefined : this.#backoff?.next(livedMs);
    this.#state = retryAfterMs === undefined ? 'closed' : 'restarting';
    this.#handlers?.onDown(retryAfterMs === undefined ? down : { ...down, retryAfterMs });
    if (retryAfterMs === undefined || this.#state !== 'restarting') return;
    const last = this.#child;
    this.#cancelRestart = this.#clock.setTimer(retryAfterMs, () => {
      // Two lives of one server may fight over a port or a file: the old group goes first.
      void (last?.close(down.reason) ?? Promise.resolve()).then(() => {
        if (this.#state === 'restarting') this.#spawn();
      });
    });
  }

  #closedError(): TransportError {
    const { command } = this.#options;
    return new TransportError('ERR_TRANSPORT_SPAWN', `"${command}" was closed while it started`, {
      details: { command },
    });
  }

  #spawnError(cause: Error | undefined): TransportError {
    const { command, env, cwd } = this.#options;
    const code = cause && 'code' in cause ? String(cause.code) : '';
    const why =
      code === 'ENOENT'
        ? `"${command}" was not found${cwd === undefined ? '' : `, or the folder ${cwd} is missing`}. Install it, or correct PATH, which is ${JSON.stringify(env.PATH ?? '')}`
        : `"${command}" could not be started: ${cause?.message ?? 'it ended at once'}`;
    return new TransportError('ERR_TRANSPORT_SPAWN', why, { cause, details: { command, code } });
  }
}
