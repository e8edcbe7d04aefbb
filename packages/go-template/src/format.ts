import type { RenderBudget } from './budget.js';
import { tooDeep } from './errors.js';
import { floatText, formatFloat, type FloatFormat } from './float.js';
import { canBackquote, describeRune, quote, quoteRune, quoteToAscii } from './quote.js';
import { encode, firstRunes, normalize, runeCount } from './text.js';
import {
  element,
  GoComplex,
  GoInteger,
  integerOf,
  KEYS_PER_STEP,
  kindOf,
  lookup,
  NilMap,
  sortedKeys,
  typeName,
} from './value.js';

/** Values nested deeper than this are not printed. */
const MAX_DEPTH = 1000;

/** Printing so many elements costs a step. */
const ELEMENTS_PER_STEP = 16;

/** An address for `%p`, which nothing here has. */
const ADDRESS = 0xc000012000n;

/**
 * Prints values the way Go's `fmt` does. The fields are the flags of the directive at hand.
 *
 * @see https://pkg.go.dev/fmt#hdr-Printing
 */
export class Formatter {
  /** -1 where the directive names none. */
  width = -1;
  precision = -1;
  plus = false;
  minus = false;
  sharp = false;
  space = false;
  zero = false;
  /** `%#v`, which means something else than `#` with another verb. */
  goSyntax = false;

  readonly #budget: RenderBudget;
  #text = '';
  #depth = 0;

  constructor(budget: RenderBudget) {
    this.#budget = budget;
  }

  /** What is printed so far. */
  get text(): string {
    return normalize(this.#text);
  }

  clear(): void {
    this.width = -1;
    this.precision = -1;
    this.plus = false;
    this.minus = false;
    this.sharp = false;
    this.space = false;
    this.zero = false;
    this.goSyntax = false;
  }

  write(text: string): void {
    this.#budget.fits(this.#text.length + text.length);
    this.#text += text;
  }

  #fill(count: number, zero: boolean): void {
    if (count <= 0) return;
    this.#budget.fits(this.#text.length + count);
    this.#text += (zero ? '0' : ' ').repeat(count);
  }

