import type { Message } from '@thv/transport';
import type { Exchange } from './channel.js';
import type { Deadline } from './deadlines.js';
import type { Lane } from './lanes.js';
import type { Outcome, Reply } from './outcome.js';

/** What an interceptor wants to know about a request that it let through. */
export interface WaiterHooks {
  /** A response that came after the request had been given up. */
  readonly onLate?: (response: Message) => void;
}

/** Times of a waiter, in milliseconds. */
export interface WaiterTimes {
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
  readonly streamAfterMs: number;
  readonly keepAliveMs: number;
}

/** One request on its way: which client sent it, under which id, and where the answer goes. */
export class Waiter implements Deadline {
  readonly wireId: number;
  readonly lane: Lane;
  readonly message: Message;
  /** The client's id in canonical form; `undefined` for a request of our own. */
  readonly key: string | undefined;
  readonly reply: Reply;
  readonly hooks: WaiterHooks | undefined;
  readonly startedAt: number;
  /** What the owner of a channel holds of it; made on first use. */
  exchange: Exchange | undefined;
  state: 'new' | 'queued' | 'sent' | 'done' = 'new';
  due = 0;
  slot = 0;
  /** When it times out, unless something happens. */
  deadline: number;
  /** When it times out whatever happens. */
  cap: number;
  nextKeepAlive: number;
  /** Progress that the blocked stream has not taken yet; a newer one replaces it. */
  pendingProgress: Message | undefined = undefined;
  blocked = false;
  /** What the backend must send back to say that a message belongs to this request. */
  attribution: string | undefined = undefined;
  /** Requests of the server that wait for the client on behalf of this one. */
  parked = 0;
  #settled: ((outcome: Outcome) => void) | undefined = undefined;
  parkedSince = 0;
  readonly #owner: WaiterOwner;
  readonly #times: WaiterTimes;

  constructor(
    owner: WaiterOwner,
    fields: {
      wireId: number;
      lane: Lane;
      message: Message;
      key: string | undefined;
      reply: Reply;
      hooks: WaiterHooks | undefined;
      now: number;
      times: WaiterTimes;
    },
  ) {
    this.#owner = owner;
    this.#times = fields.times;
    this.wireId = fields.wireId;
    this.lane = fields.lane;
    this.message = fields.message;
    this.key = fields.key;
    this.reply = fields.reply;
    this.hooks = fields.hooks;
    this.startedAt = fields.now;
    this.deadline = fields.now + fields.times.timeoutMs;
    this.cap = fields.now + fields.times.maxTotalMs;
    this.nextKeepAlive = fields.reply.streams ? fields.now + fields.times.streamAfterMs : Number.POSITIVE_INFINITY;
    this.due = Math.min(this.deadline, this.nextKeepAlive);
  }

  /** One more who wants to know how it ended; told before the reply is settled. */
  onceSettled(callback: (outcome: Outcome) => void): void {
    this.#settled = callback;
  }

  /** The owner says how it ended. */
  announce(outcome: Outcome): void {
    this.#settled?.(outcome);
  }

  get done(): boolean {
    return this.state === 'done';
  }

  /** Life was seen: the deadline moves, up to the cap. */
  touch(now: number): void {
    this.deadline = Math.min(now + this.#times.timeoutMs, this.cap);
  }

  /** A request of the server waits for the client: the clock of this one stands still. */
  park(now: number): void {
    if (this.parked++ === 0) this.parkedSince = now;
  }

  unpark(now: number): void {
    if (this.parked === 0 || --this.parked > 0) return;
    this.cap += now - this.parkedSince;
    this.touch(now);
    // While it stood still it was due for a sign of life alone.
    this.due = Math.min(this.deadline, this.nextKeepAlive);
  }

  /** The wheel calls: keep the client informed, or give up. */
  onDue(now: number): void {
    if (this.done) return;
    if (this.parked === 0 && now >= this.deadline) {
      this.#owner.timedOut(this);
      return;
    }
    if (now >= this.nextKeepAlive) {
      this.reply.keepAlive();
      this.nextKeepAlive = now + this.#times.keepAliveMs;
    }
    this.due = Math.min(this.parked === 0 ? this.deadline : now + this.#times.keepAliveMs, this.nextKeepAlive);
    this.#owner.rearm(this);
  }

  /** Hands progress to the stream, newest only while the client does not read. */
  progress(message: Message): void {
    if (this.blocked) {
      this.pendingProgress = message;
      return;
    }
    this.send(message);
  }

  /** Hands a message to the stream that precedes the answer. */
  send(message: Message): void {
    if (this.reply.send(message)) return;
    this.blocked = true;
    this.reply.onDrain = () => {
      this.blocked = false;
      this.flushProgress();
    };
  }

  flushProgress(): void {
    const pending = this.pendingProgress;
    if (pending === undefined) return;
    this.pendingProgress = undefined;
    this.send(pending);
  }
}

/** What a waiter needs of the upstream that made it. */
export interface WaiterOwner {
  timedOut(waiter: Waiter): void;
  rearm(waiter: Waiter): void;
}
