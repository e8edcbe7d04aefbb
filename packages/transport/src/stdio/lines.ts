/** What {@link createLineSplitter} calls. */
export interface LineHandlers {
  /** One line without its line break. The bytes may share memory with the chunk. */
  onLine(line: Buffer): void;
  /** A line above the limit is over; `prefix` holds its first 4 KiB, `bytes` its length. */
  onOversize(prefix: Buffer, bytes: number): void;
}

/** Cuts chunks into lines. */
export interface LineSplitter {
  push(chunk: Buffer): void;
  /** The stream is over: what is left is a line too. */
  end(): void;
}

const PREFIX_BYTES = 4096;

/**
 * Cuts a byte stream at `\n`, and nowhere else: U+2028 and U+2029 are legal inside JSON strings, and a character
 * may be split over two chunks. A line above the limit is discarded as it comes, so that memory stays bounded.
 */
export function createLineSplitter(handlers: LineHandlers, maxLineBytes: number): LineSplitter {
  let parts: Buffer[] = [];
  let size = 0;
  let discarded: Buffer | undefined;

  function keep(part: Buffer): void {
    size += part.length;
    if (discarded !== undefined) return;
    parts.push(part);
    if (size <= maxLineBytes) return;
    discarded = Buffer.from(Buffer.concat(parts).subarray(0, PREFIX_BYTES));
    parts = [];
  }

  function finish(last: Buffer): void {
    if (parts.length === 0 && discarded === undefined && last.length <= maxLineBytes) {
      handlers.onLine(last);
      return;
    }
    keep(last);
    const line = discarded ?? (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts));
    const bytes = size;
    const oversize = discarded !== undefined;
    parts = [];
    size = 0;
    discarded = undefined;
    if (oversize) handlers.onOversize(line, bytes);
    else handlers.onLine(line);
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
