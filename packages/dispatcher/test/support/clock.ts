import type { Clock } from '@thv/transport';

/** Time that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now = 1_000_000;
  #timers: { at: number; callback: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#timers.length;
  }

  setTimer(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Moves time on and calls what is due, in order, with promises settled in between. */
  async advance(ms: number): Promise<void> {
    const target = this.#now + ms;
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= target).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await settled();
    }
    this.#now = target;
    await settled();
  }
}

/** Lets everything run that waits for resolved promises. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
