import type { JsonObject } from './types.js';

/** Whether a value is an object and no list. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An own member; a key of a peer never reaches the prototype. */
export const own = (object: object, key: string): unknown =>
  Object.hasOwn(object, key) ? (object as Readonly<Record<string, unknown>>)[key] : undefined;

/** JSON with the keys of every object sorted, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value))
    return `[${value.map((item) => canonicalJson(item === undefined ? null : item)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.keys(value)
    .toSorted()
    .flatMap((key) => {
      const member = (value as Readonly<Record<string, unknown>>)[key];
      return member === undefined ? [] : [`${JSON.stringify(key)}:${canonicalJson(member)}`];
    });
  return `{${members.join(',')}}`;
}
