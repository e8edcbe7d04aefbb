import { randomUUID } from 'node:crypto';
import { systemClock } from '@thv/transport';
import type { Clock, Connection, Message, Principal } from '@thv/transport';
import { DispatcherError } from './errors.js';
import type { WaiterTimes } from './waiters.js';

/** What was not delivered, and why. */
export interface Drop {
  readonly reason:
    | 'unattributed-log'
    | 'unattributed-notification'
    | 'unknown-response'
    | 'late-response'
    | 'unknown-progress'
    | 'no-subscriber'
    | 'stream-full'
    | 'no-stream'
    | 'client-response';
  readonly message: Message;
  /** Drops that were not reported since the last report, because there were too many. */
  readonly suppressed: number;
}

/** What a new backend of `isolation: 'session'` or `'principal'` is for. */
export interface BackendRequest {
  readonly sessionId: string;
  readonly principal: Principal | undefined;
}

/** Settings of resumable streams. */
export interface ResumabilityOptions {
  /** Events kept for each stream. @defaultValue 256 */
  readonly maxEvents?: number;
  /** Bytes kept for each stream. @defaultValue 1048576 */
  readonly maxBytes?: number;
  /** How long a stream without a client is kept. @defaultValue 300000 */
  readonly ttlMs?: number;
  /** What the client is told to wait before it reconnects. @defaultValue 2000 */
  readonly retryMs?: number;
}

/** Options of {@link createDispatcher}. Times are milliseconds, sizes bytes. */
export interface DispatcherOptions {
  /** One backend for all clients, or one for each session or each caller. @defaultValue 'shared' */
  readonly isolation?: 'shared' | 'session' | 'principal';
  /** The backend of `isolation: 'shared'`; the dispatcher starts and closes it. */
  readonly connection?: Connection;
  /**
   * Makes the backend of a session or a caller. That of a session should not restart by itself; that of a caller may,
   * and has an empty `sessionId`.
   */
  readonly connect?: (request: BackendRequest) => Connection | Promise<Connection>;
  /** How the shared handshake names us. @defaultValue \{ name: 'thv', version: '0.0.0' \} */
  readonly clientInfo?: { readonly name: string; readonly version: string };
  /** Who makes the handshake with a shared backend: the proxy with no capabilities, or the first client with its own. @defaultValue 'proxy' */
  readonly handshake?: 'proxy' | 'first-client';
  /** @defaultValue 60000 */
  readonly requestTimeoutMs?: number;
  /** Timeouts of single methods, instead of `requestTimeoutMs`. */
  readonly methodTimeoutsMs?: Readonly<Record<string, number>>;
  /** Whether progress moves the deadline. @defaultValue true */
  readonly resetTimeoutOnProgress?: boolean;
  /** The longest a request may take whatever its progress. @defaultValue ten times the timeout */
  readonly maxTotalTimeoutMs?: number;
  /** @defaultValue 7200000 */
  readonly sessionTtlMs?: number;
  /** @defaultValue 10000 shared, 32 with a backend for each session */
  readonly maxSessions?: number;
  /** Sessions of one principal, with a backend for each session. @defaultValue `maxSessions` */
  readonly maxSessionsPerPrincipal?: number;
  /** Backends of `isolation: 'principal'`. @defaultValue 32 */
  readonly maxBackends?: number;
  /** Backends that start at the same time. @defaultValue 4 */
  readonly maxConcurrentStarts?: number;
  /** What a client is told to wait when there are too many sessions. @defaultValue 5000 */
  readonly sessionRetryAfterMs?: number;
  /** Comments on idle streams. @defaultValue 30000 */
  readonly keepAliveMs?: number;
  /** When a request without an answer opens its stream, so that the client sees headers. @defaultValue 1000 */
  readonly streamAfterMs?: number;
  /** Messages that wait for the pipe. @defaultValue 100 */
  readonly maxQueuedMessages?: number;
  /** @defaultValue 16777216 */
  readonly maxQueuedBytes?: number;
  /** @defaultValue 64 */
  readonly maxInFlightPerSession?: number;
  /** Messages that wait for a client that does not read its standalone stream. @defaultValue 100 */
  readonly streamQueueSize?: number;
  /** A receiver with more unread bytes is cut off before it gets another message. @defaultValue 8388608 */
  readonly maxSinkBytes?: number;
  /** A receiver that takes nothing for so long is cut off. @defaultValue 60000 */
  readonly sinkStallMs?: number;
  /** Above so many unread bytes of all receivers the backend is not read. @defaultValue 33554432 */
  readonly pauseAboveBytes?: number;
  /** Whether only the first subscriber of a resource reaches the backend. @defaultValue true */
  readonly dedupeSubscriptions?: boolean;
  /** How long a request of the server waits for its client. @defaultValue 600000 */
  readonly serverRequestTimeoutMs?: number;
  /** How long a message of the server waits for a stream. @defaultValue 10000 */
  readonly unreachableTimeoutMs?: number;
  /** Messages of the server that wait for a stream. @defaultValue 32 */
  readonly unreachableQueueSize?: number;
  /**
   * A key that every request to a shared backend gets in its `params._meta`, with a value of its own. What a backend
   * sends with the same key and value belongs to that request, log messages included.
   */
  readonly attributionKey?: string;
  /** Resumable streams for clients of 2025-11-25. @defaultValue false */
  readonly resumability?: boolean | ResumabilityOptions;
  /** @defaultValue the system's time */
  readonly clock?: Clock;
  /** Makes session and stream ids. @defaultValue crypto.randomUUID */
  readonly randomId?: () => string;
  /** Sees what was not delivered; log messages of a shared server among it. At most 100 calls a second. */
  readonly onDropped?: (drop: Drop) => void;
  /** Sees output of the backend that is no message, and other warnings. */
  readonly onWarning?: (text: string) => void;
}

