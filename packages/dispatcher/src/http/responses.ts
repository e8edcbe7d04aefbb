import { errorBytes } from '@thv/transport';
import { INTERNAL_ERROR, SESSION_NOT_FOUND } from '../codes.js';
import type { Failure } from '../outcome.js';
import { failureError } from '../outcome.js';
import type { HeaderList, ResponseWriter } from './writer.js';

/** A whole JSON response. */
export function replyJson(writer: ResponseWriter, status: number, body: Buffer, headers: HeaderList = []): void {
  const own = ['content-type', 'application/json', 'content-length', String(body.length)];
  writer.reply(status, headers.length === 0 ? own : [...own, ...headers], body);
}

/** A JSON-RPC error as the body; the id is left out where the request had none. */
export function replyError(
  writer: ResponseWriter,
  status: number,
  error: { readonly code: number; readonly message: string; readonly data?: unknown },
  options: { readonly idText?: string | undefined; readonly headers?: HeaderList } = {},
): void {
  replyJson(writer, status, errorBytes(error, options.idText), options.headers);
}

/** A response without a body. */
export function replyEmpty(writer: ResponseWriter, status: number, headers: HeaderList = []): void {
  writer.reply(status, status === 204 ? headers : ['content-length', '0', ...headers]);
}

/** A failure of the dispatcher as an HTTP response. */
export function replyFailure(
  writer: ResponseWriter,
  failure: Failure,
  idText: string | undefined,
  headers: HeaderList = [],
): void {
  const retry = failure.retryAfterMs === undefined ? [] : ['retry-after', retryAfterSeconds(failure.retryAfterMs)];
  replyError(writer, failure.status, failureError(failure), { idText, headers: [...retry, ...headers] });
}

/** What is answered to a fault of our own or of a plug-in, where nothing was sent yet. */
export function replyFault(writer: ResponseWriter): void {
  if (writer.open) replyError(writer, 500, { code: INTERNAL_ERROR, message: 'Internal error' });
}

/** Whole seconds, never 0: a client must not spin. */
export const retryAfterSeconds = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1000)));

/** The answer to a session id that is unknown, over, or another principal's. */
export function replySessionNotFound(writer: ResponseWriter, idText?: string, headers: HeaderList = []): void {
  replyError(writer, 404, { code: SESSION_NOT_FOUND, message: 'Session not found' }, { idText, headers });
}
