import { BitWriter } from './bit-writer.js';
import { writeBlock } from './block.js';
import { BLOCK_BYTES, Matcher } from './match.js';

/**
 * Bytes that are judged together. Small enough that a picture between texts is told apart, large enough that a
 * change of method costs nothing.
 */
const WINDOW = 4 * 1024;
/** A run up to this length between stored data, such as a header between pictures, is not worth codes of its own. */
const SHORT = 8 * 1024;
const MOST_STORED = 65_535;
/** What the description of a block's codes can take. */
const CODES_BYTES = 512;

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

/**
 * A deflate stream whose bytes depend on the input alone: not on the Node version, the processor or how the input was
 * cut. zlib as bundled with Node promises none of that, and compressors in JavaScript are slower than it. This one
 * looks at one earlier place for each repetition, and gives every 64 KiB codes of their own.
 *
 * @see https://www.rfc-editor.org/rfc/rfc1951
 */
export class SteadyDeflate {
  readonly #emit: (bytes: Uint8Array) => void;
  readonly #writer = new BitWriter(BLOCK_BYTES + 2 * CODES_BYTES);
  readonly #matcher = new Matcher();
  readonly #window = new Uint8Array(WINDOW);
  readonly #counts = new Uint32Array(256);
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #blockFilled = 0;
  #filled = 0;
  /** True between two compressed blocks with nothing else between them. */
  #isRunning = false;

  /** What `emit` is given is valid during the call only. */
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
    this.#compress();
    // An empty last block with fixed codes.
    this.#writer.write(0b011, 3);
    this.#writer.write(0, 7);
    this.#writer.align();
    this.#emit(this.#writer.take());
  }

  #consume(window: Uint8Array): void {
    if (isIncompressible(window, this.#counts)) {
      if (!this.#isRunning && this.#blockFilled <= SHORT) this.#storeBlock();
      else this.#compress();
      this.#isRunning = false;
      this.#store(window);
      return;
    }
    if (this.#blockFilled + window.length > BLOCK_BYTES) this.#compress();
    this.#block.set(window, this.#blockFilled);
    this.#blockFilled += window.length;
  }

  #compress(): void {
    const block = this.#block.subarray(0, this.#blockFilled);
    if (block.length === 0) return;
    if (!this.#isRunning) this.#matcher.reset();
    this.#isRunning = true;
    const isWritten = writeBlock(this.#writer, this.#matcher.read(block), block.length);
    if (isWritten) this.#emit(this.#writer.take());
    else this.#store(block);
    this.#blockFilled = 0;
  }

  #storeBlock(): void {
    this.#store(this.#block.subarray(0, this.#blockFilled));
    this.#blockFilled = 0;
  }

  #store(bytes: Uint8Array): void {
    for (let offset = 0; offset < bytes.length; offset += MOST_STORED) {
      const part = bytes.subarray(offset, offset + MOST_STORED);
      this.#writer.write(0, 3);
      this.#writer.align();
      this.#writer.write(part.length, 16);
      this.#writer.write(part.length ^ 0xffff, 16);
      this.#writer.append(part);
      this.#emit(this.#writer.take());
    }
  }
}
