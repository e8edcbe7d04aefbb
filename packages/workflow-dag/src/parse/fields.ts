import { DURATION_PATTERN, parseDuration, toMilliseconds } from '../duration.js';
import { WorkflowError } from '../errors.js';
import type { RuleId } from '../issue.js';
import { isObject, type JsonObject, type JsonValue } from '../json.js';
import { typeName } from '../coerce.js';
import type { Cursor } from './cursor.js';
import { nearest } from './nearest.js';

/** Reads text; reports anything else. Absent: `undefined`. */
export function text(field: Cursor, code: RuleId = 'workflow/type'): string | undefined {
  if (!field.present) return undefined;
  if (typeof field.value === 'string') return field.value;
  report(field, code, 'text', `write it in quotes: ${JSON.stringify(shortValue(field.value))}`);
  return undefined;
}

/** Reads an object; reports anything else. */
export function object(field: Cursor, code: RuleId = 'workflow/type'): JsonObject | undefined {
  if (!field.present) return undefined;
  if (isObject(field.value)) return field.value;
  report(field, code, 'an object', 'write a mapping of keys to values');
  return undefined;
}

/** Reads true or false; reports anything else. */
export function bool(field: Cursor, code: RuleId = 'workflow/type'): boolean | undefined {
  if (!field.present) return undefined;
  if (typeof field.value === 'boolean') return field.value;
  report(field, code, 'true or false', 'write it without quotes');
  return undefined;
}

/** Reads an integer; reports anything else. */
export function integer(field: Cursor, code: RuleId = 'workflow/type'): number | undefined {
  if (!field.present) return undefined;
  if (typeof field.value === 'number' && Number.isSafeInteger(field.value)) return field.value;
  report(field, code, 'an integer', 'write a whole number without quotes');
  return undefined;
}

/** Reads a list of texts; reports anything else. */
export function texts(field: Cursor, code: RuleId = 'workflow/type'): Cursor[] {
  if (!field.present) return [];
  if (!Array.isArray(field.value)) {
    const hint = typeof field.value === 'string' ? `write [${field.value}]` : 'write a list: [a, b]';
    report(field, code, 'a list of names', hint);
    return [];
  }
  return field.items().filter((item) => {
    if (typeof item.value === 'string') return true;
    report(item, code, 'text', 'write a name');
    return false;
  });
}

/** Reads one of a few words; reports anything else. */
export function choice<T extends string>(
  field: Cursor,
  words: readonly T[],
  code: RuleId,
  hint?: string,
): T | undefined {
  if (!field.present) return undefined;
  const found = words.find((word) => word === field.value);
  if (found !== undefined) return found;
  const near = typeof field.value === 'string' ? nearest(field.value, words) : undefined;
  const got = typeof field.value === 'string' ? JSON.stringify(shortValue(field.value)) : typeName(field.value);
  const remedy = hint ?? (near === undefined ? 'write one of these words' : `did you mean "${near}"?`);
  field.report(code, `${field.path} must be one of: ${words.join(', ')} (got ${got})`, { hint: remedy });
  return undefined;
}

/** Reads a duration as milliseconds; zero and absent are `undefined`. */
export function duration(field: Cursor): number | undefined {
  const { path, value } = field;
  if (!field.present) return undefined;
  const hint = 'write a number with a unit: 30s, 5m, 1h30m';
  if (typeof value !== 'string' && typeof value !== 'number') {
    report(field, 'workflow/duration', 'a duration', hint);
    return undefined;
  }
  try {
    const nanoseconds = parseDuration(String(value));
    if (nanoseconds < 0n) {
      field.report('workflow/duration', `${path} cannot be negative`, { hint: 'leave the sign out' });
      return undefined;
    }
    if (!DURATION_PATTERN.test(String(value))) {
      const shown = JSON.stringify(value);
      field.report('workflow/duration', `${path}: invalid duration: ${shown} is not of the form 30s, 5m or 1h30m`, {
        hint,
      });
      return undefined;
    }
    return nanoseconds === 0n ? undefined : toMilliseconds(nanoseconds);
  } catch (error) {
    if (!WorkflowError.is(error)) throw error;
    field.report('workflow/duration', `${path}: invalid duration: ${error.message}`, { hint });
    return undefined;
  }
}

/** Reports a value of another type than the expected one. */
export function report(field: Cursor, code: RuleId, expected: string, hint: string): void {
  const { path, value } = field;
  field.report(code, `${path} must be ${expected} (got ${typeName(value)} ${JSON.stringify(shortValue(value))})`, {
    hint,
  });
}

/** A value for a message: at most a line. */
export function shortValue(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'string') return value.length > 60 ? `${value.slice(0, 60)}…` : value;
  if (Array.isArray(value)) return value.length === 0 ? [] : '[…]';
  return isObject(value) ? '{…}' : value;
}
