import { buildNotification, idKey, spliceMessage } from '@thv/transport';
import type { Clock, Connection, ConnectionDown, Message } from '@thv/transport';
import { metaValue, withMeta } from './attribution.js';
import type { DeadlineWheel } from './deadlines.js';
import { FairQueue, createLane } from './lanes.js';
import type { Lane } from './lanes.js';
import { BUSY, DUPLICATE_ID, SHUTDOWN, TIMED_OUT, backendExited, startFailure, unavailable } from './outcome.js';
import type { Failure, Outcome, Reply } from './outcome.js';
import type { DispatcherSettings } from './options.js';
import { progressTokenOf, restoreProgressToken } from './progress.js';
import { Waiter } from './waiters.js';
import type { WaiterHooks, WaiterOwner } from './waiters.js';

/** What an upstream tells its owner. */
export interface UpstreamHandlers {
  /** A notification or request of the backend, except progress that found its request. */
  onMessage(message: Message, waiter: Waiter | undefined): void;
  onUp(): void;
  onDown(down: ConnectionDown, failure: Failure): void;
  onDrop(reason: 'unknown-response' | 'late-response' | 'unknown-progress', message: Message): void;
  onNoise(text: string): void;
}

/** How many given-up requests are remembered, to tell a late response from a wrong one. */
const MAX_LATE = 1024;

/** One backend with everything that is on its way to it and back. */
export class Upstream implements WaiterOwner {
  readonly connection: Connection;
  readonly #settings: DispatcherSettings;
  readonly #clock: Clock;
  readonly #wheel: DeadlineWheel;
  readonly #handlers: UpstreamHandlers;
  readonly #queue: FairQueue;
  readonly #waiters = new Map<number, Waiter>();
  readonly #byAttribution = new Map<string, Waiter>();
  readonly #late = new Map<number, WaiterHooks | undefined>();
  #nextId = 1;
  #blocked = false;
  /** Counts the starts of the backend, so that news of an earlier one is told from news of this one. */
  #life = 0;
  #down: { readonly failure: Failure; readonly until: number } | undefined;
  #closed = false;
  #stderrTail: readonly string[] = [];

