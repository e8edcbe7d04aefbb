import { skipString, skipWhitespace } from './skip.js';

/** The same JSON without whitespace between tokens. The bytes must be valid JSON. */
export function compactJson(bytes: Buffer): Buffer {
  const output = Buffer.allocUnsafe(bytes.length);
  let written = 0;
  for (let at = skipWhitespace(bytes, 0); at < bytes.length; at = skipWhitespace(bytes, at)) {
    const end = bytes[at] === 0x22 ? skipString(bytes, at) : at + 1;
    written += bytes.copy(output, written, at, end);
    at = end;
  }
  return output.subarray(0, written);
}
