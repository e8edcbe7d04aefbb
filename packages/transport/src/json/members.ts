import { JsonSyntaxError, seen, skipString, skipWhitespace } from './skip.js';

/** Called for each member of an object; answers the offset behind its value. `escaped` tells of escapes in the key. */
export type MemberVisitor = (keyStart: number, keyEnd: number, valueStart: number, escaped: boolean) => number;

/**
 * Walks the members of the object whose brace is at `start`, and answers the offset behind it. The visitor gets the
 * offsets of the key (quotes included) and of the value, and skips the value.
 */
export function walkMembers(bytes: Buffer, start: number, visit: MemberVisitor): number {
  if (bytes[start] !== 0x7b) throw new JsonSyntaxError('expected an object', start);
  let at = skipWhitespace(bytes, start + 1);
  if (bytes[at] === 0x7d) return at + 1;
  for (;;) {
    if (bytes[at] !== 0x22) throw new JsonSyntaxError('expected a key in quotes', at);
    const keyStart = at;
    seen.escape = false;
    const keyEnd = skipString(bytes, at);
    const escaped = seen.escape;
    at = skipWhitespace(bytes, keyEnd);
    if (bytes[at] !== 0x3a) throw new JsonSyntaxError('expected ":" behind a key', at);
    at = skipWhitespace(bytes, visit(keyStart, keyEnd, skipWhitespace(bytes, at + 1), escaped));
    if (bytes[at] === 0x7d) return at + 1;
    if (bytes[at] !== 0x2c) throw new JsonSyntaxError('expected "," or the end of the object', at);
    at = skipWhitespace(bytes, at + 1);
  }
}

/** True when the key is spelled exactly as `name`, which must be ASCII. */
export function isKey(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (end - start - 2 !== name.length) return false;
  for (let index = 0; index < name.length; index += 1) {
    if (bytes[start + 1 + index] !== name.charCodeAt(index)) return false;
  }
  return true;
}

/** The name of a key with its escapes decoded: `"\u0069d"` is the key `id` to every parser behind us. */
export const decodeKey = (bytes: Buffer, start: number, end: number): string =>
  JSON.parse(bytes.toString('utf8', start, end)) as string;
