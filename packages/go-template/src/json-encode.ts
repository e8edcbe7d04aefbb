import type { RenderBudget } from './budget.js';
import { tooDeep } from './errors.js';
import { formatFloat } from './float.js';
import { escapedByte } from './text.js';
import { element, GoComplex, integerOf, KEYS_PER_STEP, kindOf, lookup, NilMap, sortedKeys } from './value.js';

/** Values nested deeper than this are not encoded. */
const MAX_DEPTH = 1000;

const SHORT: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

function escapeCharacter(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  // What is no UTF-8, and what is no Unicode, is replaced.
  const shown = code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
  if (shown === 0xfffd && escapedByte(code) < 0 && code !== 0xfffd) return '\uFFFD';
  return `\\u${shown.toString(16).padStart(4, '0')}`;
}

/** Printable ASCII that needs no escape. */
const PLAIN = /^[ !#-%'-;=?-[\]-~]*$/;

/** Escapes that add so many characters cost a step, and so do so many elements. */
const ADDED_PER_STEP = 8;
const ELEMENTS_PER_STEP = 16;

function encodeText(text: string, budget: RenderBudget): string {
  if (PLAIN.test(text)) return `"${text}"`;
  const escaped = text.replace(/["\\<>&\u2028\u2029\u0000-\u001f]|\p{Surrogate}/gu, escapeCharacter);
  budget.spend(Math.floor((escaped.length - text.length) / ADDED_PER_STEP));
  return `"${escaped}"`;
}

function encodeFloat(value: number): string {
  if (!Number.isFinite(value)) throw new Error(`json: unsupported value: ${formatFloat(value, 'g', -1)}`);
  const size = Math.abs(value);
  // In this range JavaScript writes no exponent either.
  if (size >= 1e-6 && size < 1e21) return String(value);
  if (size === 0) return Object.is(value, -0) ? '-0' : '0';
  return formatFloat(value, 'e', -1).replace(/e-0(\d)$/, 'e-$1');
}

class Encoder {
  readonly #budget: RenderBudget;
  #depth = 0;
  text = '';

  constructor(budget: RenderBudget) {
    this.#budget = budget;
  }

  #write(text: string): void {
    this.#budget.fits(this.text.length + text.length);
    this.text += text;
  }

  encode(value: unknown): void {
    switch (kindOf(value)) {
      case 'invalid':
      case 'nil':
        return this.#write('null');
      case 'bool':
        return this.#write(String(value));
      case 'int':
      case 'uint':
        return this.#write(String(integerOf(value)));
      case 'float':
        return this.#write(encodeFloat(value as number));
      case 'string':
        return this.#write(encodeText(value as string, this.#budget));
      case 'complex':
        throw new Error('json: unsupported type: complex128');
      default:
        return this.#container(value as object);
    }
  }

  #container(value: object): void {
    if (value instanceof NilMap) return this.#write('null');
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw tooDeep(`value nested deeper than ${MAX_DEPTH}`);
    if (Array.isArray(value)) this.#array(value);
    else this.#object(value);
    this.#depth -= 1;
  }

  #array(values: readonly unknown[]): void {
    this.#write('[');
    for (let i = 0; i < values.length; i += 1) {
      if (i > 0) this.#write(',');
      if (i % ELEMENTS_PER_STEP === 0) this.#budget.spend(1);
      this.encode(values[i]);
    }
    this.#write(']');
  }

  #object(map: object): void {
    const keys = sortedKeys(map);
    this.#budget.spend(Math.floor(keys.length / KEYS_PER_STEP));
    this.#write('{');
    for (const [index, key] of keys.entries()) {
      this.#write(`${index > 0 ? ',' : ''}${encodeText(key, this.#budget)}:`);
      this.encode(element(lookup(map, key)));
    }
    this.#write('}');
  }
}

/**
 * A value as Go's `json.Marshal` writes it: keys in the order of their bytes, `<`, `>`, `&` and U+2028/9 escaped.
 *
 * @see https://pkg.go.dev/encoding/json#Marshal
 */
export function encodeJson(value: unknown, budget: RenderBudget): string {
  if (value instanceof GoComplex) throw new Error('json: unsupported type: complex128');
  const encoder = new Encoder(budget);
  encoder.encode(value);
  return encoder.text;
}
