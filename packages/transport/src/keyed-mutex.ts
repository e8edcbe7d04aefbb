/** A lock for each key. */
export interface KeyedMutex {
  /**
   * Resolves with the release once everybody before is through; releasing twice does no harm. Rejects with the
   * reason of the signal when it is aborted while waiting. Not re-entrant: who holds a key and asks for it again
   * waits for itself.
   */
  lock(key: string, options?: { readonly signal?: AbortSignal }): Promise<() => void>;
  /** Holds the lock while `task` runs. */
  run<T>(key: string, task: () => Promise<T> | T, options?: { readonly signal?: AbortSignal }): Promise<T>;
  /** Keys that are held; a key that nobody holds costs nothing. */
  readonly size: number;
}

/** Locks that are served first come, first served, each key by itself. */
export function createKeyedMutex(): KeyedMutex {
  /** Who waits for a key that is held, in order. */
  const waiting = new Map<string, (() => void)[]>();

  function releaseOf(key: string): () => void {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const next = waiting.get(key)?.shift();
      if (next === undefined) waiting.delete(key);
      else next();
    };
  }

  async function lock(key: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<() => void> {
    signal?.throwIfAborted();
    const queue = waiting.get(key);
    if (queue === undefined) {
      waiting.set(key, []);
      return releaseOf(key);
    }
    await new Promise<void>((resolve, reject) => {
      const take = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        queue.splice(queue.indexOf(take), 1);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', leave, { once: true });
      queue.push(take);
    });
    return releaseOf(key);
  }

  return {
    lock,
    async run(key, task, options) {
      const release = await lock(key, options);
      try {
        return await task();
      } finally {
        release();
      }
    },
    get size() {
      return waiting.size;
    },
  };
}
