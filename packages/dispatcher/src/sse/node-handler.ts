import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from '../dispatcher.js';
import { SseEdge } from './edge.js';
import type { SseOptions } from './options.js';

/** A request listener of `node:http` that speaks the transport of 2024-11-05. */
export interface SseHandler {
  (request: IncomingMessage, response: ServerResponse): void;
  /** Ends the streams and closes the middlewares; the dispatcher is closed by its owner. */
  close(): Promise<void>;
}

/**
 * Serves a dispatcher to clients that know only the deprecated SSE transport: `GET /sse` opens a stream, whose first
 * event names where messages are sent. Each client has a session of its own, and answers reach nobody else. One that
 * loses its stream and comes back in time gets what it missed.
 *
 * @throws DispatcherError `ERR_DISPATCHER_ARGUMENT` for an option of the wrong kind
 * @see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports
 * @example http.createServer(createSseHandler(dispatcher)).listen(8080, '127.0.0.1')
 */
export function createSseHandler(dispatcher: Dispatcher, options: SseOptions = {}): SseHandler {
  const edge = new SseEdge(dispatcher, options);
  return Object.assign((request: IncomingMessage, response: ServerResponse): void => edge.handle(request, response), {
    close: () => edge.close(),
  });
}
