import { MrtrError } from './errors.js';
import type { JsonObject } from './types.js';

/** Whether a value is an object and no list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An own member; a key of a peer never reaches the prototype. */
export const own = (object: object, key: string): unknown =>
  Object.hasOwn(object, key) ? (object as Readonly<Record<string, unknown>>)[key] : undefined;

/** As deep as messages may be; deeper values would overflow the stack. */
const MAX_DEPTH = 512;

/**
 * JSON with the keys of every object sorted, so that equal values have equal texts.
 *
 * @throws MrtrError `ERR_MRTR_ARGUMENT` for a value that is nested deeper than 512 levels
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) {
    throw new MrtrError('ERR_MRTR_ARGUMENT', `Expected a value of at most ${MAX_DEPTH} levels, got a deeper one`);
  }
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value)
      text += `${text === '' ? '' : ','}${canonicalJson(item === undefined ? null : item, depth + 1)}`;
    return `[${text}]`;
  }
  for (const key of Object.keys(value).sort()) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (member !== undefined)
      text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(member, depth + 1)}`;
  }
  return `{${text}}`;
}
