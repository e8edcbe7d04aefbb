/**
 * Go's strings are bytes, JavaScript's are UTF-16. A text here is a JavaScript string in which a byte that belongs to no
 * valid UTF-8 sequence stands as a lone surrogate U+DC80 to U+DCFF (the `surrogateescape` of PEP 383), so that `slice`
 * may cut a character in two and `print` may join the halves again. `toOutput` takes the marks out.
 */

const SURROGATE = /[\uD800-\uDFFF]/;
const LONE_SURROGATES = /\p{Surrogate}/gu;
const REPLACEMENT = '\uFFFD';

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}

/** The byte that a code point stands for, or -1 if it is an ordinary character. */
export function escapedByte(codePoint: number): number {
  return codePoint >= 0xdc80 && codePoint <= 0xdcff ? codePoint - 0xdc00 : -1;
}

/** The rune that Go sees: lone surrogates are U+FFFD. */
export function toRune(codePoint: number): number {
  return codePoint >= 0xd800 && codePoint < 0xe000 ? 0xfffd : codePoint;
}

/** Length in bytes of UTF-8. */
export function byteLength(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) length += 1;
    else if (isHigh(unit) && isLow(text.charCodeAt(i + 1))) {
      length += 2;
      i += 1;
    } else if (escapedByte(unit) < 0) length += 2;
  }
  return length;
}

/** Number of runes; a byte that is no UTF-8 counts as one. */
export function runeCount(text: string): number {
  if (!SURROGATE.test(text)) return text.length;
  let count = 0;
  for (let i = 0; i < text.length; i += 1) {
    if (isHigh(text.charCodeAt(i)) && isLow(text.charCodeAt(i + 1))) i += 1;
    count += 1;
  }
  return count;
}

/** The first `count` runes. */
export function firstRunes(text: string, count: number): string {
  if (text.length <= count) return text;
  let end = 0;
  for (let runes = 0; runes < count && end < text.length; runes += 1) {
    end += isHigh(text.charCodeAt(end)) && isLow(text.charCodeAt(end + 1)) ? 2 : 1;
  }
  return text.slice(0, end);
}

/** The bytes of a text. */
export function encode(text: string): Uint8Array {
  const bytes = new Uint8Array(byteLength(text));
  let at = 0;
  for (let i = 0; i < text.length; i += 1) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      bytes[at++] = code;
      continue;
    }
    if (code < 0x800) {
      bytes[at++] = 0xc0 | (code >> 6);
      bytes[at++] = 0x80 | (code & 0x3f);
      continue;
    }
    const low = text.charCodeAt(i + 1);
    if (isHigh(code) && isLow(low)) {
      i += 1;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
      bytes[at++] = 0xf0 | (code >> 18);
      bytes[at++] = 0x80 | ((code >> 12) & 0x3f);
    } else {
      const byte = escapedByte(code);
      if (byte >= 0) {
        bytes[at++] = byte;
        continue;
      }
      code = toRune(code);
      bytes[at++] = 0xe0 | (code >> 12);
    }
    bytes[at++] = 0x80 | ((code >> 6) & 0x3f);
    bytes[at++] = 0x80 | (code & 0x3f);
  }
  return bytes;
}

/** Length of the valid UTF-8 sequence at `at`, or 0. */
function sequenceLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const second = bytes[at + 1] ?? 0;
  // Overlong forms, surrogates and what lies beyond U+10FFFF all show in the second byte.
  const least = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const most = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > most) return 0;
  for (let i = 2; i < length; i += 1) {
    if (((bytes[at + i] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}

/** The text that bytes stand for. */
export function decode(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at] ?? 0;
    const length = sequenceLength(bytes, at);
    if (length <= 1) {
      text += String.fromCharCode(length === 0 ? 0xdc00 + first : first);
      at += 1;
      continue;
    }
    let code = first & (0xff >> (length + 1));
    for (let i = 1; i < length; i += 1) code = (code << 6) | ((bytes[at + i] ?? 0) & 0x3f);
    text += String.fromCodePoint(code);
    at += length;
  }
  return text;
}

/** True without lone surrogates. Known to every supported Node, though not to the types of ES2023. */
function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed();
}

/** Joins bytes that stand side by side and make a character together. */
export function normalize(text: string): string {
  return isWellFormed(text) ? text : decode(encode(text));
}

/** The text as well-formed UTF-16: bytes that are no UTF-8 become U+FFFD, one each. */
export function toOutput(text: string): string {
  return isWellFormed(text) ? text : normalize(text).replace(LONE_SURROGATES, REPLACEMENT);
}

/** A source or a JSON text as Go would read it: lone surrogates become U+FFFD. */
export function wellFormed(text: string): string {
  return isWellFormed(text) ? text : text.replace(LONE_SURROGATES, REPLACEMENT);
}

/** Order of the bytes: negative, zero or positive. */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  if (SURROGATE.test(left) || SURROGATE.test(right)) return compareBytes(encode(left), encode(right));
  return left < right ? -1 : 1;
}

/** Sorts texts in place by their bytes. */
export function sortTexts(texts: string[]): string[] {
  // Without surrogates the order of UTF-16 is the same, and the engine knows that one.
  return texts.some((text) => SURROGATE.test(text)) ? texts.sort(compareText) : texts.sort();
}

function compareBytes(left: Uint8Array, right: Uint8Array): number {
  const shared = Math.min(left.length, right.length);
  for (let i = 0; i < shared; i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u;

/**
 * True for letters, marks, numbers, punctuation, symbols and the ASCII space.
 *
 * @see https://pkg.go.dev/unicode#IsPrint
 */
export function isPrint(rune: number): boolean {
  if (rune < 0x7f) return rune >= 0x20;
  if (rune > 0x10ffff) return false;
  return PRINTABLE.test(String.fromCodePoint(rune));
}

const ALPHANUMERIC = /^[\p{L}\p{Nd}]$/u;

/** True for letters, decimal digits and the underscore. */
export function isAlphanumeric(rune: number): boolean {
  if (rune < 0x80) {
    return (
      (rune >= 0x61 && rune <= 0x7a) ||
      (rune >= 0x41 && rune <= 0x5a) ||
      (rune >= 0x30 && rune <= 0x39) ||
      rune === 0x5f
    );
  }
  return ALPHANUMERIC.test(String.fromCodePoint(rune));
}
