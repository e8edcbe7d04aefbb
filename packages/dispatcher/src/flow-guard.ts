import type { Clock } from '@thv/transport';

/** A receiver that took more than it handed on. */
export interface Watched {
  readonly bufferedBytes: number;
  /** True while it cannot be served yet, behind another response of its connection: that is no fault of its reader. */
  readonly waitsItsTurn?: boolean;
  /** Cuts the receiver off. */
  destroy(): void;
}

interface Watch {
  buffered: number;
  since: number;
}

const CHECK_MS = 1000;

/**
 * Watches the receivers that lag behind: one that takes nothing for too long is cut off, and only when all of them
 * together hold too much is the backend left unread.
 */
export class FlowGuard {
  readonly maxSinkBytes: number;
  readonly #clock: Clock;
  readonly #stallMs: number;
  readonly #pauseAbove: number;
  readonly #setPaused: (paused: boolean) => void;
  readonly #watched = new Map<Watched, Watch>();
  #paused = false;
  #armed: (() => void) | undefined;

  constructor(options: {
    clock: Clock;
    maxSinkBytes: number;
    stallMs: number;
    pauseAboveBytes: number;
    setPaused: (paused: boolean) => void;
  }) {
    this.maxSinkBytes = options.maxSinkBytes;
    this.#clock = options.clock;
    this.#stallMs = options.stallMs;
    this.#pauseAbove = options.pauseAboveBytes;
    this.#setPaused = options.setPaused;
  }

  /** Receivers that lag behind now. */
  get size(): number {
    return this.#watched.size;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Call when a receiver's buffer is above its high-water mark. */
  watch(receiver: Watched): void {
    if (!this.#watched.has(receiver)) {
      this.#watched.set(receiver, { buffered: receiver.bufferedBytes, since: this.#clock.now() });
    }
    if (!this.#paused && this.#total() > this.#pauseAbove) this.#pause(true);
    this.#arm();
  }

  /** Call when a receiver caught up, or is gone. */
  unwatch(receiver: Watched): void {
    if (this.#watched.delete(receiver)) this.#relax();
  }

  close(): void {
    this.#armed?.();
    this.#armed = undefined;
    this.#watched.clear();
  }

  #arm(): void {
    this.#armed ??= this.#clock.setTimer(CHECK_MS, () => {
      this.#armed = undefined;
      this.#check();
      if (this.#watched.size > 0) this.#arm();
    });
  }

  #check(): void {
    const now = this.#clock.now();
    for (const [receiver, watch] of this.#watched) {
      const buffered = receiver.bufferedBytes;
      if (buffered === 0) {
        this.#watched.delete(receiver);
      } else if (buffered < watch.buffered || receiver.waitsItsTurn === true) {
        watch.buffered = buffered;
        watch.since = now;
      } else if (now - watch.since >= this.#stallMs) {
        this.#watched.delete(receiver);
        receiver.destroy();
      } else {
        watch.buffered = buffered;
      }
    }
    this.#relax();
  }

  #total(): number {
    let total = 0;
    for (const receiver of this.#watched.keys()) total += receiver.bufferedBytes;
    return total;
  }

  #relax(): void {
    if (this.#paused && this.#total() <= this.#pauseAbove / 2) this.#pause(false);
  }

  #pause(paused: boolean): void {
    this.#paused = paused;
    this.#setPaused(paused);
  }
}
