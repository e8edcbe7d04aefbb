import type { Dispatcher } from '../dispatcher.js';
import { replyEmpty, replyJson } from './responses.js';
import type { Incoming, ResponseWriter } from './writer.js';

/** Answers `GET /health`: 503 only when the backend is gone for good, since a restart passes by itself. */
export function replyHealth(
  dispatcher: Dispatcher,
  transport: string,
  request: Incoming,
  writer: ResponseWriter,
): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    replyEmpty(writer, 405, ['allow', 'GET']);
    return;
  }
  const refusal = dispatcher.refusal();
  const status = refusal === undefined ? 'healthy' : refusal.retryAfterMs === undefined ? 'unhealthy' : 'degraded';
  const body = {
    status,
    timestamp: new Date().toISOString(),
    transport,
    ...(refusal === undefined ? {} : { mcp: { available: false, error: refusal.message } }),
  };
  replyJson(writer, status === 'unhealthy' ? 503 : 200, Buffer.from(JSON.stringify(body)), [
    'cache-control',
    'no-store',
  ]);
}