type Defaulted =
  | 'isolation'
  | 'clientInfo'
  | 'handshake'
  | 'requestTimeoutMs'
  | 'resetTimeoutOnProgress'
  | 'sessionTtlMs'
  | 'maxSessions'
  | 'maxBackends'
  | 'maxConcurrentStarts'
  | 'sessionRetryAfterMs'
  | 'keepAliveMs'
  | 'streamAfterMs'
  | 'maxQueuedMessages'
  | 'maxQueuedBytes'
  | 'maxInFlightPerSession'
  | 'streamQueueSize'
  | 'maxSinkBytes'
  | 'sinkStallMs'
  | 'pauseAboveBytes'
  | 'dedupeSubscriptions'
  | 'serverRequestTimeoutMs'
  | 'unreachableTimeoutMs'
  | 'unreachableQueueSize'
  | 'clock'
  | 'randomId';

/** The options with every default filled in. */
export type DispatcherSettings = Required<Pick<DispatcherOptions, Defaulted>> &
  Pick<DispatcherOptions, 'attributionKey' | 'connection' | 'connect' | 'onWarning' | 'onDropped'> & {
    readonly maxSessionsPerPrincipal: number;
    readonly resumability: Required<ResumabilityOptions> | undefined;
    timesOf(method: string): WaiterTimes;
  };

const POSITIVE_INTEGERS = [
  'requestTimeoutMs',
  'maxTotalTimeoutMs',
  'sessionTtlMs',
  'maxSessions',
  'maxSessionsPerPrincipal',
  'maxBackends',
  'maxConcurrentStarts',
  'sessionRetryAfterMs',
  'keepAliveMs',
  'maxQueuedMessages',
  'maxQueuedBytes',
  'maxInFlightPerSession',
  'streamQueueSize',
  'maxSinkBytes',
  'sinkStallMs',
  'pauseAboveBytes',
  'serverRequestTimeoutMs',
  'unreachableTimeoutMs',
  'unreachableQueueSize',
] as const;

/** Refuses a value that is no positive integer, by name. */
export function assertPositiveInteger(name: string, value: unknown, minimum = 1): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= minimum)) return;
  throw new DispatcherError(
    'ERR_DISPATCHER_ARGUMENT',
    `Expected \`${name}\` to be ${minimum === 1 ? 'a positive' : 'a non-negative'} integer, got \`${String(value)}\` (${typeof value})`,
    { details: { option: name } },
  );
}

