/** Where and why bytes are no JSON. */
export class JsonSyntaxError extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.name = 'JsonSyntaxError';
    this.offset = offset;
  }
}

/** Deeper values are refused, so that no reader behind this one overflows its stack. */
export const MAX_DEPTH = 512;

/** Strings longer than this are searched by native code, which has a cost a call. */
const NATIVE_AT = 256;

/** 1 for the bytes that a string may hold as they are: no quote, no backslash, no control character. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x20 && byte !== 0x22 && byte !== 0x5c ? 1 : 0));

/** 1 for what may follow a backslash, `u` aside. */
const ESCAPED = Uint8Array.from({ length: 256 }, (_, byte) =>
  '"\\/bfnrt'.includes(String.fromCharCode(byte)) ? 1 : 0,
);

/**
 * What the scanner saw besides the structure, for the caller to reset and read. Module state, since the scanner is
 * synchronous and a result object for each token would cost more than the token.
 */
export const seen = { escape: false, lineBreak: false };

/** The offset of the first byte at or behind `start` that is no whitespace. */
export function skipWhitespace(bytes: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const byte = bytes[at];
    if (byte === 0x0a || byte === 0x0d) seen.lineBreak = true;
    else if (byte !== 0x20 && byte !== 0x09) return at;
    at += 1;
  }
}

/** The offset behind a string whose opening quote is at `start`. */
export function skipString(bytes: Buffer, start: number): number {
  const plain = PLAIN;
  let at = start + 1;
  let far = at + NATIVE_AT;
  let quote = -1;
  for (;;) {
    let byte = bytes[at] as number;
    while (plain[byte] === 1 && at < far) {
      at += 1;
      byte = bytes[at] as number;
    }
    if (byte === 0x22) return at + 1;
    if (byte === 0x5c) {
      seen.escape = true;
      at = ESCAPED[bytes[at + 1] as number] === 1 ? at + 2 : skipUnicodeEscape(bytes, at);
      far = at + NATIVE_AT;
    } else if (byte === undefined) {
      throw new JsonSyntaxError('a string is not closed', bytes.length);
    } else if (byte < 0x20) {
      throw controlCharacter(at);
    } else {
      // Found once and kept: a search for each run would read a long text with few quotes again and again.
      if (quote < at) quote = nextQuote(bytes, at);
      at = plainEnd(bytes, at, quote);
      far = at + NATIVE_AT;
    }
  }
}

function nextQuote(bytes: Buffer, start: number): number {
  const quote = bytes.indexOf(0x22, start);
  return quote < 0 ? bytes.length : quote;
}

/** The offset of the backslash that ends a long run of plain bytes, found by native search, or else `end`. */
function plainEnd(bytes: Buffer, start: number, end: number): number {
  // Searched no further than the quote, or a payload without escapes would be searched whole for each string.
  const backslash = bytes.subarray(start, end).indexOf(0x5c);
  const stop = backslash < 0 ? end : start + backslash;
  refuseControls(bytes, start, stop);
  return stop;
}

function skipUnicodeEscape(bytes: Buffer, start: number): number {
  if (bytes[start + 1] !== 0x75) throw new JsonSyntaxError('an escape is not known', start);
  for (let index = 2; index < 6; index += 1) {
    if (!isHexDigit(bytes[start + index])) throw new JsonSyntaxError('an escape \\u needs four hex digits', start);
  }
  return start + 6;
}

const isHexDigit = (byte: number | undefined): boolean =>
  byte !== undefined &&
  ((byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66));

const controlCharacter = (at: number) => new JsonSyntaxError('a string holds a raw control character', at);

/** Four bytes at a time: a word without a byte below 0x20 needs five operations. */
function refuseControls(bytes: Buffer, start: number, end: number): void {
  let at = start;
  const aligned = Math.min(end, at + ((4 - ((bytes.byteOffset + at) & 3)) & 3));
  for (; at < aligned; at += 1) if ((bytes[at] as number) < 0x20) throw controlCharacter(at);
  const count = (end - at) >> 2;
  if (count > 8) {
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, count);
    for (let index = 0; index < count; index += 1) {
      const word = words[index] as number;
      if (((word - 0x20202020) & ~word & 0x80808080) !== 0) break;
      at += 4;
    }
  }
  for (; at < end; at += 1) if ((bytes[at] as number) < 0x20) throw controlCharacter(at);
}

