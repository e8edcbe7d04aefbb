import { sortTexts } from './text.js';

/**
 * What templates compute with. `undefined` is Go's "no value" (a missing key), `null` a nil interface (JSON null),
 * `bigint` an `int`, `number` a `float64`, an array an `[]interface {}`, and a `Map` with text keys or any other object
 * a `map[string]interface {}` of its own enumerable properties. A property whose value is `undefined` is missing.
 */
export type GoValue =
  | undefined
  | null
  | boolean
  | bigint
  | number
  | string
  | GoInteger
  | GoComplex
  | NilMap
  | readonly unknown[]
  | ReadonlyMap<string, unknown>
  | Readonly<Record<string, unknown>>;

/** The integer types beside `int`. */
export type GoIntegerType = 'int8' | 'int16' | 'int32' | 'int64' | 'uint' | 'uint8' | 'uint16' | 'uint32' | 'uint64';

const BITS: Readonly<Record<GoIntegerType, number>> = {
  int8: 8,
  int16: 16,
  int32: 32,
  int64: 64,
  uint: 64,
  uint8: 8,
  uint16: 16,
  uint32: 32,
  uint64: 64,
};

/** What values that JavaScript has no type for have in common, so that one test tells them from maps. */
class Special {
  readonly #special = true;

  static is(value: object): boolean {
    return #special in value && value.#special;
  }
}

/** An integer of another type than `int`; it behaves the same but for `%T`, `%#v` and the words of errors. */
export class GoInteger extends Special {
  readonly type: GoIntegerType;
  readonly value: bigint;

  /** Values that do not fit are cut to the type's width, as a Go conversion does. */
  constructor(type: GoIntegerType, value: bigint) {
    super();
    this.type = type;
    this.value = type.startsWith('u') ? BigInt.asUintN(BITS[type], value) : BigInt.asIntN(BITS[type], value);
  }
}

/** A `complex128`. */
export class GoComplex extends Special {
  readonly real: number;
  readonly imaginary: number;

  constructor(real: number, imaginary: number) {
    super();
    this.real = real;
    this.imaginary = imaginary;
  }
}

/** The class of {@link NIL_MAP}. */
export class NilMap {
  /** JSON has no nil map: Go marshals it as null. */
  toJSON(): null {
    return null;
  }
}

/**
 * A `map[string]interface {}` that is nil: prints `map[]`, has length 0, is false, has no keys, equals `nil`, and is
 * `null` as JSON.
 */
export const NIL_MAP: NilMap = Object.freeze(new NilMap());

/** Go's kinds, as far as values here have them. */
export type Kind = 'invalid' | 'nil' | 'bool' | 'int' | 'uint' | 'float' | 'complex' | 'string' | 'slice' | 'map';

/** The kind of a value. Functions and symbols, which no Go value resembles, count as missing. */
export function kindOf(value: unknown): Kind {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'number':
      return 'float';
    case 'bigint':
      return 'int';
    case 'boolean':
      return 'bool';
    case 'object':
      if (value === null) return 'nil';
      if (Array.isArray(value)) return 'slice';
      if (!Special.is(value)) return 'map';
      if (value instanceof GoInteger) return value.type.startsWith('u') ? 'uint' : 'int';
      return 'complex';
    default:
      return 'invalid';
  }
}

/** The name of a value's type as `%T` prints it. */
export function typeName(value: unknown): string {
  switch (kindOf(value)) {
    case 'string':
      return 'string';
    case 'float':
      return 'float64';
    case 'bool':
      return 'bool';
    case 'complex':
      return 'complex128';
    case 'slice':
      return '[]interface {}';
    case 'map':
      return 'map[string]interface {}';
    case 'int':
    case 'uint':
      return value instanceof GoInteger ? value.type : 'int';
    default:
      return 'interface {}';
  }
}

/** The number in a value of an integer kind. */
export function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return value instanceof GoInteger ? value.value : undefined;
}

/**
 * The value at a key of a value of kind map, or undefined. Only own enumerable properties are keys, so that
 * `constructor` and `__proto__` mean what they mean in any other map.
 */
export function lookup(map: object, key: string): unknown {
  if (map instanceof Map) return (map as ReadonlyMap<string, unknown>).get(key);
  return Object.hasOwn(map, key) ? (map as Readonly<Record<string, unknown>>)[key] : undefined;
}

function isPresent(map: object, key: string): boolean {
  const value = lookup(map, key);
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol';
}

/** Going through so many keys costs a step. */
export const KEYS_PER_STEP = 2;

/** The keys of a value of kind map, in the order of the object. */
function keysOf(map: object): string[] {
  if (map instanceof NilMap) return [];
  const keys = map instanceof Map ? [...(map as ReadonlyMap<unknown, unknown>).keys()] : Object.keys(map);
  return keys.filter((key): key is string => typeof key === 'string' && isPresent(map, key));
}

/** The keys of a value of kind map in the order of their bytes. */
export function sortedKeys(map: object): string[] {
  return sortTexts(keysOf(map));
}

/** Number of keys of a value of kind map. */
export function mapSize(map: object): number {
  return keysOf(map).length;
}

function hasKeys(map: object): boolean {
  if (map instanceof Map) {
    for (const key of map.keys()) if (typeof key === 'string' && isPresent(map, key)) return true;
    return false;
  }
  if (map instanceof NilMap) return false;
  for (const key in map) if (Object.hasOwn(map, key) && isPresent(map, key)) return true;
  return false;
}

/**
 * True for what `if` takes: not false, not zero, not empty, not nil.
 *
 * @see https://pkg.go.dev/text/template#IsTrue
 */
export function isTrue(value: unknown): boolean {
  switch (typeof value) {
    case 'boolean':
      return value;
    case 'string':
      return value.length > 0;
    case 'number':
      return value !== 0;
    case 'bigint':
      return value !== 0n;
    case 'object':
      if (value === null) return false;
      if (Array.isArray(value)) return value.length > 0;
      if (value instanceof GoInteger) return value.value !== 0n;
      if (value instanceof GoComplex) return value.real !== 0 || value.imaginary !== 0;
      return hasKeys(value);
    default:
      return false;
  }
}

/** What an element of a slice or a map is: JavaScript's holes, functions and symbols are nil. */
export function element(value: unknown): unknown {
  return kindOf(value) === 'invalid' ? null : value;
}

/** An argument of which a builtin sees only that it is inside an `interface {}`, which Go's `slice` does not look into. */
export const BOXED = Object.freeze({});
