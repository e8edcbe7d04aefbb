import type { Middleware } from '@thv/transport';
import type { GuardOptions } from '../http/guard.js';
import { assertPositiveInteger } from '../options.js';

/** Options of the SSE edge. Times are milliseconds, sizes bytes. */
export interface SseOptions extends GuardOptions {
  /** Where streams are opened. @defaultValue '/sse' */
  readonly path?: string;
  /** Where messages are sent. @defaultValue '/messages' */
  readonly messagesPath?: string;
  /** What stands in front of the path where clients reach the edge. @defaultValue none */
  readonly endpointPrefix?: string;
  /** `X-Forwarded-*` is believed, and the address of messages is absolute. @defaultValue false */
  readonly trustProxyHeaders?: boolean;
  /** @defaultValue 8388608 */
  readonly maxBodyBytes?: number;
  /** How long a client may be away. @defaultValue 60000 */
  readonly reconnectMs?: number;
  /** Messages that are kept for a client that comes back. @defaultValue 100 */
  readonly maxPendingMessages?: number;
  /** @defaultValue 1048576 */
  readonly maxPendingBytes?: number;
  /** Clients at one time; 503 above. @defaultValue 10000 */
  readonly maxClients?: number;
  /** First registered is outermost. @defaultValue none */
  readonly middlewares?: readonly Middleware[];
  readonly onWarning?: (text: string) => void;
}

/** The options with the defaults filled in. */
export type SseSettings = Required<
  Pick<
    SseOptions,
    | 'path'
    | 'messagesPath'
    | 'endpointPrefix'
    | 'trustProxyHeaders'
    | 'maxBodyBytes'
    | 'reconnectMs'
    | 'maxPendingMessages'
    | 'maxPendingBytes'
    | 'maxClients'
    | 'middlewares'
  >
> &
  Pick<SseOptions, 'onWarning'>;

/** Checks the options and fills the defaults in. */
export function sseSettingsFrom(options: SseOptions): SseSettings {
  for (const name of ['maxBodyBytes', 'reconnectMs', 'maxPendingMessages', 'maxPendingBytes', 'maxClients'] as const) {
    assertPositiveInteger(name, options[name]);
  }
  const prefix = (options.endpointPrefix ?? '').replaceAll(/^\/+|\/+$/g, '');
  return {
    path: options.path ?? '/sse',
    messagesPath: options.messagesPath ?? '/messages',
    endpointPrefix: prefix === '' ? '' : `/${prefix}`,
    trustProxyHeaders: options.trustProxyHeaders ?? false,
    maxBodyBytes: options.maxBodyBytes ?? 8 * 1024 * 1024,
    reconnectMs: options.reconnectMs ?? 60_000,
    maxPendingMessages: options.maxPendingMessages ?? 100,
    maxPendingBytes: options.maxPendingBytes ?? 1024 * 1024,
    maxClients: options.maxClients ?? 10_000,
    middlewares: options.middlewares ?? [],
    ...(options.onWarning === undefined ? {} : { onWarning: options.onWarning }),
  };
}
