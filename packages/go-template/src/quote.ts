import { decode, encode, escapedByte, isPrint, toRune } from './text.js';

const SHORT_ESCAPES: Readonly<Record<number, string>> = {
  7: '\\a',
  8: '\\b',
  9: '\\t',
  10: '\\n',
  11: '\\v',
  12: '\\f',
  13: '\\r',
};

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

function escapeRune(rune: number, delimiter: number, ascii: boolean): string {
  if (rune === delimiter || rune === 0x5c) return `\\${String.fromCharCode(rune)}`;
  if ((!ascii || rune < 0x80) && isPrint(rune)) return String.fromCodePoint(rune);
  const short = SHORT_ESCAPES[rune];
  if (short !== undefined) return short;
  if (rune < 0x20 || rune === 0x7f) return `\\x${hex(rune, 2)}`;
  return rune < 0x10000 ? `\\u${hex(rune, 4)}` : `\\U${hex(rune, 8)}`;
}

/** What cannot stand in a literal as it is. */
const SPECIAL = /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu;
const SPECIAL_OR_NOT_ASCII = /["\\]|[^ -~]/gu;

function quoteText(text: string, ascii: boolean): string {
  const escaped = text.replace(ascii ? SPECIAL_OR_NOT_ASCII : SPECIAL, (character) => {
    const code = character.codePointAt(0) ?? 0;
    const byte = escapedByte(code);
    return byte >= 0 ? `\\x${hex(byte, 2)}` : escapeRune(toRune(code), 0x22, ascii);
  });
  return `"${escaped}"`;
}

/**
 * A Go string literal in double quotes.
 *
 * @see https://pkg.go.dev/strconv#Quote
 */
export function quote(text: string): string {
  return quoteText(text, false);
}

/** A Go string literal in double quotes with nothing but ASCII. */
export function quoteToAscii(text: string): string {
  return quoteText(text, true);
}

/** A Go character literal; what is no Unicode code point becomes U+FFFD. */
export function quoteRune(code: number, ascii: boolean): string {
  return `'${escapeRune(code > 0x10ffff ? 0xfffd : toRune(code), 0x27, ascii)}'`;
}

/** `U+0078 'x'`, as `%#U` prints it. */
export function describeRune(code: number): string {
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return isPrint(code) ? `${name} '${String.fromCodePoint(code)}'` : name;
}

/** True if the text can stand between backquotes unchanged. */
export function canBackquote(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code === 0xfeff || code === 0x60 || code === 0x7f || (code < 0x20 && code !== 9)) return false;
    if (escapedByte(code) >= 0) return false;
  }
  return true;
}

const LETTER_ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '\\': 0x5c,
};

/** One character of a literal: its value, whether that value is a byte, and where the next one begins. */
interface Unquoted {
  readonly code: number;
  readonly byte: boolean;
  readonly next: number;
}

function numericEscape(text: string, at: number, digits: number, base: number): number {
  const body = text.slice(at, at + digits);
  const pattern = base === 16 ? /^[0-9a-fA-F]+$/ : /^[0-7]+$/;
  return body.length === digits && pattern.test(body) ? Number.parseInt(body, base) : -1;
}

/** Reads one character of a literal, or gives undefined where Go says `invalid syntax`. */
function unquoteOne(text: string, at: number, delimiter: string): Unquoted | undefined {
  const first = text.codePointAt(at);
  if (first === undefined) return undefined;
  if (first !== 0x5c) {
    if (first === delimiter.charCodeAt(0)) return undefined;
    return { code: first, byte: false, next: at + (first > 0xffff ? 2 : 1) };
  }
  const letter = text[at + 1];
  if (letter === undefined) return undefined;
  const known = Object.hasOwn(LETTER_ESCAPES, letter) ? LETTER_ESCAPES[letter] : undefined;
  if (known !== undefined) return { code: known, byte: false, next: at + 2 };
  if (letter === delimiter) return { code: letter.charCodeAt(0), byte: false, next: at + 2 };
  if (letter === 'x' || (letter >= '0' && letter <= '7')) {
    const octal = letter !== 'x';
    const code = octal ? numericEscape(text, at + 1, 3, 8) : numericEscape(text, at + 2, 2, 16);
    if (code < 0 || code > 0xff) return undefined;
    return { code, byte: true, next: at + 4 };
  }
  if (letter === 'u' || letter === 'U') {
    const digits = letter === 'u' ? 4 : 8;
    const code = numericEscape(text, at + 2, digits, 16);
    if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return undefined;
    return { code, byte: false, next: at + 2 + digits };
  }
  return undefined;
}

/**
 * The text of a Go string literal in double quotes or backquotes, or undefined where the literal is malformed.
 *
 * @see https://pkg.go.dev/strconv#Unquote
 */
export function unquote(literal: string): string | undefined {
  if (literal.startsWith('`')) return literal.slice(1, -1).replaceAll('\r', '');
  const body = literal.slice(1, -1);
  if (!body.includes('\\')) return body;
  const bytes: number[] = [];
  for (let at = 0; at < body.length;) {
    const one = unquoteOne(body, at, '"');
    if (one === undefined) return undefined;
    if (one.byte) bytes.push(one.code);
    else for (const byte of encode(String.fromCodePoint(one.code))) bytes.push(byte);
    at = one.next;
  }
  return decode(Uint8Array.from(bytes));
}

/** The value of a Go character literal, or why it is none. */
export function unquoteCharacter(literal: string): { readonly code: number } | { readonly problem: string } {
  const one = unquoteOne(literal, 1, "'");
  if (one === undefined) return { problem: 'invalid syntax' };
  if (literal.slice(one.next) !== "'") return { problem: `malformed character constant: ${literal}` };
  return { code: one.code };
}
