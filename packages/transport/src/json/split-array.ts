import { skipValue, skipWhitespace } from './skip.js';

const OPEN_BRACKET = 0x5b;

/**
 * The elements of a JSON array as slices of its bytes; `undefined` when the bytes are no array. Elements are checked
 * as JSON, not as messages.
 */
export function splitArray(bytes: Buffer): readonly Buffer[] | undefined {
  const elements: Buffer[] = [];
  try {
    let at = skipWhitespace(bytes, 0);
    if (bytes[at] !== OPEN_BRACKET) return undefined;
    at = skipWhitespace(bytes, at + 1);
    if (bytes[at] === 0x5d) return skipWhitespace(bytes, at + 1) === bytes.length ? [] : undefined;
    for (;;) {
      const end = skipValue(bytes, at, 1);
      elements.push(bytes.subarray(at, end));
      at = skipWhitespace(bytes, end);
      if (bytes[at] === 0x5d) return skipWhitespace(bytes, at + 1) === bytes.length ? elements : undefined;
      if (bytes[at] !== 0x2c) return undefined;
      at = skipWhitespace(bytes, at + 1);
    }
  } catch {
    return undefined;
  }
}
