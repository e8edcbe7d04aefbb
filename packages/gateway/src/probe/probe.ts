import { MODERN_VERSION, RPC_CODES, buildError, buildRequest, idKey, spliceMessage, systemClock } from '@thv/transport';
import type { Clock, Connection, ConnectionDown, ConnectionHandlers, Message } from '@thv/transport';
import { isObject, modernRequest, own } from '../meta.js';
import type { ServerDescription } from '../server.js';

/** What a server speaks. */
export type Era = 'legacy' | 'modern';

/** What a probe found out. */
export type Verdict =
  | { readonly era: 'legacy' }
  | { readonly era: 'modern'; readonly description: ServerDescription }
  /** The server ended; it must not be probed again. */
  | { readonly era: 'legacy'; readonly died: ConnectionDown };

/** Options of {@link probeEra}. Times are milliseconds. */
export interface ProbeOptions {
  readonly clientInfo: { readonly name: string; readonly version: string };
  /** Silence after which the server is asked whether it is there at all. @defaultValue 2000 */
  readonly quietMs?: number;
  /** Silence after which it counts as one of the older era. @defaultValue 15000 */
  readonly timeoutMs?: number;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

const DISCOVER_ID = '"thv-discover"';
const PING_ID = '"thv-ping"';
const MODERN_CODES: ReadonlySet<unknown> = new Set([
  RPC_CODES.headerMismatch,
  RPC_CODES.capabilityRequired,
  RPC_CODES.unsupportedVersion,
]);

/** A started connection whose next owner is not known yet. */
export interface ProbedConnection {
  readonly verdict: Verdict;
  /** The same connection, as one that starts at once where it is up. */
  readonly connection: Connection;
}

/**
 * Starts a connection and finds out which era its server speaks, with `server/discover` as the first line that it
 * reads: a description or an error of the newer era decides for that one, anything else for the older one. A server
 * that says nothing is asked for a `ping`, which servers of the older era answer before their handshake.
 *
 * Rejects as the start of the connection does.
 */
export async function probeEra(connection: Connection, options: ProbeOptions): Promise<ProbedConnection> {
  const handover = new Handover(connection);
  const verdict = await new Probe(handover, options).run();
  return { verdict, connection: handover };
}

/** A description from the answer to `server/discover`; `undefined` for one of the older era. */
export function descriptionFrom(message: Message): ServerDescription | undefined {
  if (message.isError) {
    return MODERN_CODES.has(own(message.json()['error'], 'code')) ? { capabilities: {} } : undefined;
  }
  const result = message.json()['result'];
  const versions = own(result, 'supportedVersions');
  if (!Array.isArray(versions) || !versions.includes(MODERN_VERSION)) return undefined;
  const capabilities = own(result, 'capabilities');
  const serverInfo = own(own(result, '_meta'), 'io.modelcontextprotocol/serverInfo');
  const instructions = own(result, 'instructions');
  return {
    capabilities: isObject(capabilities) ? capabilities : {},
    supportedVersions: versions.filter((version): version is string => typeof version === 'string'),
    ...(isObject(serverInfo) ? { serverInfo } : {}),
    ...(typeof instructions === 'string' ? { instructions } : {}),
  };
}

/** The request that asks a server what it is. */
export const discoverRequest = (clientInfo: { readonly name: string; readonly version: string }): Message =>
  modernRequest('server/discover', {}, clientInfo);

/** The outcome, or the signal's reason, whichever is first. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
    aborted.catch(() => undefined);
  }
}

class Probe {
  readonly #handover: Handover;
  readonly #options: ProbeOptions;
  #decide: (verdict: Verdict) => void = () => undefined;

  constructor(handover: Handover, options: ProbeOptions) {
    this.#handover = handover;
    this.#options = options;
  }

  async run(): Promise<Verdict> {
    const { clientInfo, quietMs = 2000, timeoutMs = 15_000, clock = systemClock, signal } = this.#options;
    const decided = new Promise<Verdict>((resolve) => {
      this.#decide = resolve;
    });
    await this.#handover.startProbe(
      {
        onMessage: (message) => this.#receive(message),
        onUp: () => undefined,
        onDown: (down) => this.#decide({ era: 'legacy', died: down }),
      },
      signal,
    );
    this.#handover.send(spliceMessage(discoverRequest(clientInfo), { idText: DISCOVER_ID }));
    const ping = spliceMessage(buildRequest('ping', {}), { idText: PING_ID });
    const stops = [
      clock.setTimer(quietMs, () => void this.#handover.send(ping)),
      clock.setTimer(timeoutMs, () => this.#decide({ era: 'legacy' })),
    ];
    try {
      return await (signal === undefined ? decided : untilAborted(decided, signal));
    } finally {
      for (const stop of stops) stop();
    }
  }

  #receive(message: Message): void {
    if (message.kind === 'request') {
      const error = { code: RPC_CODES.methodNotFound, message: 'Not before the handshake' };
      this.#handover.send(buildError(message.idText ?? '0', error));
    } else if (message.kind === 'response') {
      const key = idKey(message.idText ?? '');
      if (key === idKey(DISCOVER_ID)) {
        const description = descriptionFrom(message);
        this.#decide(description === undefined ? { era: 'legacy' } : { era: 'modern', description });
      } else if (key === idKey(PING_ID)) {
        this.#decide({ era: 'legacy' });
      }
    }
  }
}

/** A connection that was started for a probe and is handed to its real owner afterwards. */
class Handover implements Connection {
  readonly #inner: Connection;
  #handlers: ConnectionHandlers | undefined;
  #owned = false;
  /** News of the time between the probe and the owner's start. */
  #missed: ConnectionDown | undefined;

  constructor(inner: Connection) {
    this.#inner = inner;
  }

  get state() {
    return this.#owned || this.#inner.state === 'closed' ? this.#inner.state : 'idle';
  }

  async startProbe(handlers: ConnectionHandlers, signal: AbortSignal | undefined): Promise<void> {
    this.#handlers = handlers;
    await this.#inner.start(
      {
        onMessage: (message, origin) => this.#handlers?.onMessage(message, origin),
        onUp: () => this.#handlers?.onUp(),
        onDown: (down) => {
          this.#missed = down;
          this.#handlers?.onDown(down);
        },
        onNoise: (text) => this.#handlers?.onNoise?.(text),
        onOversize: (idText, bytes) => this.#handlers?.onOversize?.(idText, bytes),
      },
      signal === undefined ? {} : { signal },
    );
    this.#missed = undefined;
  }

  async start(handlers: ConnectionHandlers): Promise<void> {
    this.#owned = true;
    this.#handlers = {
      ...handlers,
      onMessage: (message, origin) => {
        if (!isLateAnswer(message)) handlers.onMessage(message, origin);
      },
    };
    if (this.#inner.state === 'up') handlers.onUp();
    else if (this.#missed !== undefined) handlers.onDown(this.#missed);
  }

  send(message: Message, origin?: string): boolean {
    return this.#inner.send(message, origin);
  }

  drained(): Promise<void> {
    return this.#inner.drained();
  }

  pause(): void {
    this.#inner.pause();
  }

  resume(): void {
    this.#inner.resume();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

const LATE: ReadonlySet<string> = new Set([idKey(DISCOVER_ID), idKey(PING_ID)]);

/** What the probe asked may be answered after it gave up waiting. */
const isLateAnswer = (message: Message): boolean =>
  message.kind === 'response' && LATE.has(idKey(message.idText ?? ''));
