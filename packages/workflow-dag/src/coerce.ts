import { isObject, own, type JsonObject, type JsonValue } from './json.js';
import { parseBoolean, parseFloat64, parseInteger, type Scalar } from './go-scalar.js';
import type { OutputType } from './definition.js';

/** How text becomes typed values. */
export interface CoerceOptions {
  /**
   * Convert only what Go's parsers convert: `1e+06` is no integer then, and JSON text never becomes an array or object.
   *
   * @defaultValue false
   */
  readonly strictGo?: boolean;
}

const MAX_DEPTH = 100;

/**
 * Converts the text in expanded arguments to the types of a tool's input schema. Text that does not convert, and
 * everything that is not text, stays as it is.
 */
export function coerceArguments(
  values: JsonObject,
  schema: JsonObject | undefined,
  options: CoerceOptions = {},
): JsonObject {
  if (schema === undefined) return values;
  const coerced = coerceValue(values, schema, options, 0);
  return isObject(coerced) ? coerced : values;
}

function coerceValue(value: JsonValue, schema: JsonObject, options: CoerceOptions, depth: number): JsonValue {
  if (depth > MAX_DEPTH) return value;
  if (typeof value === 'string') return coerceString(value, schema, options, depth);
  if (Array.isArray(value)) {
    const items = own(schema, 'items');
    return isObject(items) ? value.map((item: JsonValue) => coerceValue(item, items, options, depth + 1)) : value;
  }
  const properties = own(schema, 'properties');
  if (!isObject(value) || !isObject(properties)) return value;
  return mapObject(value, (item, key) => {
    const property = own(properties, key);
    return isObject(property) ? coerceValue(item, property, options, depth + 1) : item;
  });
}

function coerceString(text: string, schema: JsonObject, options: CoerceOptions, depth: number): JsonValue {
  const type = own(schema, 'type');
  switch (type) {
    case 'integer': {
      const read = readInteger(text, options);
      return read.ok ? read.value : text;
    }
    case 'number': {
      const read = parseFloat64(text);
      return read.ok && Number.isFinite(read.value) ? read.value : text;
    }
    case 'boolean': {
      const read = parseBoolean(text);
      return read.ok ? read.value : text;
    }
    case 'array':
    case 'object': {
      const read = options.strictGo === true ? undefined : readJson(text, type);
      return read?.ok === true ? coerceValue(read.value, schema, options, depth + 1) : text;
    }
    default:
      return text;
  }
}

/**
 * Converts rendered text to the type of an output property.
 *
 * @returns The value, or what is wrong with the text, in the words of the reference.
 */
export function coerceText(text: string, type: OutputType, options: CoerceOptions = {}): Scalar<JsonValue> {
  switch (type) {
    case 'string':
      return { ok: true, value: text };
    case 'integer':
      return explained(readInteger(text, options), text, type);
    case 'number': {
      const read = parseFloat64(text);
      if (read.ok && !Number.isFinite(read.value)) return refused(text, type, 'JSON has no such number');
      return explained(read, text, type);
    }
    case 'boolean':
      return explained(parseBoolean(text), text, type);
    default:
      return readJson(text, type);
  }
}

/**
 * Converts the default of an output property to its type.
 *
 * @param print - How the template engine prints a value (`%v`), for defaults of type string.
 */
export function coerceDefault(
  value: JsonValue,
  type: OutputType,
  print: (value: JsonValue) => string,
): Scalar<JsonValue> {
  if (type === 'string') return { ok: true, value: typeof value === 'string' ? value : print(value) };
  if (typeof value === 'string') {
    if (type === 'boolean') return explained(parseBoolean(value), value, type);
    return coerceText(value, type);
  }
  if (type === 'boolean') {
    if (typeof value === 'boolean') return { ok: true, value };
    if (typeof value === 'number' && Number.isInteger(value)) return { ok: true, value: value === 1 };
  } else if (type === 'integer') {
    if (typeof value === 'number') return { ok: true, value: Math.trunc(value) };
  } else if (type === 'number') {
    if (typeof value === 'number') return { ok: true, value };
  } else if (type === 'array' ? Array.isArray(value) : isObject(value)) {
    return { ok: true, value };
  }
  return { ok: false, message: `has default value of type ${typeName(value)}, expected ${type}-compatible type` };
}

/** The name of a value's type in messages. */
export function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function readInteger(text: string, { strictGo = false }: CoerceOptions): Scalar<number> {
  const read = parseInteger(text);
  if (read.ok) {
    const value = Number(read.value);
    // A JSON number beyond 2^53 would arrive as another integer: the text is closer to the truth.
    return Number.isSafeInteger(value)
      ? { ok: true, value }
      : { ok: false, message: 'beyond 2^53, not exact as a number' };
  }
  if (strictGo) return read;
  const float = parseFloat64(text);
  return float.ok && Number.isSafeInteger(float.value) ? { ok: true, value: float.value + 0 } : read;
}

function readJson(text: string, type: 'array' | 'object'): Scalar<JsonValue> {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    return { ok: false, message: `failed to deserialize JSON ${type}: ${(error as Error).message}` };
  }
  if (type === 'array' ? Array.isArray(value) : isObject(value)) return { ok: true, value };
  return { ok: false, message: `failed to deserialize JSON ${type}: got ${typeName(value)}` };
}

function explained<T extends JsonValue>(read: Scalar<T>, text: string, type: OutputType): Scalar<JsonValue> {
  return read.ok ? read : refused(text, type, read.message);
}

function refused(text: string, type: OutputType, reason: string): Scalar<JsonValue> {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return { ok: false, message: `cannot coerce ${JSON.stringify(shown)} to ${type}: ${reason}` };
}

/** Copies an object with other values; `__proto__` stays an ordinary key. */
export function mapObject(object: JsonObject, change: (value: JsonValue, key: string) => JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value, key)]));
}