  constructor(connection: Connection, settings: DispatcherSettings, wheel: DeadlineWheel, handlers: UpstreamHandlers) {
    this.connection = connection;
    this.#settings = settings;
    this.#clock = settings.clock;
    this.#wheel = wheel;
    this.#handlers = handlers;
    this.#queue = new FairQueue({
      maxMessages: settings.maxQueuedMessages,
      maxBytes: settings.maxQueuedBytes,
      maxSentPerLane: settings.maxInFlightPerSession,
    });
  }

  get inFlight(): number {
    return this.#waiters.size;
  }

  /** Whether every client's request on its way is one of this lane. */
  servesOnly(lane: Lane): boolean {
    for (const waiter of this.#waiters.values()) if (waiter.key !== undefined && waiter.lane !== lane) return false;
    return true;
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** The last lines of stderr of the backend's last life. */
  get stderrTail(): readonly string[] {
    return this.#stderrTail;
  }

  get isUp(): boolean {
    return this.#down === undefined && this.connection.state === 'up';
  }

  /** Why a request cannot be taken now, or `undefined`. */
  refusal(): Failure | undefined {
    if (this.#closed) return SHUTDOWN;
    if (this.#down === undefined) return undefined;
    const { failure, until } = this.#down;
    return Number.isFinite(until) ? unavailable(Math.max(0, until - this.#clock.now())) : failure;
  }

  async start(signal?: AbortSignal): Promise<void> {
    await this.connection.start(
      {
        onMessage: (message, origin) => this.#receive(message, origin),
        onUp: () => this.#up(),
        onDown: (down) => this.#fail(down),
        onNoise: (text) => this.#handlers.onNoise(text),
        onOversize: (idText, bytes) => this.#oversize(idText, bytes),
      },
      signal === undefined ? {} : { signal },
    );
  }

  /**
   * Registers a request of a client and answers its waiter; a reuse of an id that is on its way is refused and
   * answers `undefined`. {@link dispatch} sends it.
   */
  admit(lane: Lane, message: Message, reply: Reply, hooks?: WaiterHooks): Waiter | undefined {
    const key = idKey(message.idText ?? '');
    const inFlight = (lane.inFlight ??= new Map());
    if (inFlight.has(key)) {
      reply.settle({ kind: 'failure', failure: DUPLICATE_ID });
      return undefined;
    }
    const waiter = this.#register(lane, message, key, reply, hooks);
    inFlight.set(key, waiter);
    return waiter;
  }

  /** Sends an admitted request, or queues it, or settles it as refused. */
  dispatch(waiter: Waiter): void {
    if (waiter.done) return;
    const refusal = this.refusal();
    if (refusal !== undefined) {
      this.settle(waiter, { kind: 'failure', failure: refusal });
    } else if (!this.#blocked && this.#queue.mayPass(waiter.lane)) {
      this.#send(waiter);
    } else if (this.#queue.push(waiter.lane, { waiter })) {
      waiter.state = 'queued';
    } else {
      this.settle(waiter, { kind: 'failure', failure: BUSY });
    }
  }

  /** Sends a request of our own and resolves with what came of it. */
  call(message: Message, hooks?: WaiterHooks): Promise<Outcome> {
    return new Promise((resolve) => {
      const waiter = this.#register(createLane(), message, undefined, new PromiseReply(resolve), hooks);
      const refusal = this.refusal();
      if (refusal === undefined) this.#send(waiter);
      else this.settle(waiter, { kind: 'failure', failure: refusal });
    });
  }

  /** Sends a message that has no answer; `false` when the queue is full, and then it was not taken. */
  notify(lane: Lane, message: Message): boolean {
    if (this.refusal() !== undefined) return true;
    if (!this.#blocked && (lane.queue === undefined || lane.queue.length === 0)) {
      this.#write(message);
      return true;
    }
    return this.#queue.push(lane, { message });
  }

  /** Writes at once: answers to the backend's own requests, which must not wait behind requests of clients. */
  write(message: Message, origin?: string): void {
    if (this.refusal() === undefined) this.#write(message, origin);
  }

  /** Gives a request up for the client; the backend is told, except about `initialize`. */
  cancel(waiter: Waiter, params: Readonly<Record<string, unknown>>): void {
    if (waiter.done || waiter.message.method === 'initialize') return;
    this.#tellCancelled(waiter, params);
    this.#forget(waiter);
    this.settle(waiter, { kind: 'cancelled' });
  }

  timedOut(waiter: Waiter): void {
    this.#tellCancelled(waiter, { reason: 'Request timed out' });
    this.#forget(waiter);
    this.settle(waiter, { kind: 'failure', failure: TIMED_OUT });
  }

  rearm(waiter: Waiter): void {
    this.#wheel.add(waiter);
  }

  /** The requests of a lane that may carry a message to their client before the answer. */
  streamingIn(lane: Lane): { streaming: Waiter[]; others: number } {
    const streaming: Waiter[] = [];
    let others = 0;
    for (const waiter of lane.inFlight?.values() ?? []) {
      if (waiter.state !== 'sent') continue;
      if (!waiter.reply.streams) others++;
      else if (waiter.reply.open) streaming.push(waiter);
    }
    return { streaming, others };
  }

  /** Ends a request: exactly once, the answer after everything that preceded it. */
  settle(waiter: Waiter, outcome: Outcome): void {
    if (waiter.done) return;
    const wasSent = waiter.state === 'sent';
    if (waiter.state === 'queued') this.#queue.remove(waiter.lane, waiter);
    waiter.state = 'done';
    this.#waiters.delete(waiter.wireId);
    if (waiter.attribution !== undefined) this.#byAttribution.delete(waiter.attribution);
    this.#wheel.remove(waiter);
    const { lane } = waiter;
    if (waiter.key !== undefined) lane.inFlight?.delete(waiter.key);
    waiter.announce(outcome);
    waiter.flushProgress();
    waiter.reply.settle(outcome);
    if (!wasSent) return;
    lane.sent--;
    if (lane.queue !== undefined && lane.queue.length > 0) {
      this.#queue.wake(lane);
      this.#flush();
    }
  }

  /** Fails everything on its way. */
  failAll(failure: Failure): void {
    for (const waiter of this.#waiters.values()) this.settle(waiter, { kind: 'failure', failure });
    this.#queue.clear();
  }

  async close(failure: Failure = SHUTDOWN): Promise<void> {
    this.#closed = true;
    this.failAll(failure);
    await this.connection.close();
  }

  #register(
    lane: Lane,
    message: Message,
    key: string | undefined,
    reply: Reply,
    hooks: WaiterHooks | undefined,
  ): Waiter {
    const wireId = this.#nextId++;
    const times = this.#settings.timesOf(message.method ?? '');
    const waiter = new Waiter(this, { wireId, lane, message, key, reply, hooks, now: this.#clock.now(), times });
    this.#waiters.set(wireId, waiter);
    this.#wheel.add(waiter);
    return waiter;
  }

  #send(waiter: Waiter): void {
    const { message, wireId } = waiter;
    const idText = String(wireId);
    waiter.state = 'sent';
    waiter.lane.sent++;
    const outgoing =
      message.progressTokenText === undefined
        ? spliceMessage(message, { idText })
        : spliceMessage(message, { idText, progressTokenText: waiter.reply.streams ? idText : null });
    this.#write(this.#attributable(waiter, outgoing), idText);
  }

  #attributable(waiter: Waiter, message: Message): Message {
    const { attributionKey, randomId } = this.#settings;
    if (attributionKey === undefined || waiter.key === undefined) return message;
    // Random, so that no client can make the backend speak to another one.
    waiter.attribution = randomId();
    this.#byAttribution.set(waiter.attribution, waiter);
    return withMeta(message, attributionKey, waiter.attribution);
  }

  #attributed(message: Message, origin: string | undefined): Waiter | undefined {
    if (origin !== undefined) return this.#waiters.get(Number(origin));
    if (this.#byAttribution.size === 0) return undefined;
    const value = metaValue(message, this.#settings.attributionKey ?? '');
    return value === undefined ? undefined : this.#byAttribution.get(value);
  }

  #write(message: Message, origin?: string): void {
    if (this.connection.send(message, origin) || this.#blocked) return;
    this.#blocked = true;
    const life = this.#life;
    void this.connection.drained().then(() => {
      if (life !== this.#life) return;
      this.#blocked = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#queue.size > 0 && !this.#blocked) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      if (next.item.waiter === undefined) this.#write(next.item.message);
      else this.#send(next.item.waiter);
      this.#queue.wake(next.lane);
    }
  }

  #receive(message: Message, origin: string | undefined): void {
    if (message.kind === 'response') {
      this.#receiveResponse(message);
    } else if (message.method === 'notifications/progress') {
      this.#receiveProgress(message);
    } else {
      this.#handlers.onMessage(message, this.#attributed(message, origin));
    }
  }

  #receiveResponse(message: Message): void {
    const wireId = Number(message.idText);
    const waiter = this.#waiters.get(wireId);
    if (waiter !== undefined && waiter.state === 'sent') {
      const idText = waiter.key === undefined ? undefined : waiter.message.idText;
      this.settle(waiter, {
        kind: 'answer',
        message: idText === undefined ? message : spliceMessage(message, { idText }),
      });
    } else if (this.#late.has(wireId)) {
      const hooks = this.#late.get(wireId);
      this.#late.delete(wireId);
      hooks?.onLate?.(message);
      this.#handlers.onDrop('late-response', message);
    } else {
      this.#handlers.onDrop('unknown-response', message);
    }
  }

  #receiveProgress(message: Message): void {
    const wireToken = progressTokenOf(message);
    const waiter = wireToken === undefined ? undefined : this.#waiters.get(wireToken);
    const token = waiter?.message.progressTokenText;
    if (waiter === undefined || token === undefined || !waiter.reply.streams || waiter.state !== 'sent') {
      this.#handlers.onDrop('unknown-progress', message);
      return;
    }
    if (this.#settings.resetTimeoutOnProgress) waiter.touch(this.#clock.now());
    waiter.progress(restoreProgressToken(message, token));
  }

  #oversize(idText: string | undefined, bytes: number): void {
    const waiter = idText === undefined ? undefined : this.#waiters.get(Number(idText));
    if (waiter === undefined) return;
    this.settle(waiter, {
      kind: 'failure',
      failure: { ...backendExited({}), reason: 'unavailable', message: 'Response too large', data: { bytes } },
    });
  }

  #tellCancelled(waiter: Waiter, params: Readonly<Record<string, unknown>>): void {
    if (waiter.state !== 'sent' || waiter.message.method === 'initialize') return;
    this.write(buildNotification('notifications/cancelled', { ...params, requestId: waiter.wireId }));
  }

  #forget(waiter: Waiter): void {
    if (waiter.state !== 'sent') return;
    this.#late.set(waiter.wireId, waiter.hooks);
    if (this.#late.size <= MAX_LATE) return;
    for (const oldest of this.#late.keys()) {
      this.#late.delete(oldest);
      break;
    }
  }

  #up(): void {
    this.#down = undefined;
    this.#life++;
    this.#blocked = false;
    this.#late.clear();
    this.#handlers.onUp();
  }

  #fail(down: ConnectionDown): void {
    this.#stderrTail = down.stderrTail;
    const failure = down.reason === 'spawn-failed' ? startFailure(down.stderrTail.join('\n')) : backendExited(down);
    this.#down = { failure, until: down.retryAfterMs === undefined ? Infinity : this.#clock.now() + down.retryAfterMs };
    this.#blocked = false;
    this.#late.clear();
    this.failAll(failure);
    this.#handlers.onDown(down, failure);
  }
}

/** The reply of a request of our own. */
class PromiseReply implements Reply {
  readonly streams = false;
  readonly open = true;
  readonly bufferedBytes = 0;
  readonly #resolve: (outcome: Outcome) => void;

  constructor(resolve: (outcome: Outcome) => void) {
    this.#resolve = resolve;
  }

  send(): boolean {
    return true;
  }

  keepAlive(): void {
    // Nobody looks at a request of our own.
  }

  settle(outcome: Outcome): void {
    this.#resolve(outcome);
  }
}
