import type { Clock, Message } from '@thv/transport';
import type { Drop } from './options.js';

const PER_SECOND = 100;

/** Counts what was not delivered, and tells the operator, at most 100 times a second. */
export class Drops {
  readonly #clock: Clock;
  readonly #report: ((drop: Drop) => void) | undefined;
  readonly #counts = new Map<Drop['reason'], number>();
  #second = -1;
  #reported = 0;
  #suppressed = 0;

  constructor(clock: Clock, report: ((drop: Drop) => void) | undefined) {
    this.#clock = clock;
    this.#report = report;
  }

  add(reason: Drop['reason'], message: Message): void {
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    if (this.#report === undefined) return;
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#reported = 0;
    }
    if (this.#reported >= PER_SECOND) {
      this.#suppressed++;
      return;
    }
    this.#reported++;
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    try {
      this.#report({ reason, message, suppressed });
    } catch {
      // An observer that fails must not take the routing with it; the count stays.
    }
  }

  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}
