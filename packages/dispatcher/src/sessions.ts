import { principalKey } from '@thv/transport';
import type { Clock, Message, Principal } from '@thv/transport';
import type { EventLog } from './event-log.js';
import type { Lane, QueueItem } from './lanes.js';
import type { Sessions } from './mode.js';
import type { ServerStream } from './streams.js';
import type { Waiter } from './waiters.js';

/** One session of a client. What few sessions use is made on first use, so that thousands of idle ones stay cheap. */
export class ClientSession implements Lane {
  readonly id: string;
  /** What the client and the server agreed on. */
  readonly protocolVersion: string;
  /** The client's capabilities as its `initialize` declared them. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly principalKey: string | undefined;
  lastSeen: number;
  ended = false;
  sent = 0;
  inFlight: Map<string, Waiter> | undefined = undefined;
  queue: QueueItem[] | undefined = undefined;
  queued = false;
  stream: ServerStream | undefined = undefined;
  subscriptions: Set<string> | undefined = undefined;
  logRank: number | undefined = undefined;
  log: EventLog | undefined = undefined;
  /** What its isolation mode keeps with it. */
  backend: unknown = undefined;
  /** The first `notifications/initialized` was seen. */
  initialized = false;

  constructor(fields: {
    id: string;
    protocolVersion: string;
    capabilities: Readonly<Record<string, unknown>>;
    principalKey: string | undefined;
    now: number;
  }) {
    this.id = fields.id;
    this.protocolVersion = fields.protocolVersion;
    this.capabilities = fields.capabilities;
    this.principalKey = fields.principalKey;
    this.lastSeen = fields.now;
  }
}

/** The sessions of one dispatcher: made by us alone, bound to who made them, over after a time without a request. */
export class SessionTable implements Sessions {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #streamKeepsAlive: boolean;
  readonly #sessions = new Map<string, ClientSession>();
  readonly #onEnd: (session: ClientSession) => void;

  constructor(options: {
    clock: Clock;
    ttlMs: number;
    /** Whether an open standalone stream counts as activity. */
    streamKeepsAlive: boolean;
    onEnd: (session: ClientSession) => void;
  }) {
    this.#clock = options.clock;
    this.#ttlMs = options.ttlMs;
    this.#streamKeepsAlive = options.streamKeepsAlive;
    this.#onEnd = options.onEnd;
  }

  get size(): number {
    return this.#sessions.size;
  }

  countOf(key: string | undefined): number {
    let count = 0;
    for (const session of this.#sessions.values()) if (session.principalKey === key) count++;
    return count;
  }

  add(session: ClientSession): void {
    this.#sessions.set(session.id, session);
  }

  /** The live session of that id and principal; looking it up counts as activity. */
  get(id: string, principal: Principal | undefined): ClientSession | undefined {
    const session = this.#sessions.get(id);
    if (session === undefined || session.principalKey !== principalKey(principal)) return undefined;
    const now = this.#clock.now();
    if (this.#expired(session, now)) {
      this.end(session);
      return undefined;
    }
    session.lastSeen = now;
    return session;
  }

  /** Ends a session once; everything that hangs on it goes with it. */
  end(session: ClientSession): void {
    if (session.ended) return;
    session.ended = true;
    this.#sessions.delete(session.id);
    this.#onEnd(session);
  }

  /** Two steps: first find what is stale, then end it, so that ending cannot disturb the look. */
  reap(): number {
    const now = this.#clock.now();
    const stale = [...this.#sessions.values()].filter((session) => this.#expired(session, now));
    for (const session of stale) this.end(session);
    return stale.length;
  }

  endAll(): void {
    for (const session of this.#sessions.values()) this.end(session);
  }

  [Symbol.iterator](): Iterator<ClientSession> {
    return this.#sessions.values();
  }

  #expired(session: ClientSession, now: number): boolean {
    const busy =
      (session.inFlight !== undefined && session.inFlight.size > 0) ||
      (this.#streamKeepsAlive && session.stream?.open === true);
    if (busy) session.lastSeen = now;
    return now - session.lastSeen >= this.#ttlMs;
  }
}

/** The params of a message, as an own object, or an empty one. */
export function paramsOf(message: Message): Readonly<Record<string, unknown>> {
  const json = message.json();
  const params = Object.hasOwn(json, 'params') ? json['params'] : undefined;
  return typeof params === 'object' && params !== null && !Array.isArray(params)
    ? (params as Readonly<Record<string, unknown>>)
    : {};
}