/** Checks the options and fills the defaults in. */
export function settingsFrom(options: DispatcherOptions): DispatcherSettings {
  for (const name of POSITIVE_INTEGERS) assertPositiveInteger(name, options[name]);
  assertPositiveInteger('streamAfterMs', options.streamAfterMs, 0);
  const { isolation = 'shared', requestTimeoutMs = 60_000 } = options;
  checkBackend(isolation, options);
  checkAttributionKey(options.attributionKey);
  const maxSessions = options.maxSessions ?? (isolation === 'session' ? 32 : 10_000);
  const settings = {
    isolation,
    requestTimeoutMs,
    clientInfo: { name: 'thv', version: '0.0.0' },
    handshake: 'proxy' as const,
    resetTimeoutOnProgress: true,
    sessionTtlMs: 7_200_000,
    maxBackends: 32,
    maxConcurrentStarts: 4,
    sessionRetryAfterMs: 5000,
    keepAliveMs: 30_000,
    streamAfterMs: 1000,
    maxQueuedMessages: 100,
    maxQueuedBytes: 16 * 1024 * 1024,
    maxInFlightPerSession: 64,
    streamQueueSize: 100,
    maxSinkBytes: 8 * 1024 * 1024,
    sinkStallMs: 60_000,
    pauseAboveBytes: 32 * 1024 * 1024,
    dedupeSubscriptions: true,
    serverRequestTimeoutMs: 600_000,
    unreachableTimeoutMs: 10_000,
    unreachableQueueSize: 32,
    clock: systemClock,
    randomId: randomUUID as () => string,
    ...definedOnly(options),
    maxSessions,
    maxSessionsPerPrincipal: options.maxSessionsPerPrincipal ?? maxSessions,
    resumability: resumabilityFrom(options.resumability),
  };
  return { ...settings, timesOf: timesTable(settings, options) };
}

function checkBackend(isolation: unknown, options: DispatcherOptions): void {
  if (isolation !== 'shared' && isolation !== 'session' && isolation !== 'principal') {
    throw new DispatcherError(
      'ERR_DISPATCHER_ARGUMENT',
      `Expected \`isolation\` to be "shared", "session" or "principal", got \`${String(isolation)}\` (${typeof isolation})`,
      { details: { option: 'isolation' } },
    );
  }
  const needed = isolation === 'shared' ? 'connection' : 'connect';
  if (options[needed] !== undefined) return;
  throw new DispatcherError(
    'ERR_DISPATCHER_ARGUMENT',
    `Expected \`${needed}\` to be given for isolation "${isolation}", got \`undefined\` (undefined)`,
    { details: { option: needed } },
  );
}

function checkAttributionKey(key: unknown): void {
  if (key === undefined || (typeof key === 'string' && key !== '' && key !== 'progressToken')) return;
  throw new DispatcherError(
    'ERR_DISPATCHER_ARGUMENT',
    `Expected \`attributionKey\` to be a key of \`_meta\` such as "example.com/request", got \`${String(key)}\` (${typeof key})`,
    { details: { option: 'attributionKey' } },
  );
}

function resumabilityFrom(given: boolean | ResumabilityOptions | undefined): Required<ResumabilityOptions> | undefined {
  if (given === undefined || given === false) return undefined;
  const options = given === true ? {} : given;
  for (const name of ['maxEvents', 'maxBytes', 'ttlMs', 'retryMs'] as const) {
    assertPositiveInteger(`resumability.${name}`, options[name]);
  }
  return { maxEvents: 256, maxBytes: 1024 * 1024, ttlMs: 300_000, retryMs: 2000, ...definedOnly(options) };
}

function definedOnly<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as Partial<T>;
}

function timesTable(
  settings: { readonly requestTimeoutMs: number; readonly streamAfterMs: number; readonly keepAliveMs: number },
  options: DispatcherOptions,
): (method: string) => WaiterTimes {
  const timesFor = (timeoutMs: number): WaiterTimes => ({
    timeoutMs,
    maxTotalMs: Math.max(timeoutMs, options.maxTotalTimeoutMs ?? 10 * timeoutMs),
    streamAfterMs: settings.streamAfterMs,
    keepAliveMs: settings.keepAliveMs,
  });
  const usual = timesFor(settings.requestTimeoutMs);
  const special = new Map<string, WaiterTimes>();
  for (const [method, timeoutMs] of Object.entries(options.methodTimeoutsMs ?? {})) {
    assertPositiveInteger(`methodTimeoutsMs["${method}"]`, timeoutMs);
    special.set(method, timesFor(timeoutMs));
  }
  return special.size === 0 ? () => usual : (method) => special.get(method) ?? usual;
}
