import { quote } from './quote.js';
import { encode, wellFormed } from './text.js';

/** As in Go. */
const MAX_DEPTH = 10_000;
const MAX_LENGTH = 10 * 1024 * 1024;

const LITERALS: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' };

/** The first byte of a character, as Go names it: it reads bytes, not characters. */
function nameByte(character: string): string {
  if (character === "'") return `'\\''`;
  if (character === '"') return `'"'`;
  const byte = encode(character)[0] ?? 0;
  return `'${quote(String.fromCodePoint(byte)).slice(1, -1)}'`;
}

/**
 * Checks a JSON text the way Go's scanner does, to say the same of a mistake. It holds no stack of its own calls, so that
 * depth costs no stack.
 */
class Scanner {
  readonly #text: string;
  /** What each open bracket is. */
  readonly #open: ('{' | '[')[] = [];
  /** Index of escapes that are half of a pair. */
  readonly loneSurrogates: number[] = [];
  /** The first number that no float64 holds. */
  hugeNumber: string | undefined;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  scan(): void {
    do this.#value();
    while (this.#afterValue());
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#fail('after top-level value');
  }

  /** Complains of the character at hand; at the end of the text Go lets a space speak for it. */
  #fail(context: string, spaceAtEnd = false): never {
    const point = this.#text.codePointAt(this.#at);
    if (point === undefined && !spaceAtEnd) throw new Error('unexpected end of JSON input');
    const character = point === undefined ? ' ' : String.fromCodePoint(point);
    throw new Error(`invalid character ${nameByte(character)} ${context}`);
  }

  #skipSpace(): void {
    while (' \t\r\n'.includes(this.#text[this.#at] ?? 'x')) this.#at += 1;
  }

  /** Reads brackets that open, keys, and one value that is no bracket or an empty one. */
  #value(): void {
    for (;;) {
      this.#skipSpace();
      const first = this.#text[this.#at];
      if (first === '{' || first === '[') {
        this.#at += 1;
        if (this.#enter(first)) continue;
        return;
      }
      if (first === '"') return this.#string();
      if (first === '-' || (first !== undefined && first >= '0' && first <= '9')) return this.#number();
      const literal = first !== undefined && Object.hasOwn(LITERALS, first) ? LITERALS[first] : undefined;
      if (literal === undefined) this.#fail('looking for beginning of value');
      return this.#literal(literal);
    }
  }

  /** Opens a bracket; false if it is closed at once. */
  #enter(bracket: '{' | '['): boolean {
    if (this.#open.length >= MAX_DEPTH) throw new Error('exceeded max depth');
    this.#skipSpace();
    if (this.#text[this.#at] === (bracket === '{' ? '}' : ']')) {
      this.#at += 1;
      return false;
    }
    this.#open.push(bracket);
    if (bracket === '{') this.#key();
    return true;
  }

  #key(): void {
    this.#skipSpace();
    if (this.#text[this.#at] !== '"') this.#fail('looking for beginning of object key string');
    this.#string();
    this.#skipSpace();
    if (this.#text[this.#at] !== ':') this.#fail('after object key');
    this.#at += 1;
  }

  /** Reads commas and brackets that close; true if another value must follow. */
  #afterValue(): boolean {
    for (;;) {
      const bracket = this.#open.at(-1);
      if (bracket === undefined) return false;
      this.#skipSpace();
      const next = this.#text[this.#at];
      if (next === ',') {
        this.#at += 1;
        if (bracket === '{') this.#key();
        return true;
      }
      if (next !== (bracket === '{' ? '}' : ']')) {
        this.#fail(bracket === '{' ? 'after object key:value pair' : 'after array element');
      }
      this.#at += 1;
      this.#open.pop();
    }
  }

  #literal(word: string): void {
    for (let i = 1; i < word.length; i += 1) {
      this.#at += 1;
      if (this.#text[this.#at] !== word[i]) this.#fail(`in literal ${word} (expecting '${word[i]}')`, true);
    }
    this.#at += 1;
  }

  #string(): void {
    for (;;) {
      this.#at += 1;
      const unit = this.#text[this.#at];
      if (unit === '"') {
        this.#at += 1;
        return;
      }
      if (unit === undefined || unit < ' ') this.#fail('in string literal');
      if (unit === '\\') this.#escape();
    }
  }

  #escape(): void {
    this.#at += 1;
    const letter = this.#text[this.#at];
    if (letter === undefined || !'bfnrt\\/"u'.includes(letter)) this.#fail('in string escape code', true);
    if (letter !== 'u') return;
    const start = this.#at - 1;
    for (let i = 0; i < 4; i += 1) {
      this.#at += 1;
      if (!/^[0-9a-fA-F]$/.test(this.#text[this.#at] ?? '')) this.#fail('in \\u hexadecimal character escape', true);
    }
    if (
      /^d[89ab]/i.test(this.#text.slice(start + 2)) &&
      /^\\ud[c-f]..$/i.test(this.#text.slice(start + 6, start + 12))
    ) {
      // The other half follows: it is read here, so that it is not taken for half a pair.
      this.#at += 1;
      for (let i = 0; i < 5; i += 1) {
        this.#at += 1;
        if (i > 0 && !/^[0-9a-fA-F]$/.test(this.#text[this.#at] ?? '')) {
          this.#fail('in \\u hexadecimal character escape', true);
        }
      }
    } else if (/^d[89a-f]/i.test(this.#text.slice(start + 2, start + 4))) this.loneSurrogates.push(start);
  }

  #digits(context: string): void {
    if (!this.#isDigit()) this.#fail(context, true);
    while (this.#isDigit()) this.#at += 1;
  }

  #isDigit(): boolean {
    const unit = this.#text[this.#at];
    return unit !== undefined && unit >= '0' && unit <= '9';
  }

  #number(): void {
    const start = this.#at;
    if (this.#text[this.#at] === '-') this.#at += 1;
    if (this.#text[this.#at] === '0') this.#at += 1;
    else this.#digits('in numeric literal');
    if (this.#text[this.#at] === '.') {
      this.#at += 1;
      this.#digits('after decimal point in numeric literal');
    }
    if (this.#text[this.#at] === 'e' || this.#text[this.#at] === 'E') {
      this.#at += 1;
      if (this.#text[this.#at] === '+' || this.#text[this.#at] === '-') this.#at += 1;
      this.#digits('in exponent of numeric literal');
    }
    const number = this.#text.slice(start, this.#at);
    if (this.hugeNumber === undefined && !Number.isFinite(Number(number))) this.hugeNumber = number;
  }
}

/** Half pairs become U+FFFD, as Go reads them. */
function replaceAt(text: string, places: readonly number[]): string {
  let replaced = '';
  let from = 0;
  for (const place of places) {
    replaced += `${text.slice(from, place)}\\ufffd`;
    from = place + 6;
  }
  return replaced + text.slice(from);
}

/**
 * Reads a JSON text as Go's `json.Unmarshal` reads it into an `interface {}`: strictly, all numbers as float64, of
 * repeated keys the last one.
 *
 * @see https://pkg.go.dev/encoding/json#Unmarshal
 */
export function decodeJson(source: string): unknown {
  if (source.length > MAX_LENGTH) throw new Error(`JSON text longer than ${MAX_LENGTH} characters`);
  const scanner = new Scanner(source);
  scanner.scan();
  if (scanner.hugeNumber !== undefined) {
    throw new Error(`json: cannot unmarshal number ${scanner.hugeNumber} into Go value of type float64`);
  }
  return JSON.parse(wellFormed(replaceAt(source, scanner.loneSurrogates))) as unknown;
}
