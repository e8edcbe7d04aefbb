import { Deflate } from 'fflate';

/**
 * Bytes that are judged together. Small enough that a picture between texts is told apart, large enough that a
 * change of method costs nothing.
 */
const WINDOW = 4 * 1024;
/** Bytes given to the compressor at once: it allocates working memory on every call. */
const BATCH = 64 * 1024;
/** A run up to this length between stored data, such as a header between pictures, is not worth a compressor. */
const SHORT = 8 * 1024;
const MOST_STORED = 65_535;
const LEVEL = 6;
const MEMORY = 4;

/**
 * True for a window that deflate cannot make smaller: pictures, archives, fonts. The sum of squared byte counts is
 * within a tenth of that of random bytes. Integers only, so that every engine decides alike.
 */
function isIncompressible(window: Uint8Array, counts: Uint32Array): boolean {
  if (window.length < 1024) return false;
  counts.fill(0);
  let sampled = 0;
  for (let index = 0; index < window.length; index += 4, sampled += 1) {
    const byte = window[index] as number;
    counts[byte] = (counts[byte] as number) + 1;
  }
  let squares = 0;
  for (const count of counts) squares += count * count;
  return squares * 2560 < (256 * sampled + sampled * (sampled - 1)) * 11;
}

/** `tail` holds up to seven bits, then the bits 1, 1, 0 and zeros: a last block with fixed codes and nothing in it. */
function toStoredBlock(tail: Uint8Array): Uint8Array {
  let value = 0;
  for (let index = tail.length - 1; index >= 0; index -= 1) value = value * 256 + (tail[index] as number);
  const left = 30 - Math.clz32(value);
  const bytes = new Uint8Array(Math.ceil((left + 3) / 8) + 4);
  bytes[0] = value % 2 ** left;
  bytes.set([0, 0, 0xff, 0xff], bytes.length - 4);
  return bytes;
}

/**
 * A deflate stream whose bytes depend on the input alone: not on the Node version, the processor or how the input was
 * cut. zlib as bundled with Node promises none of that.
 *
 * @see https://www.rfc-editor.org/rfc/rfc1951
 */
export class SteadyDeflate {
  readonly #emit: (bytes: Uint8Array) => void;
  readonly #window = new Uint8Array(WINDOW);
  readonly #counts = new Uint32Array(256);
  #filled = 0;
  readonly #batch = new Uint8Array(BATCH);
  #batched = 0;
  #run: Deflate | undefined;

  /** `emit` owns the bytes that it is given. */
  constructor(emit: (bytes: Uint8Array) => void) {
    this.#emit = emit;
  }

  push(bytes: Uint8Array): void {
    let offset = 0;
    if (this.#filled > 0) {
      offset = Math.min(WINDOW - this.#filled, bytes.length);
      this.#window.set(bytes.subarray(0, offset), this.#filled);
      this.#filled += offset;
      if (this.#filled < WINDOW) return;
      this.#consume(this.#window);
      this.#filled = 0;
    }
    for (; offset + WINDOW <= bytes.length; offset += WINDOW) this.#consume(bytes.subarray(offset, offset + WINDOW));
    this.#window.set(bytes.subarray(offset));
    this.#filled = bytes.length - offset;
  }

  finish(): void {
    if (this.#filled > 0) this.#consume(this.#window.subarray(0, this.#filled));
    this.#endRun();
    // An empty last block with fixed codes.
    this.#emit(Uint8Array.of(0x03, 0x00));
  }

  #consume(window: Uint8Array): void {
    if (isIncompressible(window, this.#counts)) {
      if (this.#run === undefined && this.#batched <= SHORT) this.#storeBatch();
      else this.#endRun();
      this.#store(window);
    } else {
      if (this.#batched + window.length > BATCH) this.#flushBatch();
      this.#batch.set(window, this.#batched);
      this.#batched += window.length;
    }
  }

  #startRun(): Deflate {
    const run = new Deflate({ level: LEVEL, mem: MEMORY });
    run.ondata = (bytes) => this.#emit(bytes);
    return run;
  }

  /** End a run on a byte boundary without ending the stream. */
  #endRun(): void {
    if (this.#batched > 0) this.#flushBatch();
    const run = this.#run;
    if (run === undefined) return;
    run.flush();
    // The library's own synchronising flush writes a wrong position. What it writes last is known, though: the bits
    // that were left over, and an empty block with the last-block bit. That block is turned into an empty stored one.
    let tail = new Uint8Array(0);
    run.ondata = (bytes) => (tail = bytes);
    run.push(new Uint8Array(0), true);
    this.#emit(toStoredBlock(tail));
    this.#run = undefined;
  }

  #flushBatch(): void {
    this.#run ??= this.#startRun();
    this.#run.push(this.#batch.subarray(0, this.#batched));
    this.#batched = 0;
  }

  #storeBatch(): void {
    if (this.#batched > 0) this.#store(this.#batch.subarray(0, this.#batched));
    this.#batched = 0;
  }

  #store(bytes: Uint8Array): void {
    for (let offset = 0; offset < bytes.length; offset += MOST_STORED) {
      const part = bytes.subarray(offset, offset + MOST_STORED);
      const low = part.length & 0xff;
      const high = part.length >> 8;
      const block = new Uint8Array(5 + part.length);
      block.set([0, low, high, low ^ 0xff, high ^ 0xff]);
      block.set(part, 5);
      this.#emit(block);
    }
  }
}
