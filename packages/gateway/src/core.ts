import { randomBytes, randomUUID } from 'node:crypto';
import { createDispatcher } from '@thv/dispatcher';
import type { Dispatcher, DispatcherOptions, Failure } from '@thv/dispatcher';
import { createStateCodec } from '@thv/mrtr';
import type { StateCodec } from '@thv/mrtr';
import { LEGACY_VERSIONS } from '@thv/transport';
import type { Connection } from '@thv/transport';
import { GatewayError } from './errors.js';
import { createLegacyFacade } from './legacy/facade.js';
import type { LeasedServer } from './lease/server.js';
import { createLeasedServer } from './lease/server.js';
import { createSharedLegacyServer } from './modern/shared-legacy.js';
import type { GatewayOptions } from './options.js';
import { probeEra, untilAborted } from './probe/probe.js';
import type { Era, Verdict } from './probe/probe.js';
import { createRelay } from './relay/relay.js';
import type { Relay } from './relay/relay.js';
import { StateWrap } from './relay/state-wrap.js';
import { isFailure } from './server.js';
import type { ModernServer } from './server.js';

/** What serves both eras, put together for one server. */
export interface Core {
  readonly era: Era;
  /** Serves clients of the older era. */
  readonly dispatcher: Dispatcher;
  /** Serves clients of 2026-07-28. */
  readonly server: ModernServer;
  readonly leases?: LeasedServer;
  readonly relay?: Relay;
  /** Resolves once the server answers. */
  ready(): Promise<void>;
  /** Ends what nobody has taken over. */
  end?(): Promise<void>;
}

const CLIENT = { name: 'thv', version: '0.0.0' };
/** Sessions of virtual servers cost no process. */
const VIRTUAL_SESSIONS = 10_000;

/** Finds out what the server speaks and puts the parts together. */
export async function openCore(options: GatewayOptions, signal: AbortSignal): Promise<Core> {
  if (options.server !== undefined) return inProcess(options, options.server);
  const connect = options.connect ?? noConnect;
  const first = await connected(Promise.resolve(connect({ purpose: 'shared' })), signal);
  try {
    return await openFirst(options, first, signal);
  } catch (error) {
    await first.close();
    throw error;
  }
}

/** A connection that comes after nobody wants it any more is closed. */
async function connected(making: Promise<Connection>, signal: AbortSignal): Promise<Connection> {
  return untilAborted(making, signal).catch((error: unknown) => {
    void making.then((late) => late.close()).catch(() => undefined);
    throw error;
  });
}

async function openFirst(options: GatewayOptions, first: Connection, signal: AbortSignal): Promise<Core> {
  const { backendEra = 'auto' } = options;
  if (backendEra === 'legacy') return legacyCore(options, first);
  const { clientInfo = CLIENT, clock } = options.dispatcher ?? {};
  const { verdict, connection } = await probeEra(first, {
    clientInfo,
    ...options.probe,
    ...(clock === undefined ? {} : { clock }),
    signal,
  });
  if (verdict.era === 'modern') return modernCore(options, connection, verdict);
  if (backendEra === 'modern') {
    throw new GatewayError(
      'ERR_GATEWAY_NOT_READY',
      'The MCP server does not speak 2026-07-28; set `backendEra` to auto',
      {
        details: 'died' in verdict ? { stderrTail: verdict.died.stderrTail } : {},
      },
    );
  }
  if (!('died' in verdict)) return legacyCore(options, connection);
  // Some older servers do not survive a request before the handshake: another one, and nothing is asked.
  await first.close();
  return legacyCore(options, await (options.connect ?? noConnect)({ purpose: 'shared' }));
}

function legacyCore(options: GatewayOptions, connection: Connection): Core {
  const { isolation = 'shared', middlewares = [] } = options;
  if (isolation === 'shared') {
    const dispatcher = createDispatcher({ ...dispatcherOptions(options), isolation, connection });
    const cacheScope = middlewares.length === 0 ? 'public' : 'private';
    const server = createSharedLegacyServer(dispatcher, { cacheScope });
    return { era: 'legacy', dispatcher, server, ready: () => startedAndReady(dispatcher) };
  }
  return isolation === 'principal' ? personalCore(options, connection) : isolatedCore(options, connection);
}

/** A process for each caller; the one that was probed is the first caller's. */
function personalCore(options: GatewayOptions, first: Connection): Core {
  const connect = options.connect ?? noConnect;
  let probed: Connection | undefined = first;
  const dispatcher = createDispatcher({
    ...dispatcherOptions(options),
    isolation: 'principal',
    connect: ({ principal }) => {
      const connection = probed;
      probed = undefined;
      return connection ?? connect({ purpose: 'shared', principal });
    },
  });
  const server = createSharedLegacyServer(dispatcher, { cacheScope: 'private' });
  const ready = async (): Promise<void> => {
    // Where callers are known, nobody is anonymous, and no process may be started for nobody.
    if ((options.middlewares ?? []).length > 0) return;
    const agreement = await dispatcher.agreement();
    if (isFailure(agreement)) throw notReady(agreement);
  };
  return { era: 'legacy', dispatcher, server, ready, end: async () => probed?.close() };
}

