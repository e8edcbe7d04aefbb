import type { RenderBudget } from './budget.js';
import { equal, less } from './compare.js';
import { escapeHtml, escapeJs, escapeQuery } from './escape.js';
import type { Callable } from './function.js';
import { sprint, sprintf, sprintln } from './printf.js';
import { byteLength, decode, encode } from './text.js';
import {
  BOXED,
  element,
  GoInteger,
  integerOf,
  isTrue,
  kindOf,
  KEYS_PER_STEP,
  lookup,
  mapSize,
  typeName,
} from './value.js';

/** Copying so many elements costs a step, and so does reading so many characters as bytes. */
const ELEMENTS_PER_STEP = 16;
const CHARACTERS_PER_STEP = 64;
/** An escaper that adds so many characters takes a step. */
const ADDED_PER_STEP = 8;

function isMissing(value: unknown): boolean {
  const kind = kindOf(value);
  return kind === 'invalid' || kind === 'nil';
}

/** The bytes of a text, and their cost. */
function bytesOf(text: string, budget: RenderBudget): Uint8Array {
  budget.spend(Math.floor(text.length / CHARACTERS_PER_STEP));
  return encode(text);
}

function length(value: unknown, budget: RenderBudget): bigint {
  switch (kindOf(value)) {
    case 'invalid':
      // Go's reflect package panics here, and the template says so.
      throw new Error('reflect: call of reflect.Value.Type on zero Value');
    case 'nil':
      throw new Error('len of nil pointer');
    case 'string':
      return BigInt(byteLength(value as string));
    case 'slice':
      return BigInt((value as readonly unknown[]).length);
    case 'map':
      return BigInt(sizeOf(value as object, budget));
    default:
      throw new Error(`len of type ${typeName(value)}`);
  }
}

function sizeOf(map: object, budget: RenderBudget): number {
  const size = mapSize(map);
  budget.spend(Math.floor(size / KEYS_PER_STEP));
  return size;
}

/** An index into something of this length, which may be the length itself. */
function indexOf(index: unknown, most: number): number {
  const value = integerOf(index);
  if (value === undefined) {
    const type = isMissing(index) ? 'nil' : `type ${index === BOXED ? 'interface {}' : typeName(index)}`;
    throw new Error(`cannot index slice/array with ${type}`);
  }
  if (value < 0n || value > BigInt(most)) throw new Error(`index out of range: ${value}`);
  return Number(value);
}

function indexMap(map: object, index: unknown): unknown {
  if (typeof index === 'string') return lookup(map, index);
  if (isMissing(index)) throw new Error('value is nil; should be of type string');
  throw new Error(`value has type ${typeName(index)}; should be string`);
}

function indexOne(item: unknown, index: unknown, budget: RenderBudget): unknown {
  switch (kindOf(item)) {
    case 'nil':
    case 'invalid':
      throw new Error('index of nil pointer');
    case 'slice': {
      const values = item as readonly unknown[];
      const at = indexOf(index, values.length);
      if (at === values.length) throw new Error('reflect: slice index out of range');
      return element(values[at]);
    }
    case 'string': {
      const bytes = bytesOf(item as string, budget);
      const at = indexOf(index, bytes.length);
      const byte = bytes[at];
      if (byte === undefined) throw new Error('reflect: string index out of range');
      return new GoInteger('uint8', BigInt(byte));
    }
    case 'map':
      return element(indexMap(item as object, index));
    default:
      throw new Error(`can't index item of type ${typeName(item)}`);
  }
}

function index([item, ...indexes]: readonly unknown[], budget: RenderBudget): unknown {
  if (isMissing(item)) throw new Error('index of untyped nil');
  return indexes.reduce((inner, at) => indexOne(inner, at, budget), item);
}

function slice([item, ...indexes]: readonly unknown[], budget: RenderBudget): unknown {
  if (isMissing(item)) throw new Error('slice of untyped nil');
  if (indexes.length > 3) throw new Error(`too many slice indexes: ${indexes.length}`);
  const kind = kindOf(item);
  if (kind === 'string' && indexes.length === 3) throw new Error('cannot 3-index slice a string');
  if (kind !== 'string' && kind !== 'slice') throw new Error(`can't slice item of type ${typeName(item)}`);
  const values = kind === 'string' ? bytesOf(item as string, budget) : (item as readonly unknown[]);
  const [low = 0, high = values.length, most = values.length] = indexes.map((at) => indexOf(at, values.length));
  if (low > high) throw new Error(`invalid slice index: ${low} > ${high}`);
  if (high > most) throw new Error(`invalid slice index: ${high} > ${most}`);
  if (values instanceof Uint8Array) return decode(values.subarray(low, high));
  budget.spend(Math.floor((high - low) / ELEMENTS_PER_STEP));
  return values.slice(low, high);
}

/** Operands for the escapers: a missing one is printed as an action would print it. */
function printable(args: readonly unknown[], budget: RenderBudget): string {
  return sprint(
    args.map((value) => (isMissing(value) ? '<no value>' : value)),
    budget,
  );
}

function escaper(escape: (text: string) => string): Callable {
  return {
    parameters: [],
    variadic: 'any',
    call: (args, budget) => {
      const text = printable(args, budget);
      const escaped = escape(text);
      budget.spend(Math.floor((escaped.length - text.length) / ADDED_PER_STEP));
      budget.fits(escaped.length);
      return escaped;
    },
  };
}

function comparison(compare: (left: unknown, right: unknown, budget: RenderBudget) => boolean): Callable {
  return { parameters: ['value', 'value'], call: ([left, right], budget) => compare(left, right, budget) };
}

function lessOrEqual(left: unknown, right: unknown, budget: RenderBudget): boolean {
  return less(left, right) || equal(left, [right], budget);
}

/** Never called: these three decide for themselves which arguments they look at. */
const special: Callable = { parameters: ['value'], variadic: 'value', call: () => undefined };

/**
 * The functions that every template has.
 *
 * @see https://pkg.go.dev/text/template#hdr-Functions
 */
export const BUILTINS: ReadonlyMap<string, Callable> = new Map<string, Callable>([
  ['and', special],
  ['or', special],
  ['call', special],
  ['not', { parameters: ['value'], call: ([value]) => !isTrue(value) }],
  ['len', { parameters: ['value'], call: ([value], budget) => length(value, budget) }],
  ['index', { parameters: ['value'], variadic: 'value', call: index }],
  ['slice', { parameters: ['value'], variadic: 'value', call: slice }],
  [
    'eq',
    { parameters: ['value'], variadic: 'value', call: ([left, ...others], budget) => equal(left, others, budget) },
  ],
  ['ne', comparison((left, right, budget) => !equal(left, [right], budget))],
  ['lt', comparison(less)],
  ['le', comparison(lessOrEqual)],
  // Not `less` the other way round: of a comparison with NaN Go says `gt` and `ge`.
  ['gt', comparison((left, right, budget) => !lessOrEqual(left, right, budget))],
  ['ge', comparison((left, right) => !less(left, right))],
  ['print', { parameters: [], variadic: 'any', call: sprint }],
  ['println', { parameters: [], variadic: 'any', call: sprintln }],
  [
    'printf',
    {
      parameters: ['string'],
      variadic: 'any',
      call: ([format, ...operands], budget) => sprintf(format as string, operands, budget),
    },
  ],
  ['html', escaper(escapeHtml)],
  ['js', escaper(escapeJs)],
  ['urlquery', escaper(escapeQuery)],
]);
