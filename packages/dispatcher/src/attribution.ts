import { parseMessage } from '@thv/transport';
import type { Message } from '@thv/transport';
import { objectIn, stringIn } from './revision.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const COMMA = 0x2c;

/**
 * The request with one more member in `params._meta`. Everything else keeps its bytes. Params that are no object are
 * left as they are.
 */
export function withMeta(message: Message, key: string, value: string): Message {
  const { bytes } = message;
  const member = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
  const top = skipSpace(bytes, 0);
  const params = valueOf(bytes, top, 'params');
  if (params === undefined) return insert(message, top, `"params":{"_meta":{${member}}}`);
  if (bytes[params] !== OPEN_BRACE) return message;
  const meta = valueOf(bytes, params, '_meta');
  if (meta === undefined) return insert(message, params, `"_meta":{${member}}`);
  return bytes[meta] === OPEN_BRACE ? insert(message, meta, member) : message;
}

/** The value of a member of `params._meta`, where it is a string. */
export function metaValue(message: Message, key: string): string | undefined {
  const params = objectIn(message.json(), 'params');
  return params === undefined ? undefined : stringIn(objectIn(params, '_meta'), key);
}

/** Puts a member at the front of the object that opens at `open`. */
function insert(message: Message, open: number, member: string): Message {
  const { bytes } = message;
  const rest = skipSpace(bytes, open + 1);
  const separator = bytes[rest] === CLOSE_BRACE ? '' : ',';
  return parseMessage(
    Buffer.concat([bytes.subarray(0, open + 1), Buffer.from(member + separator), bytes.subarray(rest)]),
  );
}

/** Where the value of a member begins in an object that is known to be valid JSON. */
function valueOf(bytes: Buffer, open: number, name: string): number | undefined {
  let at = skipSpace(bytes, open + 1);
  while (at < bytes.length && bytes[at] !== CLOSE_BRACE) {
    const keyEnd = endOfString(bytes, at);
    const key: unknown = JSON.parse(bytes.toString('utf8', at, keyEnd));
    const value = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1);
    if (key === name) return value;
    at = skipSpace(bytes, endOfValue(bytes, value));
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return undefined;
}

function endOfValue(bytes: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
      if (depth === 0) return at;
      continue;
    }
    if (byte === OPEN_BRACE || byte === 0x5b) depth++;
    else if (depth === 0 && (byte === COMMA || byte === CLOSE_BRACE || byte === 0x5d)) return at;
    else if ((byte === CLOSE_BRACE || byte === 0x5d) && --depth === 0) return at + 1;
    at++;
  }
  return at;
}

function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] === 0x20 || bytes[at] === 0x09) at++;
  return at;
}
