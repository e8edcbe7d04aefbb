/** What {@link createLineSplitter} calls. */
export interface LineHandlers {
  /** One line without its line break. The bytes may share memory with the chunk. */
  onLine(line: Buffer): void;
  /** A line above the limit is over; `prefix` and `suffix` hold its ends, up to 4 KiB each, `bytes` is its length. */
  onOversize(prefix: Buffer, suffix: Buffer, bytes: number): void;
}

/** Cuts chunks into lines. */
export interface LineSplitter {
  push(chunk: Buffer): void;
  /** The stream is over: what is left is a line too. */
  end(): void;
}

const KEPT_BYTES = 4096;

/**
 * Cuts a byte stream at `\n`, and nowhere else: U+2028 and U+2029 are legal inside JSON strings, and a character
 * may be split over two chunks. A line above the limit is discarded as it comes, so that memory stays bounded.
 */
export function createLineSplitter(handlers: LineHandlers, maxLineBytes: number): LineSplitter {
  let parts: Buffer[] = [];
  let size = 0;
  let discarded: { readonly prefix: Buffer; suffix: Buffer } | undefined;

  function keep(part: Buffer): void {
    size += part.length;
    if (discarded !== undefined) {
      discarded.suffix = lastBytes(discarded.suffix, part);
      return;
    }
    parts.push(part);
    if (size <= maxLineBytes) return;
    const whole = Buffer.concat(parts);
    discarded = {
      prefix: Buffer.from(whole.subarray(0, KEPT_BYTES)),
      suffix: Buffer.from(whole.subarray(-KEPT_BYTES)),
    };
    parts = [];
  }

  function finish(last: Buffer): void {
    if (parts.length === 0 && discarded === undefined && last.length <= maxLineBytes) {
      handlers.onLine(last);
      return;
    }
    keep(last);
    const [bytes, over, kept] = [size, discarded, parts];
    parts = [];
    size = 0;
    discarded = undefined;
    if (over !== undefined) handlers.onOversize(over.prefix, over.suffix, bytes);
    else handlers.onLine(kept.length === 1 ? (kept[0] as Buffer) : Buffer.concat(kept));
  }

  return {
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
        finish(chunk.subarray(start, end));
        start = end + 1;
      }
      if (start < chunk.length) keep(start === 0 ? chunk : chunk.subarray(start));
    },
    end() {
      if (size > 0) finish(Buffer.alloc(0));
    },
  };
}

const lastBytes = (before: Buffer, part: Buffer): Buffer =>
  part.length >= KEPT_BYTES
    ? Buffer.from(part.subarray(-KEPT_BYTES))
    : Buffer.concat([before.subarray(Math.max(0, before.length + part.length - KEPT_BYTES)), part]);
