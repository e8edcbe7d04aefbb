import type { Message, Sink } from '@thv/transport';
import type { DeadlineWheel, Deadline } from './deadlines.js';

/** The receiver of a standalone stream: a {@link Sink} with what only a stream to a client has. */
export interface StreamSink extends Sink {
  send(message: Message, eventId?: string): boolean;
  /** False once the client is gone. */
  readonly open: boolean;
  keepAlive(): void;
  /** An event with an id and no data, so that the client can resume. */
  prime?(eventId: string, retryMs: number): void;
  /** Called by the sink when the client is gone. */
  onGone?: (() => void) | undefined;
}

/** What a standalone stream counts. */
export interface StreamCounters {
  dropped(message: Message): void;
}

interface Queued {
  readonly message: Message;
  readonly key: string | undefined;
  readonly eventId: string | undefined;
  /** A request of the server is never dropped. */
  readonly keep: boolean;
}

/**
 * One standalone stream: keeps its client's slowness to itself. While the client does not read, list changes and
 * resource updates collapse to the newest of each key; only then the oldest goes.
 */
export class ServerStream implements Deadline {
  readonly sink: StreamSink;
  due: number;
  slot = 0;
  readonly #wheel: DeadlineWheel;
  readonly #keepAliveMs: number;
  readonly #maxQueued: number;
  readonly #counters: StreamCounters;
  #queue: Queued[] = [];
  #blocked = false;
  #ended = false;

  constructor(
    sink: StreamSink,
    options: {
      now: number;
      wheel: DeadlineWheel;
      keepAliveMs: number;
      maxQueued: number;
      counters: StreamCounters;
    },
  ) {
    this.sink = sink;
    this.#wheel = options.wheel;
    this.#keepAliveMs = options.keepAliveMs;
    this.#maxQueued = options.maxQueued;
    this.#counters = options.counters;
    this.due = options.now + options.keepAliveMs;
    this.#wheel.add(this);
  }

  get open(): boolean {
    return !this.#ended && this.sink.open;
  }

  /** Takes a message; of those with the same `key` only the newest waits. */
  send(message: Message, options: { key?: string; eventId?: string; keep?: boolean } = {}): void {
    if (!this.open) return;
    if (!this.#blocked) {
      this.#write(message, options.eventId);
      return;
    }
    const { key, eventId, keep = false } = options;
    if (key !== undefined) this.#queue = this.#queue.filter((queued) => queued.key !== key);
    this.#queue.push({ message, key, eventId, keep });
    if (this.#queue.length <= this.#maxQueued) return;
    const oldest = this.#queue.findIndex((queued) => !queued.keep);
    const [dropped] = oldest < 0 ? [] : this.#queue.splice(oldest, 1);
    if (dropped !== undefined) this.#counters.dropped(dropped.message);
  }

  onDue(now: number): void {
    if (!this.open) return;
    if (!this.#blocked) this.sink.keepAlive();
    this.due = now + this.#keepAliveMs;
    this.#wheel.add(this);
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#wheel.remove(this);
    this.#queue = [];
    this.sink.end();
  }

  #write(message: Message, eventId: string | undefined): void {
    const more = eventId === undefined ? this.sink.send(message) : this.sink.send(message, eventId);
    if (more) return;
    this.#blocked = true;
    this.sink.onDrain = () => this.#drain();
  }

  #drain(): void {
    this.#blocked = false;
    while (!this.#blocked && this.#queue.length > 0) {
      const next = this.#queue.shift();
      if (next !== undefined) this.#write(next.message, next.eventId);
    }
  }
}
