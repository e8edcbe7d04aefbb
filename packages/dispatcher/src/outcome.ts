import { buildError } from '@thv/transport';
import type { Message } from '@thv/transport';
import { INTERNAL_ERROR, INVALID_REQUEST, SESSION_NOT_FOUND, TIMEOUT } from './codes.js';
import type { ClientSession } from './sessions.js';

/** Why a request got no answer from the backend. */
export interface Failure {
  readonly reason:
    | 'timeout'
    | 'backend-exited'
    | 'unavailable'
    | 'busy'
    | 'duplicate-id'
    | 'too-many-sessions'
    | 'spawn-failed'
    | 'handshake'
    | 'shutdown'
    | 'session-required'
    | 'session-ended'
    /** Refused for what it is, before the server had it. */
    | 'refused';
  /** HTTP status where nothing was sent yet. */
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly retryAfterMs?: number;
}

/** How a request ended. */
export type Outcome =
  /** A response under the client's own id; `session` where `initialize` made one. */
  | { readonly kind: 'answer'; readonly message: Message; readonly session?: ClientSession }
  | { readonly kind: 'failure'; readonly failure: Failure }
  | { readonly kind: 'cancelled' };

/**
 * Where the answer to one request goes; the dispatcher owns it from the call on and settles it exactly once.
 */
export interface Reply {
  /** Whether messages may precede the answer. */
  readonly streams: boolean;
  /** False once the client is gone. */
  readonly open: boolean;
  /** Bytes taken and not yet handed to the client. */
  readonly bufferedBytes: number;
  /** Takes a message that precedes the answer; `false` above the high-water mark, then `onDrain` once. */
  send(message: Message, eventId?: string): boolean;
  onDrain?: (() => void) | undefined;
  /** The client is gone, before the answer. */
  onGone?: (() => void) | undefined;
  /** Lets the client see that its request is alive: headers at the first call, comments later. */
  keepAlive(): void;
  /** Opens the stream with an event that has an id and no data, so that the client can resume it. */
  prime?(eventId: string, retryMs: number): void;
  settle(outcome: Outcome, eventId?: string): void;
}

/** The error that a client sees for a failure, under its own id. */
export const failureMessage = (failure: Failure, idText: string): Message => buildError(idText, failureError(failure));

/** The JSON-RPC error object of a failure. */
export function failureError(failure: Failure): { code: number; message: string; data?: unknown } {
  const { code, message, data } = failure;
  return data === undefined ? { code, message } : { code, message, data };
}

export const TIMED_OUT: Failure = { reason: 'timeout', status: 504, code: TIMEOUT, message: 'Timeout' };

export const BUSY: Failure = {
  reason: 'busy',
  status: 503,
  code: INTERNAL_ERROR,
  message: 'The queue to the MCP server is full',
  data: { reason: 'queue-full' },
  retryAfterMs: 1000,
};

export const DUPLICATE_ID: Failure = {
  reason: 'duplicate-id',
  status: 400,
  code: INVALID_REQUEST,
  message: 'Request id already in flight',
};

export const SHUTDOWN: Failure = {
  reason: 'shutdown',
  status: 503,
  code: INTERNAL_ERROR,
  message: 'The server is shutting down',
  data: { reason: 'shutdown' },
};

export const SESSION_REQUIRED: Failure = {
  reason: 'session-required',
  status: 400,
  code: INVALID_REQUEST,
  message: 'This server keeps one process per session: send initialize first, then the Mcp-Session-Id header',
};

export const SESSION_ENDED: Failure = {
  reason: 'session-ended',
  status: 404,
  code: SESSION_NOT_FOUND,
  message: 'Session ended',
};

/** The process behind the connection ended while requests were on their way. */
export function backendExited(down: {
  readonly exitCode?: number | null | undefined;
  readonly signal?: string | null | undefined;
  readonly reason?: string;
  readonly retryAfterMs?: number | undefined;
}): Failure {
  return {
    reason: 'backend-exited',
    status: 502,
    code: INTERNAL_ERROR,
    message: 'MCP server process exited',
    data: {
      exitCode: down.exitCode ?? null,
      signal: down.signal ?? null,
      restarting: down.retryAfterMs !== undefined,
    },
  };
}

/** The backend is down and comes back. */
export const unavailable = (retryAfterMs: number): Failure => ({
  reason: 'unavailable',
  status: 503,
  code: INTERNAL_ERROR,
  message: 'The MCP server is restarting',
  data: { reason: 'restarting', retryAfterMs },
  retryAfterMs,
});

/** Too many sessions; some end with time. */
export const tooManySessions = (retryAfterMs: number): Failure => ({
  reason: 'too-many-sessions',
  status: 503,
  code: INTERNAL_ERROR,
  message: 'Too many sessions',
  data: { reason: 'too-many-sessions' },
  retryAfterMs,
});

/** The backend could not be started at all. */
export function startFailure(error: unknown): Failure {
  return {
    reason: 'spawn-failed',
    status: 503,
    code: INTERNAL_ERROR,
    message: `The MCP server could not be started: ${error instanceof Error ? error.message : String(error)}`.trim(),
    data: { reason: 'start-failed' },
  };
}
