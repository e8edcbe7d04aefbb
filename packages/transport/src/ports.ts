import type { Message } from './message.js';

/** Who is behind a request, as authentication established it; absent where nothing authenticates. */
export interface Principal {
  /** Stable and unique within the issuer. */
  readonly subject: string;
  readonly issuer?: string;
  readonly claims?: Readonly<Record<string, unknown>>;
}

/** A receiver of messages: a response stream, a standalone stream, a test double. */
export interface Sink {
  /**
   * Takes one message, always. Answers `false` when the receiver's buffer is above its high-water mark;
   * `onDrain` is then called once when it is below again.
   */
  send(message: Message): boolean;
  /** Bytes taken and not yet handed to the receiver. */
  readonly bufferedBytes: number;
  onDrain?: (() => void) | undefined;
  /** No message follows. Idempotent. */
  end(): void;
}

/** Why a backend went away, and whether it comes back. */
export interface ConnectionDown {
  readonly reason: 'exit' | 'spawn-failed' | 'stdout-closed' | 'write-failed' | 'closed';
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  /** The last lines that the process wrote to stderr. */
  readonly stderrTail: readonly string[];
  /** Milliseconds until the next start; `undefined` when none follows. */
  readonly retryAfterMs?: number;
}

/** What a connection tells its owner. No handler may throw. */
export interface ConnectionHandlers {
  /**
   * A message from the backend. `origin` is the wire id (JSON text) of the in-flight request it belongs to,
   * where the backend knows it (one in the same process does; a pipe does not).
   */
  onMessage(message: Message, origin?: string): void;
  /** The backend is there, for the first time or again; nothing of an earlier life is known to it. */
  onUp(): void;
  /** The backend is gone: everything in flight is lost. Called once for each `onUp` or failed start. */
  onDown(down: ConnectionDown): void;
  /** Output that is no message, cut to 512 characters. */
  onNoise?(text: string): void;
  /** A message above the line limit was discarded; `idText` is its id where the first bytes showed one. */
  onOversize?(idText: string | undefined, bytes: number): void;
}

/** State of a {@link Connection}. */
export type ConnectionState = 'idle' | 'starting' | 'up' | 'restarting' | 'closed';

/** One backend: a child process, a container, a remote endpoint, or an object in this process. */
export interface Connection {
  readonly state: ConnectionState;
  /** Starts the backend; resolves when it can take messages, rejects when the first start fails. */
  start(handlers: ConnectionHandlers, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Hands a message over, in order. Answers `false` when the pipe is full: the message is taken, and
   * `drained()` says when to go on. `origin` is the in-flight request (wire id, JSON text) on whose behalf
   * it is sent. Messages sent while the backend is down are dropped; `onDown` has told so.
   */
  send(message: Message, origin?: string): boolean;
  /** Resolves when the pipe has room again, or the backend is down. */
  drained(): Promise<void>;
  /** Stops and resumes reading from the backend, so that back-pressure reaches it. */
  pause(): void;
  resume(): void;
  /** Ends the backend in the order of the MCP lifecycle (close input, SIGTERM, SIGKILL). Idempotent. */
  close(): Promise<void>;
}

/** What is known of a request while it travels through the chain. */
export interface RequestContext {
  /** Identity; an authentication middleware sets it. */
  principal: Principal | undefined;
  /** Registered session id, where the request named one. */
  readonly sessionId: string | undefined;
  /** Lower-case header names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly httpMethod: string;
  readonly path: string;
  readonly remoteAddress: string | undefined;
  /** The message of a POST; `undefined` for GET and DELETE. */
  readonly message: Message | undefined;
  /** Aborted when the client is gone or the server shuts down. */
  readonly signal: AbortSignal;
  /** For middlewares that hand something to one another; keys are their own symbols. */
  readonly values: Map<symbol, unknown>;
}

/** A refusal by a middleware: an HTTP status with a JSON-RPC error body or plain headers. */
export interface Refusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** What the chain decides: go on with a message (perhaps another one than came in), or refuse. */
export type Verdict = { readonly kind: 'pass'; readonly message?: Message } | ({ readonly kind: 'refuse' } & Refusal);

/**
 * Wraps every request and every frame that leaves. The first registered is outermost.
 * A middleware that reads no body keeps the data path free of parsing.
 */
export interface Middleware {
  /** For logs. */
  readonly name: string;
  /**
   * `false` promises that `handle` never looks at the message of a request: a proxy in front of a server that speaks
   * HTTP then streams bodies instead of reading them. @defaultValue true
   */
  readonly readsBody?: boolean;
  /** Decides about a request; calls `next` to ask the inner ones. */
  handle?(context: RequestContext, next: () => Promise<Verdict>): Promise<Verdict>;
  /**
   * Sees each message that leaves towards the client, on response and standalone streams alike, innermost
   * first; answers the message to send, or `undefined` to drop it. It must not throw.
   */
  onFrame?(message: Message, context: RequestContext): Message | undefined;
  /** Sees each answer of a client to a request of the server. */
  onClientResponse?(message: Message, context: RequestContext): void;
  close?(): Promise<void>;
}

/** Time, so that a test needs no sleep. Milliseconds. */
export interface Clock {
  now(): number;
  /** Calls back once after `delayMs`; the answer cancels. */
  setTimer(delayMs: number, callback: () => void): () => void;
}