  /** `count` zeros, which a precision asked for. */
  #zeros(count: number): string {
    if (count <= 0) return '';
    this.#budget.fits(this.#text.length + count);
    return '0'.repeat(count);
  }

  #pad(text: string, zero = this.zero && !this.minus): void {
    const missing = this.width < 0 ? 0 : this.width - runeCount(text);
    if (!this.minus) this.#fill(missing, zero);
    this.write(text);
    if (this.minus) this.#fill(missing, false);
  }

  /** Prints one operand. */
  print(value: unknown, verb: string): void {
    const kind = kindOf(value);
    if (kind === 'invalid' || kind === 'nil') {
      if (verb === 'T' || verb === 'v') this.#pad('<nil>');
      else this.write(`%!${verb}(<nil>)`);
    } else if (verb === 'T') this.#string(typeName(value));
    else if (verb === 'p') this.#pointer(value, kind);
    else this.#value(value, verb);
  }

  #badVerb(value: unknown, verb: string): void {
    this.write(`%!${verb}(${typeName(value)}=`);
    this.#value(value, 'v');
    this.write(')');
  }

  #pointer(value: unknown, kind: string): void {
    if (kind !== 'map' && kind !== 'slice') {
      this.#badVerb(value, 'p');
      return;
    }
    const sharp = this.sharp;
    this.sharp = !sharp;
    this.#integer(value instanceof NilMap ? 0n : ADDRESS, 16, 'v', false);
    this.sharp = sharp;
  }

  #value(value: unknown, verb: string): void {
    switch (typeof value) {
      case 'string':
        return this.#textual(value, verb);
      case 'number':
        return this.#float(value, value, verb);
      case 'bigint':
        return this.#int(value, value, verb);
      case 'boolean':
        if (verb === 't' || verb === 'v') return this.#pad(String(value));
        return this.#badVerb(value, verb);
      default:
        return this.#object(value as object, verb);
    }
  }

  #object(value: object, verb: string): void {
    if (value instanceof GoInteger) return this.#int(value.value, value, verb);
    if (value instanceof GoComplex) return this.#complex(value, verb);
    // Go asks for an error here and finds none.
    if (verb === 'w') return this.#badVerb(value, verb);
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw tooDeep(`value nested deeper than ${MAX_DEPTH}`);
    if (Array.isArray(value)) this.#slice(value, verb);
    else this.#map(value, verb);
    this.#depth -= 1;
  }

  #inner(value: unknown, verb: string): void {
    const kind = kindOf(value);
    if (kind === 'invalid' || kind === 'nil') this.write(this.goSyntax ? 'interface {}(nil)' : '<nil>');
    else this.#value(value, verb);
  }

  #slice(values: readonly unknown[], verb: string): void {
    this.write(this.goSyntax ? '[]interface {}{' : '[');
    for (let i = 0; i < values.length; i += 1) {
      if (i > 0) this.write(this.goSyntax ? ', ' : ' ');
      if (i % ELEMENTS_PER_STEP === 0) this.#budget.spend(1);
      this.#inner(values[i], verb);
    }
    this.write(this.goSyntax ? '}' : ']');
  }

  #map(map: object, verb: string): void {
    if (this.goSyntax && map instanceof NilMap) return this.write('map[string]interface {}(nil)');
    this.write(this.goSyntax ? 'map[string]interface {}{' : 'map[');
    const keys = sortedKeys(map);
    this.#budget.spend(Math.floor(keys.length / KEYS_PER_STEP));
    for (const [index, key] of keys.entries()) {
      if (index > 0) this.write(this.goSyntax ? ', ' : ' ');
      this.#textual(key, verb);
      this.write(':');
      this.#inner(element(lookup(map, key)), verb);
    }
    this.write(this.goSyntax ? '}' : ']');
  }

  #textual(value: string, verb: string): void {
    switch (verb) {
      case 'v':
        return this.goSyntax ? this.#quoted(value) : this.#string(value);
      case 's':
        return this.#string(value);
      case 'x':
      case 'X':
        return this.#hexadecimal(value, verb === 'X');
      case 'q':
        return this.#quoted(value);
      default:
        return this.#badVerb(value, verb);
    }
  }

  #string(value: string): void {
    this.#pad(this.precision < 0 ? value : firstRunes(value, this.precision));
  }

  #quoted(value: string): void {
    const cut = this.precision < 0 ? value : firstRunes(value, this.precision);
    this.#budget.fits(this.#text.length + cut.length);
    if (this.sharp && canBackquote(cut)) this.#pad(`\`${cut}\``);
    else this.#pad(this.plus ? quoteToAscii(cut) : quote(cut));
  }

  /** The bytes of a text in hexadecimal. */
  #hexadecimal(value: string, upper: boolean): void {
    this.#budget.fits(
      this.#text.length + 2 * Math.min(value.length, this.precision < 0 ? value.length : this.precision),
    );
    const all = encode(value);
    const bytes = this.precision < 0 ? all : all.subarray(0, this.precision);
    if (bytes.length === 0) return this.#fill(this.width, this.zero && !this.minus);
    const prefix = this.sharp ? (upper ? '0X' : '0x') : '';
    let text = prefix;
    for (let i = 0; i < bytes.length; i += 1) {
      if (this.space && i > 0) text += ` ${prefix}`;
      const pair = (bytes[i] ?? 0).toString(16).padStart(2, '0');
      text += upper ? pair.toUpperCase() : pair;
    }
    this.#pad(text);
  }

  #int(value: bigint, whole: unknown, verb: string): void {
    const signed = kindOf(whole) === 'int';
    switch (verb) {
      case 'v':
        if (!this.goSyntax || signed) return this.#integer(value, 10, verb, false);
        this.sharp = true;
        this.#integer(value, 16, verb, false);
        this.sharp = false;
        return undefined;
      case 'd':
        return this.#integer(value, 10, verb, false);
      case 'b':
        return this.#integer(value, 2, verb, false);
      case 'o':
      case 'O':
        return this.#integer(value, 8, verb, false);
      case 'x':
      case 'X':
        return this.#integer(value, 16, verb, verb === 'X');
      case 'c':
        return this.#pad(String.fromCodePoint(codePoint(value)));
      case 'q':
        return this.#pad(quoteRune(codePoint(value), this.plus));
      case 'U':
        return this.#unicode(BigInt.asUintN(64, value));
      default:
        return this.#badVerb(whole, verb);
    }
  }

  #integer(value: bigint, base: number, verb: string, upper: boolean): void {
    const negative = value < 0n;
    // A precision of 0 prints 0 as nothing.
    if (this.precision === 0 && value === 0n) return this.#fill(this.width, false);
    const signed = negative || this.plus || this.space;
    let least = this.precision;
    if (least < 0 && this.zero && !this.minus && this.width >= 0) least = signed ? this.width - 1 : this.width;
    let text = (negative ? -value : value).toString(base);
    if (upper) text = text.toUpperCase();
    text = this.#zeros(least - text.length) + text;
    if (this.sharp) {
      if (base === 2) text = `0b${text}`;
      else if (base === 8 && !text.startsWith('0')) text = `0${text}`;
      else if (base === 16) text = `${upper ? '0X' : '0x'}${text}`;
    }
    if (verb === 'O') text = `0o${text}`;
    const sign = negative ? '-' : this.plus ? '+' : this.space ? ' ' : '';
    this.#pad(sign + text, false);
  }

  #unicode(value: bigint): void {
    const digits = value.toString(16).toUpperCase();
    const text = `U+${this.#zeros(Math.max(this.precision, 4) - digits.length)}${digits}`;
    const printed = this.sharp && value <= 0x10ffffn ? describeRune(Number(value)).split(' ').slice(1).join(' ') : '';
    this.#pad(printed === '' ? text : `${text} ${printed}`, false);
  }

  #float(value: number, whole: unknown, verb: string): void {
    switch (verb) {
      case 'v':
        return this.#plain() ? this.write(floatText(value)) : this.#number(value, 'g', -1);
      case 'b':
      case 'g':
      case 'G':
      case 'x':
      case 'X':
        return this.#number(value, verb, -1);
      case 'f':
      case 'F':
        return this.#number(value, 'f', 6);
      case 'e':
      case 'E':
        return this.#number(value, verb, 6);
      default:
        return this.#badVerb(whole, verb);
    }
  }

  /** True if no flag, width or precision changes how a number looks. */
  #plain(): boolean {
    return this.width < 0 && this.precision < 0 && !this.plus && !this.space && !this.sharp;
  }

  #number(value: number, format: FloatFormat, usual: number): void {
    const precision = this.precision < 0 ? usual : this.precision;
    this.#budget.fits(this.#text.length + precision);
    const plain = formatFloat(value, format, precision);
    const bare = /^[+-]/.test(plain) ? plain.slice(1) : plain;
    const sign = plain.startsWith('-') ? '-' : this.plus ? '+' : this.space ? ' ' : '';
    if (!Number.isFinite(value)) {
      // An infinity shows its sign always, and neither is padded with zeros.
      return this.#pad((sign === '' && !Number.isNaN(value) ? '+' : sign) + bare, false);
    }
    const text = this.sharp && format !== 'b' ? withPoint(bare, format, precision) : bare;
    const missing = this.width - text.length - sign.length;
    if (sign !== '' && this.zero && !this.minus && missing > 0) {
      this.write(sign);
      this.#fill(missing, true);
      this.write(text);
    } else this.#pad(sign + text);
  }

  #complex(value: GoComplex, verb: string): void {
    if (!'vbgGxXfFeE'.includes(verb)) return this.#badVerb(value, verb);
    const plus = this.plus;
    this.write('(');
    this.#float(value.real, value, verb);
    this.plus = true;
    this.#float(value.imaginary, value, verb);
    this.write('i)');
    this.plus = plus;
  }
}

/** A code point; what is none is U+FFFD. */
function codePoint(value: bigint): number {
  return value < 0n || value > 0x10ffffn || (value >= 0xd800n && value < 0xe000n) ? 0xfffd : Number(value);
}

/** What `#` does to a float: a decimal point always, and for %g its zeros. */
function withPoint(bare: string, format: FloatFormat, precision: number): string {
  const hexadecimal = format === 'x' || format === 'X';
  let digits = 0;
  if (format === 'g' || format === 'G' || format === 'x') digits = precision < 0 ? 6 : precision;
  const at = bare.search(hexadecimal ? /[pP]/ : /[eE]/);
  let head = at < 0 ? bare : bare.slice(0, at);
  const tail = at < 0 ? '' : bare.slice(at);
  const counted = head.replace('.', '');
  digits -= counted.length - counted.search(/[^0]|$/);
  if (!head.includes('.')) {
    if (head === '0') digits -= 1;
    head += '.';
  }
  return head + '0'.repeat(Math.max(digits, 0)) + tail;
}

/** The digits of an integer for `%v`, whatever its type. */
export function integerText(value: unknown): string {
  return String(integerOf(value) ?? 0n);
}
