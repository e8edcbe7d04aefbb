import type { Message } from '@thv/transport';
import type { Waiter } from './waiters.js';

/** What one client has on its way: a session, or a single request without one. */
export interface Lane {
  /** Requests that the backend has. */
  sent: number;
  /** Requests by {@link idKey} of the client's id, queued ones included; made on first use. */
  inFlight: Map<string, Waiter> | undefined;
  /** What waits for the pipe; made on first use. */
  queue: QueueItem[] | undefined;
  /** Whether the lane stands in the ring. */
  queued: boolean;
}

/** A request, or a message without an answer. */
export type QueueItem =
  | { readonly waiter: Waiter; readonly message?: undefined }
  | { readonly waiter?: undefined; readonly message: Message };

/** A lane for one request without a session. */
export const createLane = (): Lane => ({ sent: 0, inFlight: undefined, queue: undefined, queued: false });

const sizeOf = (item: QueueItem): number => (item.waiter?.message ?? item.message)?.bytes.length ?? 0;

/** A bounded queue that serves lanes in turn, so that one busy session does not starve the others. */
export class FairQueue {
  readonly #maxMessages: number;
  readonly #maxBytes: number;
  readonly #maxSent: number;
  readonly #lanes = new Set<Lane>();
  #ring: Lane[] = [];
  #count = 0;
  #bytes = 0;

  constructor(options: { maxMessages: number; maxBytes: number; maxSentPerLane: number }) {
    this.#maxMessages = options.maxMessages;
    this.#maxBytes = options.maxBytes;
    this.#maxSent = options.maxSentPerLane;
  }

  get size(): number {
    return this.#count;
  }

  /** False when there is no room. */
  push(lane: Lane, item: QueueItem): boolean {
    const bytes = sizeOf(item);
    if (this.#count >= this.#maxMessages || this.#bytes + bytes > this.#maxBytes) return false;
    (lane.queue ??= []).push(item);
    this.#lanes.add(lane);
    this.#count++;
    this.#bytes += bytes;
    this.wake(lane);
    return true;
  }

  /** Whether a request of the lane may go now, without overtaking. */
  mayPass(lane: Lane): boolean {
    return lane.sent < this.#maxSent && (lane.queue === undefined || lane.queue.length === 0);
  }

  /** Puts a lane back into the ring after one of its requests ended. */
  wake(lane: Lane): void {
    if (lane.queued || lane.queue === undefined || lane.queue.length === 0 || !this.#ready(lane)) return;
    lane.queued = true;
    this.#ring.push(lane);
  }

  /** The next item in turn whose lane may send, or `undefined`. */
  shift(): { lane: Lane; item: QueueItem } | undefined {
    for (let lane = this.#ring.shift(); lane !== undefined; lane = this.#ring.shift()) {
      lane.queued = false;
      if (!this.#ready(lane)) continue;
      const item = lane.queue?.shift();
      if (item === undefined) continue;
      this.#took(lane, item);
      return { lane, item };
    }
    return undefined;
  }

  /** Takes a request back that was not sent yet. */
  remove(lane: Lane, waiter: Waiter): boolean {
    const index = lane.queue?.findIndex((item) => item.waiter === waiter) ?? -1;
    if (index < 0) return false;
    const [item] = lane.queue?.splice(index, 1) ?? [];
    if (item !== undefined) this.#took(lane, item);
    return true;
  }

  /** Forgets everything; the requests among it are answered by their owner. */
  clear(): void {
    for (const lane of this.#lanes) {
      lane.queue = undefined;
      lane.queued = false;
    }
    this.#lanes.clear();
    this.#ring = [];
    this.#count = 0;
    this.#bytes = 0;
  }

  #took(lane: Lane, item: QueueItem): void {
    this.#count--;
    this.#bytes -= sizeOf(item);
    if (lane.queue?.length === 0) this.#lanes.delete(lane);
  }

  #ready(lane: Lane): boolean {
    return lane.sent < this.#maxSent || lane.queue?.[0]?.waiter === undefined;
  }
}
