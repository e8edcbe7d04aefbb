/** Bytes of one block. */
export const BLOCK_BYTES = 64 * 1024;
/** How far back a match may lie. */
export const REACH = 32 * 1024;
const HASH_BITS = 15;
const LEAST = 4;
const MOST = 258;
/** Inside longer matches only the start is remembered; it costs little in size and much in time otherwise. */
const REMEMBERED = 32;

/** What a block consists of: literals (below 256), and matches (`length << 16 | distance`). */
export interface Tokens {
  readonly list: Uint32Array;
  count: number;
}

/** Finds repetitions: the most recent place with the same four bytes, and no search beyond it. */
export class Matcher {
  readonly tokens: Tokens = { list: new Uint32Array(BLOCK_BYTES), count: 0 };
  readonly #buffer = new Uint8Array(REACH + BLOCK_BYTES);
  /** Stream position last seen for each hash. */
  readonly #heads = new Int32Array(1 << HASH_BITS).fill(-0x4000_0000);
  /** Stream position of the buffer's first byte. */
  #base = 0;
  /** Bytes of earlier blocks at the buffer's start. */
  #past = 0;

  /** Forget what came before: matches must not reach across data that went another way. */
  reset(): void {
    this.#base += this.#past;
    this.#past = 0;
  }

  /** Turn a block into tokens; they are valid until the next call. */
  read(block: Uint8Array): Tokens {
    this.#buffer.set(block, this.#past);
    this.#scan(this.#past, this.#past + block.length);
    const end = this.#past + block.length;
    const drop = Math.max(0, end - REACH);
    this.#buffer.copyWithin(0, drop, end);
    this.#base += drop;
    this.#past = end - drop;
    return this.tokens;
  }

  #scan(start: number, end: number): void {
    const [buffer, heads, base, { list }] = [this.#buffer, this.#heads, this.#base, this.tokens];
    const last = end - LEAST;
    let count = 0;
    let at = start;
    while (at <= last) {
      const word =
        (buffer[at] as number) |
        ((buffer[at + 1] as number) << 8) |
        ((buffer[at + 2] as number) << 16) |
        ((buffer[at + 3] as number) << 24);
      const hash = Math.imul(word, 0x9e37_79b1) >>> (32 - HASH_BITS);
      const distance = at + base - (heads[hash] as number);
      heads[hash] = at + base;
      const from = at - distance;
      const isMatch =
        distance <= REACH &&
        from >= 0 &&
        buffer[from] === buffer[at] &&
        buffer[from + 1] === buffer[at + 1] &&
        buffer[from + 2] === buffer[at + 2] &&
        buffer[from + 3] === buffer[at + 3];
      if (!isMatch) {
        list[count++] = buffer[at++] as number;
        continue;
      }
      const most = Math.min(MOST, end - at);
      let length = LEAST;
      while (length < most && buffer[from + length] === buffer[at + length]) length += 1;
      list[count++] = (length << 16) | distance;
      if (length <= REMEMBERED) this.#remember(at + 1, Math.min(at + length, last + 1));
      at += length;
    }
    while (at < end) list[count++] = buffer[at++] as number;
    this.tokens.count = count;
  }

  #remember(from: number, to: number): void {
    const [buffer, heads, base] = [this.#buffer, this.#heads, this.#base];
    for (let at = from; at < to; at += 1) {
      const word =
        (buffer[at] as number) |
        ((buffer[at + 1] as number) << 8) |
        ((buffer[at + 2] as number) << 16) |
        ((buffer[at + 3] as number) << 24);
      heads[Math.imul(word, 0x9e37_79b1) >>> (32 - HASH_BITS)] = at + base;
    }
  }
}
