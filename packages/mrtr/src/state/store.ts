/** Keeps what is too large to travel. Values are sealed: a store sees neither content nor owner. */
export interface StateStore {
  put(handle: string, value: string, ttlMs: number): Promise<void>;
  /** `undefined` for an unknown handle and for one whose time is over. */
  get(handle: string): Promise<string | undefined>;
  delete(handle: string): Promise<void>;
}

/** Options of {@link createMemoryStateStore} and {@link createMemoryReplayGuard}. */
export interface MemoryLimits {
  /** The oldest goes first. @defaultValue 10000 */
  readonly maxEntries?: number;
  /** Milliseconds since 1970 UTC. @defaultValue Date.now */
  readonly now?: () => number;
}

/** Tells whether something happened before. */
export interface ReplayGuard {
  /** `first` exactly once for each id until `ttlMs` is over. */
  claim(id: string, ttlMs: number): Promise<'first' | 'seen'>;
}

/** A store in this process; another process does not see it. */
export function createMemoryStateStore(options: MemoryLimits = {}): StateStore {
  const entries = new Expiring<string>(options);
  return {
    async put(handle, value, ttlMs) {
      entries.set(handle, value, ttlMs);
    },
    get: async (handle) => entries.get(handle),
    async delete(handle) {
      entries.delete(handle);
    },
  };
}

/** A guard in this process; another process does not see it. */
export function createMemoryReplayGuard(options: MemoryLimits = {}): ReplayGuard {
  const seen = new Expiring<true>(options);
  return {
    async claim(id, ttlMs) {
      if (seen.get(id) === true) return 'seen';
      seen.set(id, true, ttlMs);
      return 'first';
    },
  };
}

/** A bounded map whose entries end. */
export class Expiring<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly until: number }>();
  readonly #maxEntries: number;
  readonly #now: () => number;

  constructor({ maxEntries = 10_000, now = Date.now }: MemoryLimits) {
    this.#maxEntries = maxEntries;
    this.#now = now;
  }

  set(key: string, value: T, ttlMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, until: this.#now() + ttlMs });
    if (this.#entries.size <= this.#maxEntries) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.until > this.#now()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