function skipNumber(bytes: Buffer, start: number): number {
  let at = start;
  if (bytes[at] === 0x2d) at += 1;
  if (bytes[at] === 0x30) at += 1;
  else at = skipDigits(bytes, at);
  if (bytes[at] === 0x2e) at = skipDigits(bytes, at + 1);
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at += 1;
    if (bytes[at] === 0x2b || bytes[at] === 0x2d) at += 1;
    at = skipDigits(bytes, at);
  }
  return at;
}

function skipDigits(bytes: Buffer, start: number): number {
  let at = start;
  for (let byte = bytes[at]; byte !== undefined && byte >= 0x30 && byte <= 0x39; byte = bytes[at]) at += 1;
  if (at === start) throw new JsonSyntaxError('a number is not complete', start);
  return at;
}

/** `true`, `false`, `null` as the bytes that follow their first one. */
const TRUE = [0x72, 0x75, 0x65];
const FALSE = [0x61, 0x6c, 0x73, 0x65];
const NULL = [0x75, 0x6c, 0x6c];

function skipLiteral(bytes: Buffer, start: number, rest: readonly number[]): number {
  for (let index = 0; index < rest.length; index += 1) {
    if (bytes[start + 1 + index] !== rest[index])
      throw new JsonSyntaxError('a word is none of true, false and null', start);
  }
  return start + 1 + rest.length;
}

function skipScalar(bytes: Buffer, start: number): number {
  switch (bytes[start]) {
    case 0x22:
      return skipString(bytes, start);
    case 0x74:
      return skipLiteral(bytes, start, TRUE);
    case 0x66:
      return skipLiteral(bytes, start, FALSE);
    case 0x6e:
      return skipLiteral(bytes, start, NULL);
    case undefined:
      throw new JsonSyntaxError('the text ends early', start);
    default:
      return skipNumber(bytes, start);
  }
}

/** Which of the open containers are objects; the scanner is synchronous, so one is enough. */
const objects = new Uint8Array(MAX_DEPTH + 1);

/** The offset behind the value at `start`, which lies `depth` containers deep; checks it against the grammar. */
export function skipValue(bytes: Buffer, start: number, depth: number): number {
  let at = start;
  let level = depth;
  for (;;) {
    const byte = bytes[at];
    if (byte === 0x7b || byte === 0x5b) {
      level += 1;
      if (level > MAX_DEPTH) throw new JsonSyntaxError(`values are nested deeper than ${MAX_DEPTH}`, at);
      const isObject = byte === 0x7b;
      objects[level] = isObject ? 1 : 0;
      at = skipWhitespace(bytes, at + 1);
      if (bytes[at] !== (isObject ? 0x7d : 0x5d)) {
        if (isObject) at = skipKey(bytes, at);
        continue;
      }
      at += 1;
      level -= 1;
    } else {
      at = skipScalar(bytes, at);
    }
    // Behind a value: close what ends here, or go on to the next member.
    for (;;) {
      if (level === depth) return at;
      at = skipWhitespace(bytes, at);
      const next = bytes[at];
      if (next === 0x2c) {
        at = skipWhitespace(bytes, at + 1);
        if (objects[level] === 1) at = skipKey(bytes, at);
        break;
      }
      if (next !== (objects[level] === 1 ? 0x7d : 0x5d)) {
        throw new JsonSyntaxError(`expected "," or the end of the ${objects[level] === 1 ? 'object' : 'array'}`, at);
      }
      at += 1;
      level -= 1;
    }
  }
}

/** The offset of the value behind the key at `start`. */
function skipKey(bytes: Buffer, start: number): number {
  if (bytes[start] !== 0x22) throw new JsonSyntaxError('expected a key in quotes', start);
  const at = skipWhitespace(bytes, skipString(bytes, start));
  if (bytes[at] !== 0x3a) throw new JsonSyntaxError('expected ":" behind a key', at);
  return skipWhitespace(bytes, at + 1);
}