/** A process for each session and for each request chain; the one that was probed only says what it is. */
function isolatedCore(options: GatewayOptions, first: Connection): Core {
  const connect = options.connect ?? noConnect;
  let probed: Connection | undefined = first;
  const leases = createLeasedServer({
    connect: (purpose) => {
      if (purpose === 'watch') return connect({ purpose });
      const connection = probed;
      probed = undefined;
      return connection ?? connect({ purpose });
    },
    codec: codecFor(options),
    instance: randomUUID(),
    audience: `lease:${options.name ?? 'thv'}`,
    clientInfo: options.dispatcher?.clientInfo ?? CLIENT,
    channel: channelOptions(options),
    ...(options.lease === undefined ? {} : { limits: options.lease }),
    randomId: options.dispatcher?.randomId ?? randomUUID,
    ...(options.dispatcher?.onWarning === undefined ? {} : { onWarning: options.dispatcher.onWarning }),
  });
  const dispatcher = createDispatcher({
    ...dispatcherOptions(options),
    isolation: 'session',
    connect: ({ sessionId, principal }) => connect({ purpose: 'session', sessionId, principal }),
  });
  const ready = async (): Promise<void> => {
    const description = await leases.discover();
    if (isFailure(description)) throw notReady(description);
  };
  return { era: 'legacy', dispatcher, server: leases, leases, ready, end: async () => probed?.close() };
}

async function modernCore(
  options: GatewayOptions,
  connection: Connection,
  verdict: Extract<Verdict, { era: 'modern' }>,
): Promise<Core> {
  const { isolation = 'shared', stateMode, name = 'thv' } = options;
  const wrap = stateMode === 'sealed' ? new StateWrap(codecFor(options), `relay:${name}`) : undefined;
  const relay = createRelay(connection, {
    clientInfo: options.dispatcher?.clientInfo ?? CLIENT,
    channel: channelOptions(options),
    description: verdict.description,
    wrap,
    ...(options.dispatcher?.onWarning === undefined ? {} : { onWarning: options.dispatcher.onWarning }),
    onDropped: (reason, message) => {
      if (reason === 'unattributed-log' || reason === 'unattributed-notification') {
        options.dispatcher?.onDropped?.({ reason, message, suppressed: 0 });
      }
    },
  });
  await relay.start();
  const speaksBoth =
    verdict.description.supportedVersions?.some((version) => LEGACY_VERSIONS.includes(version)) ?? false;
  const isNative = (isolation === 'session' || isolation === 'lease') && speaksBoth;
  const connect = options.connect ?? noConnect;
  const dispatcher = isNative
    ? createDispatcher({
        ...dispatcherOptions(options),
        isolation: 'session',
        connect: ({ sessionId, principal }) => connect({ purpose: 'session', sessionId, principal }),
      })
    : facadeDispatcher(options, relay);
  return { era: 'modern', dispatcher, server: relay, relay, ready: async () => undefined };
}

function inProcess(options: GatewayOptions, server: ModernServer): Core {
  return { era: 'modern', dispatcher: facadeDispatcher(options, server), server, ready: async () => undefined };
}

function facadeDispatcher(options: GatewayOptions, server: ModernServer): Dispatcher {
  const settings = dispatcherOptions(options);
  return createDispatcher({
    maxSessions: VIRTUAL_SESSIONS,
    maxConcurrentStarts: VIRTUAL_SESSIONS,
    ...settings,
    isolation: 'session',
    connect: createLegacyFacade(server, {
      randomId: settings.randomId ?? randomUUID,
      ...(settings.clock === undefined ? {} : { clock: settings.clock }),
    }),
  });
}

const notReady = (failure: Failure): GatewayError =>
  new GatewayError('ERR_GATEWAY_NOT_READY', `The MCP server is not ready: ${failure.message}`, {
    details: { ...failure },
  });

async function startedAndReady(dispatcher: Dispatcher): Promise<void> {
  await dispatcher.start();
  await dispatcher.ready();
}

const dispatcherOptions = (options: GatewayOptions): NonNullable<GatewayOptions['dispatcher']> =>
  options.dispatcher ?? {};

function channelOptions({
  dispatcher = {},
}: GatewayOptions): Pick<DispatcherOptions, (typeof CHANNEL_OPTIONS)[number]> {
  const entries = CHANNEL_OPTIONS.flatMap((name) => (dispatcher[name] === undefined ? [] : [[name, dispatcher[name]]]));
  return Object.fromEntries(entries) as Pick<DispatcherOptions, (typeof CHANNEL_OPTIONS)[number]>;
}

const CHANNEL_OPTIONS = [
  'clock',
  'keepAliveMs',
  'maxInFlightPerSession',
  'maxQueuedBytes',
  'maxQueuedMessages',
  'maxTotalTimeoutMs',
  'methodTimeoutsMs',
  'randomId',
  'requestTimeoutMs',
  'resetTimeoutOnProgress',
  'streamAfterMs',
] as const;

function codecFor({ stateKeys, stateStore, lease }: GatewayOptions): StateCodec {
  return createStateCodec({
    keys: stateKeys ?? [{ id: 'own', key: randomBytes(32) }],
    ...(stateStore === undefined ? {} : { store: stateStore }),
    ...(lease?.parkTtlMs === undefined ? {} : { ttlMs: lease.parkTtlMs }),
  });
}

function noConnect(): never {
  throw new GatewayError('ERR_GATEWAY_ARGUMENT', 'Expected `connect` to be given');
}
