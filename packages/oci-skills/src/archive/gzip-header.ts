import { archiveFault } from './faults.js';

const HAS_CRC = 2;
const HAS_EXTRA = 4;
const HAS_NAME = 8;
const HAS_COMMENT = 16;
const RESERVED = 0xe0;
/** Names and comments beyond this are no names. */
const MOST_HEADER = 64 * 1024;

class Cursor {
  readonly #bytes: Uint8Array;
  offset = 10;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** False where the header continues past the bytes that are there. */
  skip(count: number): boolean {
    this.offset += count;
    return this.offset <= this.#bytes.length;
  }

  skipText(): boolean {
    const end = this.#bytes.indexOf(0, this.offset);
    this.offset = end + 1;
    return end >= 0;
  }

  uint16(): number {
    return (this.#bytes[this.offset] ?? 0) + 256 * (this.#bytes[this.offset + 1] ?? 0);
  }
}

function skipOptional(bytes: Uint8Array, flags: number): number | undefined {
  const cursor = new Cursor(bytes);
  if ((flags & HAS_EXTRA) !== 0) {
    if (cursor.offset + 2 > bytes.length || !cursor.skip(2 + cursor.uint16())) return undefined;
  }
  if ((flags & HAS_NAME) !== 0 && !cursor.skipText()) return undefined;
  if ((flags & HAS_COMMENT) !== 0 && !cursor.skipText()) return undefined;
  if ((flags & HAS_CRC) !== 0 && !cursor.skip(2)) return undefined;
  return cursor.offset;
}

/**
 * Where the deflate stream starts, or undefined when more bytes are needed. Names and comments are skipped.
 *
 * @see https://www.rfc-editor.org/rfc/rfc1952
 */
export function gzipBodyOffset(bytes: Uint8Array): number | undefined {
  const isGzip = (bytes[0] ?? 0x1f) === 0x1f && (bytes[1] ?? 0x8b) === 0x8b && (bytes[2] ?? 8) === 8;
  if (!isGzip) throw archiveFault('it is not compressed with gzip');
  if (bytes.length < 10) return undefined;
  const flags = bytes[3] as number;
  if ((flags & RESERVED) !== 0) throw archiveFault('its gzip header uses reserved flags');
  const offset = skipOptional(bytes, flags);
  if (offset === undefined && bytes.length > MOST_HEADER) throw archiveFault('its gzip header does not end');
  return offset;
}
