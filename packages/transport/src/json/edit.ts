import type { Message } from '../message.js';
import { scanMessage } from '../parse-message.js';
import { skipString, skipValue, skipWhitespace } from './skip.js';

/** What changes in one object of a message. */
export interface MemberEdits {
  /** Keys from the top to the object; what is missing on the way is made where something is to be set. */
  readonly path: readonly string[];
  /** JSON text by key; a member of that name is replaced. */
  readonly set?: Readonly<Record<string, string>>;
  /** Members to leave out. */
  readonly remove?: (key: string) => boolean;
}

interface Found {
  readonly key: string;
  readonly start: number;
  readonly value: number;
  readonly end: number;
}

const COMMA = Buffer.from(',');

/**
 * The message with other members in some of its objects, everything else byte for byte. An object that is missing is
 * made where something is to be set; a value on the path that is no object leaves the message as it is.
 *
 * @throws TransportError as {@link parseMessage} does, when the edits make something else than a message
 */
export function editMembers(message: Message, ...edits: readonly MemberEdits[]): Message {
  let { bytes } = message;
  for (const edit of edits) bytes = editObject(bytes, edit);
  return bytes === message.bytes ? message : scanMessage(bytes);
}

/** {@link editMembers} for bytes that are known to be one JSON object. */
export function editObject(bytes: Buffer, { path, set = {}, remove }: MemberEdits): Buffer {
  let open = skipWhitespace(bytes, 0);
  for (const [depth, key] of path.entries()) {
    const value = valueOf(bytes, open, key);
    if (value === 0) return insertMissing(bytes, open, path.slice(depth), set);
    if (bytes[value] !== 0x7b) return bytes;
    open = value;
  }
  const members = membersOf(bytes, open);
  const kept = members.filter(({ key }) => !Object.hasOwn(set, key) && remove?.(key) !== true);
  const added = Object.entries(set).map(([key, text]) => `${JSON.stringify(key)}:${text}`);
  if (kept.length === members.length) return added.length === 0 ? bytes : insert(bytes, open, added.join(','));
  const close = skipWhitespace(bytes, members.at(-1)?.end ?? open + 1);
  const parts = [
    ...added.map((text) => Buffer.from(text)),
    ...kept.map(({ start, end }) => bytes.subarray(start, end)),
  ];
  const inner = parts.flatMap((part, index) => (index === 0 ? [part] : [COMMA, part]));
  return Buffer.concat([bytes.subarray(0, open + 1), ...inner, bytes.subarray(close)]);
}

function insertMissing(
  bytes: Buffer,
  open: number,
  missing: readonly string[],
  set: Readonly<Record<string, string>>,
): Buffer {
  if (Object.keys(set).length === 0) return bytes;
  const inner = `{${Object.entries(set)
    .map(([key, text]) => `${JSON.stringify(key)}:${text}`)
    .join(',')}}`;
  const [first = '', ...rest] = missing;
  const value = rest.reduceRight((text, key) => `{${JSON.stringify(key)}:${text}}`, inner);
  return insert(bytes, open, `${JSON.stringify(first)}:${value}`);
}

/** Puts members at the front of the object that opens at `open`. */
function insert(bytes: Buffer, open: number, members: string): Buffer {
  const rest = skipWhitespace(bytes, open + 1);
  const separator = bytes[rest] === 0x7d ? '' : ',';
  return Buffer.concat([bytes.subarray(0, open + 1), Buffer.from(members + separator), bytes.subarray(rest)]);
}

/** Where the value of a member begins; 0 where there is none. What comes behind it is not read. */
function valueOf(bytes: Buffer, open: number, key: string): number {
  let at = skipWhitespace(bytes, open + 1);
  while (bytes[at] !== 0x7d) {
    const keyEnd = skipString(bytes, at);
    const value = skipWhitespace(bytes, skipWhitespace(bytes, keyEnd) + 1);
    if (keyAt(bytes, at, keyEnd) === key) return value;
    at = skipWhitespace(bytes, skipValue(bytes, value, 0));
    if (bytes[at] === 0x2c) at = skipWhitespace(bytes, at + 1);
  }
  return 0;
}

function keyAt(bytes: Buffer, start: number, end: number): string {
  const plain = bytes.toString('utf8', start + 1, end - 1);
  return plain.includes('\\') ? (JSON.parse(`"${plain}"`) as string) : plain;
}

function membersOf(bytes: Buffer, open: number): Found[] {
  const found: Found[] = [];
  let at = skipWhitespace(bytes, open + 1);
  while (bytes[at] !== 0x7d) {
    const start = at;
    const keyEnd = skipString(bytes, at);
    const key = keyAt(bytes, start, keyEnd);
    const value = skipWhitespace(bytes, skipWhitespace(bytes, keyEnd) + 1);
    const end = skipValue(bytes, value, 0);
    found.push({ key, start, value, end });
    at = skipWhitespace(bytes, end);
    if (bytes[at] === 0x2c) at = skipWhitespace(bytes, at + 1);
  }
  return found;
}
