import { JsonSyntaxError, seen, skipString, skipValue, skipWhitespace } from './skip.js';

/** The members that a proxy reads or replaces, as indexes into {@link spans}. */
export const ID = 0;
export const METHOD = 1;
export const JSONRPC = 2;
export const PARAMS = 3;
export const RESULT = 4;
export const ERROR = 5;
export const META = 6;
export const PROGRESS_TOKEN = 7;
export const NAME = 8;
export const URI = 9;
export const INPUT_RESPONSES = 10;
export const REQUEST_STATE = 11;
const OTHER = 12;

/** Names for messages, by index. */
export const MEMBER_NAMES = [
  'id',
  'method',
  'jsonrpc',
  'params',
  'result',
  'error',
  'params._meta',
  'params._meta.progressToken',
  'params.name',
  'params.uri',
  'params.inputResponses',
  'params.requestState',
] as const;

/**
 * For each member the offset of its key, of its value, and behind its value; a value offset of 0 means absent, since
 * a brace comes before. Module state: the scanner is synchronous, and an object for each token would cost more than
 * the token.
 */
export const spans = new Int32Array(3 * OTHER);
export const valueStart = (member: number): number => spans[3 * member + 1] as number;
export const valueEnd = (member: number): number => spans[3 * member + 2] as number;
export const keyStart = (member: number): number => spans[3 * member] as number;
export const has = (member: number): boolean => valueStart(member) !== 0;

/** A member that stands twice: two readers could take different ones. */
export class DuplicateMember extends Error {
  readonly member: number;

  constructor(member: number) {
    super(`has two members ${JSON.stringify(MEMBER_NAMES[member])}; two readers could take different ones`);
    this.name = 'DuplicateMember';
    this.member = member;
  }
}

/**
 * Walks the object whose brace is at `start` and answers the offset behind it, noting the members above in
 * {@link spans}. `level` is 0 for the envelope, 1 for `params`, 2 for `_meta`.
 */
export function scanMembers(bytes: Buffer, start: number, level: number): number {
  let at = skipWhitespace(bytes, start + 1);
  if (bytes[at] === 0x7d) return at + 1;
  for (;;) {
    if (bytes[at] !== 0x22) throw new JsonSyntaxError('expected a key in quotes', at);
    const key = at;
    seen.escape = false;
    at = skipString(bytes, at);
    const member = seen.escape ? escapedMember(bytes, key, at, level) : memberAt(bytes, key, at, level);
    at = skipWhitespace(bytes, at);
    if (bytes[at] !== 0x3a) throw new JsonSyntaxError('expected ":" behind a key', at);
    at = skipWhitespace(bytes, at + 1);
    if (member === OTHER) {
      at = skipValue(bytes, at, level + 1);
    } else {
      if (has(member)) throw new DuplicateMember(member);
      const value = at;
      const isNested = (member === PARAMS || member === META) && bytes[at] === 0x7b;
      at = isNested ? scanMembers(bytes, at, level + 1) : skipValue(bytes, at, level + 1);
      spans[3 * member] = key;
      spans[3 * member + 1] = value;
      spans[3 * member + 2] = at;
    }
    at = skipWhitespace(bytes, at);
    const byte = bytes[at];
    if (byte === 0x7d) return at + 1;
    if (byte !== 0x2c) throw new JsonSyntaxError('expected "," or the end of the object', at);
    at = skipWhitespace(bytes, at + 1);
  }
}

/** The member that a key without escapes names. The length tells most keys apart, the first letter the rest. */
function memberAt(bytes: Buffer, start: number, end: number, level: number): number {
  const length = end - start - 2;
  if (level === 1) return paramAt(bytes, start, length);
  if (level === 2) return length === 13 && isName(bytes, start, 'progressToken') ? PROGRESS_TOKEN : OTHER;
  switch (length) {
    case 2:
      return isName(bytes, start, 'id') ? ID : OTHER;
    case 5:
      return isName(bytes, start, 'error') ? ERROR : OTHER;
    case 6:
      if (isName(bytes, start, 'method')) return METHOD;
      if (isName(bytes, start, 'params')) return PARAMS;
      return isName(bytes, start, 'result') ? RESULT : OTHER;
    case 7:
      return isName(bytes, start, 'jsonrpc') ? JSONRPC : OTHER;
    default:
      return OTHER;
  }
}

function paramAt(bytes: Buffer, start: number, length: number): number {
  switch (length) {
    case 3:
      return isName(bytes, start, 'uri') ? URI : OTHER;
    case 4:
      return isName(bytes, start, 'name') ? NAME : OTHER;
    case 5:
      return isName(bytes, start, '_meta') ? META : OTHER;
    case 12:
      return isName(bytes, start, 'requestState') ? REQUEST_STATE : OTHER;
    case 14:
      return isName(bytes, start, 'inputResponses') ? INPUT_RESPONSES : OTHER;
    default:
      return OTHER;
  }
}

function isName(bytes: Buffer, start: number, name: string): boolean {
  for (let index = 0; index < name.length; index += 1) {
    if (bytes[start + 1 + index] !== name.charCodeAt(index)) return false;
  }
  return true;
}

/** `"\u0069d"` is the key `id` to every parser behind us. */
function escapedMember(bytes: Buffer, start: number, end: number, level: number): number {
  const name = JSON.parse(bytes.toString('utf8', start, end)) as string;
  const plain = Buffer.from(`"${name}"`);
  return memberAt(plain, 0, plain.length, level);
}
