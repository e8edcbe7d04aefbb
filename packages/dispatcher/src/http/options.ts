import type { Message, Middleware } from '@thv/transport';
import { assertPositiveInteger } from '../options.js';
import type { Reply } from '../outcome.js';
import type { GuardOptions } from './guard.js';
import type { RequestContext } from '@thv/transport';

/**
 * Serves requests of 2026-07-28. Without one the edge answers them with -32022 and the versions that it does serve.
 */
export interface ModernEdge {
  /** The versions that `server/discover` lists. */
  readonly supportedVersions: readonly string[];
  /** Takes a request whose headers and metadata are checked; the reply is settled exactly once. */
  request(message: Message, reply: Reply, context: RequestContext): void;
}

/** Options of the HTTP edge. Times are milliseconds, sizes bytes. */
export interface HttpOptions extends GuardOptions {
  /** @defaultValue '/mcp' */
  readonly path?: string;
  /** `undefined` keeps the default, `false` serves no health. @defaultValue '/health' */
  readonly healthPath?: string | false;
  /** What health names as the transport. @defaultValue 'stdio' */
  readonly transport?: string;
  /** The largest body of a request. @defaultValue 8388608 */
  readonly maxBodyBytes?: number;
  /** Messages in one array of 2025-03-26. @defaultValue 100 */
  readonly maxBatch?: number;
  /** Refuses versions of the protocol that are unknown. @defaultValue false */
  readonly strictProtocolValidation?: boolean;
  /** Whether clients may open a standalone stream. @defaultValue true */
  readonly standaloneStream?: boolean;
  /** No session ids, no standalone streams. @defaultValue false */
  readonly stateless?: boolean;
  /** First registered is outermost. @defaultValue none */
  readonly middlewares?: readonly Middleware[];
  /** Serves the era without sessions. @defaultValue none */
  readonly modern?: ModernEdge;
  /** Sees what a middleware threw, and other warnings. */
  readonly onWarning?: (text: string) => void;
}

/** The options with the defaults filled in. */
export interface HttpSettings {
  readonly path: string;
  readonly healthPath: string | undefined;
  readonly transport: string;
  readonly maxBodyBytes: number;
  readonly maxBatch: number;
  readonly strict: boolean;
  readonly standaloneStream: boolean;
  readonly stateless: boolean;
  readonly middlewares: readonly Middleware[];
  readonly modern: ModernEdge | undefined;
  readonly onWarning: ((text: string) => void) | undefined;
}

/** Checks the options and fills the defaults in. */
export function httpSettingsFrom(options: HttpOptions): HttpSettings {
  assertPositiveInteger('maxBodyBytes', options.maxBodyBytes);
  assertPositiveInteger('maxBatch', options.maxBatch);
  const { healthPath = '/health' } = options;
  return {
    path: options.path ?? '/mcp',
    healthPath: healthPath === false ? undefined : healthPath,
    transport: options.transport ?? 'stdio',
    maxBodyBytes: options.maxBodyBytes ?? 8 * 1024 * 1024,
    maxBatch: options.maxBatch ?? 100,
    strict: options.strictProtocolValidation ?? false,
    standaloneStream: options.standaloneStream ?? true,
    stateless: options.stateless ?? false,
    middlewares: options.middlewares ?? [],
    modern: options.modern,
    onWarning: options.onWarning,
  };
}
