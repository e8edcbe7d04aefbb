import { compareUtf8 } from '../text.js';

const escapes: Readonly<Record<string, string>> = {
  '<': String.raw`\u003c`,
  '>': String.raw`\u003e`,
  '&': String.raw`\u0026`,
  '\u{2028}': String.raw`\u2028`,
  '\u{2029}': String.raw`\u2029`,
};

/**
 * Compact JSON with the escapes of Go's `encoding/json`, so that digests over it agree with those of tools written in
 * Go. Keys stand in the order of the object.
 */
export function toJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[<>&\u{2028}\u{2029}]/gu, (unit) => escapes[unit] ?? unit);
}

/** A map with its keys in byte order, as Go writes maps. */
export function sorted(entries: Iterable<readonly [string, string]>): Readonly<Record<string, string>> {
  return Object.fromEntries([...entries].sort(([left], [right]) => compareUtf8(left, right)));
}
