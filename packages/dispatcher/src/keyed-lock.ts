/** A lock for each key: first come, first served; other keys are not held up; a key without holders costs nothing. */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>();

  /** Resolves with the release, once everybody before is through. Releasing twice does no harm. */
  async acquire(key: string): Promise<() => void> {
    const before = this.#tails.get(key);
    let release = (): void => undefined;
    const mine = new Promise<void>((resolve) => {
      release = resolve;
    });
    const tail = before === undefined ? mine : before.then(() => mine);
    this.#tails.set(key, tail);
    if (before !== undefined) await before;
    return () => {
      release();
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
  }

  /** Keys that are held or waited for. */
  get size(): number {
    return this.#tails.size;
  }
}
