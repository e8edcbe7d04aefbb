/** One event as it arrived. */
export interface DecodedEvent {
  /** `message` where the stream names none. */
  readonly event: string;
  readonly data: Buffer;
  /** The last id that the stream told, also by an earlier event. */
  readonly id: string | undefined;
}

/** Reads an event stream in pieces of any size. */
export interface SseDecoder {
  push(chunk: Buffer): void;
}

const LF = 0x0a;
const CR = 0x0d;

/**
 * Reads an event stream. Data stay bytes, so that a character that is split over two pieces survives; a line may be as
 * long as it likes.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function createSseDecoder(handlers: {
  readonly onEvent: (event: DecodedEvent) => void;
  readonly onRetry?: (milliseconds: number) => void;
}): SseDecoder {
  let parts: Buffer[] = [];
  let wasCr = false;
  let isFirst = true;
  let event = '';
  let data: Buffer[] = [];
  let id: string | undefined;

  function line(bytes: Buffer): void {
    if (bytes.length === 0) {
      dispatch();
      return;
    }
    const colon = bytes.indexOf(0x3a);
    if (colon === 0) return;
    const field = bytes.toString('latin1', 0, colon < 0 ? bytes.length : colon);
    const start = colon < 0 ? bytes.length : bytes[colon + 1] === 0x20 ? colon + 2 : colon + 1;
    const value = bytes.subarray(start);
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value.toString();
    else if (field === 'id' && !value.includes(0)) id = value.toString();
    else if (field === 'retry' && /^\d{1,9}$/.test(value.toString())) handlers.onRetry?.(Number(value.toString()));
  }

  function dispatch(): void {
    const lines = data;
    const name = event === '' ? 'message' : event;
    data = [];
    event = '';
    if (lines.length === 0) return;
    const joined = lines.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from('\n'), part]));
    handlers.onEvent({ event: name, data: joined.length === 1 ? (joined[0] as Buffer) : Buffer.concat(joined), id });
  }

  function finish(last: Buffer): void {
    const whole = parts.length === 0 ? last : Buffer.concat([...parts, last]);
    parts = [];
    const hasMark = isFirst && whole[0] === 0xef && whole[1] === 0xbb && whole[2] === 0xbf;
    isFirst = false;
    line(hasMark ? whole.subarray(3) : whole);
  }

  return {
    push(chunk) {
      let start = 0;
      for (let at = 0; at < chunk.length; at += 1) {
        const byte = chunk[at];
        if (byte !== LF && byte !== CR) {
          wasCr = false;
          // A long line is searched by native code.
          const next = nextBreak(chunk, at);
          if (next < 0) break;
          at = next;
        }
        const isCr = chunk[at] === CR;
        if (!isCr && wasCr && at === start) {
          wasCr = false;
          start = at + 1;
          continue;
        }
        finish(chunk.subarray(start, at));
        start = at + 1;
        wasCr = isCr;
      }
      if (start < chunk.length) parts.push(chunk.subarray(start));
    },
  };
}

function nextBreak(chunk: Buffer, from: number): number {
  const lf = chunk.indexOf(LF, from);
  const cr = (lf < 0 ? chunk : chunk.subarray(0, lf)).indexOf(CR, from);
  return cr < 0 ? lf : cr;
}
