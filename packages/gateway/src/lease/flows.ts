import type { Failure, Outcome } from '@thv/dispatcher';
import type { Clock } from '@thv/transport';
import type { ParkedCall } from './parked-call.js';

/** What became of a call that is over. */
export interface Ended {
  readonly outcome: Outcome;
  readonly round: number;
}

const MAX_ENDED = 1000;
const MAX_ENDED_BYTES = 16 * 1024 * 1024;

/** The calls between their rounds, and for a while those that are over: a response may have been lost. */
export class Flows {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  readonly #calls = new Map<string, ParkedCall>();
  readonly #ended = new Map<string, Ended & { readonly until: number; readonly bytes: number }>();
  #bytes = 0;

  constructor(clock: Clock, ttlMs: number) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  get parked(): number {
    let count = 0;
    for (const call of this.#calls.values()) if (call.parked) count += 1;
    return count;
  }

  add(call: ParkedCall): void {
    this.#calls.set(call.id, call);
  }

  get(id: string): ParkedCall | undefined {
    return this.#calls.get(id);
  }

  /** Only what had a round can be asked for again. */
  end(call: ParkedCall, outcome: Outcome): void {
    this.#calls.delete(call.id);
    if (call.round === 0) return;
    const bytes = outcome.kind === 'answer' ? outcome.message.bytes.length : 0;
    this.#ended.set(call.id, { outcome, round: call.round, until: this.#clock.now() + this.#ttlMs, bytes });
    this.#bytes += bytes;
    for (const [id, old] of this.#ended) {
      const full = this.#ended.size > MAX_ENDED || this.#bytes > MAX_ENDED_BYTES;
      if (!full && old.until > this.#clock.now()) break;
      this.#ended.delete(id);
      this.#bytes -= old.bytes;
    }
  }

  ended(id: string): Ended | undefined {
    const entry = this.#ended.get(id);
    return entry !== undefined && entry.until > this.#clock.now() ? entry : undefined;
  }

  abandonAll(failure: Failure): void {
    for (const call of this.#calls.values()) call.abandon(failure);
  }
}
