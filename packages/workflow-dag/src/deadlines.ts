import type { Clock } from './ports.js';

/** Something that must be over at a time. Members of one list share a duration, so a list is in order of `at`. */
export interface Deadline {
  at: number;
  previous: Deadline | undefined;
  next: Deadline | undefined;
  list: DeadlineList | undefined;
  /** Called once when the time has come, unless {@link Deadlines.remove} was called before. */
  readonly expire: () => void;
}

interface DeadlineList {
  head: Deadline | undefined;
  tail: Deadline | undefined;
}

/**
 * Many timeouts on one timer. Adding and removing is constant in cost and touches no timer, apart from the first of a
 * shorter duration: a timer for each step would cost more than the step's own bookkeeping.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #lists = new Map<number, DeadlineList>();
  #armedAt = Number.POSITIVE_INFINITY;
  #disarm: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` after `durationMs`, counted from `now`. */
  add(durationMs: number, now: number, expire: () => void): Deadline {
    let list = this.#lists.get(durationMs);
    if (list === undefined) this.#lists.set(durationMs, (list = { head: undefined, tail: undefined }));
    const deadline: Deadline = { at: now + durationMs, previous: list.tail, next: undefined, list, expire };
    if (list.tail === undefined) list.head = deadline;
    else list.tail.next = deadline;
    list.tail = deadline;
    if (deadline.at < this.#armedAt) this.#arm(deadline.at);
    return deadline;
  }

  /** Forgets a deadline. Idempotent. */
  remove(deadline: Deadline): void {
    const list = deadline.list;
    if (list === undefined) return;
    if (deadline.previous === undefined) list.head = deadline.next;
    else deadline.previous.next = deadline.next;
    if (deadline.next === undefined) list.tail = deadline.previous;
    else deadline.next.previous = deadline.previous;
    deadline.list = deadline.previous = deadline.next = undefined;
  }

  /** Forgets everything and stops the timer. */
  close(): void {
    this.#disarm?.();
    this.#disarm = undefined;
    this.#armedAt = Number.POSITIVE_INFINITY;
    this.#lists.clear();
  }

  #arm(at: number): void {
    this.#disarm?.();
    this.#armedAt = at;
    this.#disarm = this.#clock.setTimer(at - this.#clock.now(), () => this.#sweep());
  }

  #sweep(): void {
    this.#disarm = undefined;
    this.#armedAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    const due: Deadline[] = [];
    for (const list of this.#lists.values()) {
      while (list.head !== undefined && list.head.at <= now) {
        due.push(list.head);
        this.remove(list.head);
      }
    }
    due.sort((a, b) => a.at - b.at);
    for (const deadline of due) deadline.expire();
    let nearest = Number.POSITIVE_INFINITY;
    for (const list of this.#lists.values()) {
      if (list.head !== undefined && list.head.at < nearest) nearest = list.head.at;
    }
    if (nearest < this.#armedAt) this.#arm(nearest);
  }
}
