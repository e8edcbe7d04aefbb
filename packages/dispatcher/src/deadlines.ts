import type { Clock } from '@thv/transport';

/** Something that wants to be called at a time. */
export interface Deadline {
  /** Milliseconds of the clock. May move later while the entry is in the wheel; never earlier without `add` again. */
  due: number;
  /** The wheel's own mark. */
  slot: number;
  onDue(now: number): void;
}

/**
 * One timer for any number of deadlines. A timer of its own for every request costs more than the request's routing,
 * and nearly all of them are cancelled unused.
 */
export class DeadlineWheel {
  readonly #clock: Clock;
  readonly #tickMs: number;
  readonly #slots = new Map<number, Set<Deadline>>();
  #size = 0;
  #armed: (() => void) | undefined;
  #closed = false;

  constructor(clock: Clock, tickMs = 50) {
    this.#clock = clock;
    this.#tickMs = tickMs;
  }

  get size(): number {
    return this.#size;
  }

  /** Takes an entry, or moves one that is already here. */
  add(entry: Deadline): void {
    if (entry.slot !== 0) this.remove(entry);
    const slot = Math.max(1, Math.ceil(entry.due / this.#tickMs));
    entry.slot = slot;
    const set = this.#slots.get(slot);
    if (set === undefined) this.#slots.set(slot, new Set([entry]));
    else set.add(entry);
    this.#size++;
    this.#arm();
  }

  remove(entry: Deadline): void {
    if (entry.slot === 0) return;
    if (this.#slots.get(entry.slot)?.delete(entry) === true) this.#size--;
    entry.slot = 0;
  }

  close(): void {
    this.#closed = true;
    this.#armed?.();
    this.#armed = undefined;
    this.#slots.clear();
    this.#size = 0;
  }

  #arm(): void {
    if (this.#armed !== undefined || this.#closed) return;
    const now = this.#clock.now();
    const delay = this.#tickMs - (now % this.#tickMs);
    this.#armed = this.#clock.setTimer(delay, () => {
      this.#armed = undefined;
      this.#tick();
      if (this.#size > 0) this.#arm();
    });
  }

  #tick(): void {
    const now = this.#clock.now();
    const current = Math.floor(now / this.#tickMs);
    for (const [slot, entries] of this.#slots) {
      if (slot > current) continue;
      this.#slots.delete(slot);
      for (const entry of entries) {
        if (entry.slot !== slot) continue;
        entry.slot = 0;
        this.#size--;
        if (entry.due > now) this.add(entry);
        else entry.onDue(now);
      }
    }
  }
}
