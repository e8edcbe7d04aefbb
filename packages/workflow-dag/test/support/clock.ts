import type { Clock } from '../../src/index.js';

/** A clock that stands still until it is told to move. */
export class FixedClock implements Clock {
  #now: number;
  #timers: { at: number; order: number; callback: () => void }[] = [];
  #order = 0;

  constructor(now = 1_700_000_000_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  setTimer(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, order: (this.#order += 1), callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.#timers.length;
  }

  /** Moves on, firing what is due in order, with the promises of each settled before the next. */
  async advance(byMs: number): Promise<void> {
    const end = this.#now + byMs;
    for (;;) {
      await settle();
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at || a.order - b.order);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
    }
    this.#now = end;
    await settle();
  }

  /** Moves on without firing anything: what a sleeping machine does. */
  jump(byMs: number): void {
    this.#now += byMs;
  }
}

/** Lets everything happen that waits for nothing but the event loop. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
