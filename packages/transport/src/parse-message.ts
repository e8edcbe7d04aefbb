import { isUtf8 } from 'node:buffer';
import { TransportError } from './errors.js';
import { compactJson } from './json/compact.js';
import {
  DuplicateMember,
  ERROR,
  ID,
  INPUT_RESPONSES,
  JSONRPC,
  META,
  METHOD,
  NAME,
  PROGRESS_TOKEN,
  REQUEST_STATE,
  RESULT,
  URI,
  has,
  keyStart,
  scanMembers,
  spans,
  valueEnd,
  valueStart,
} from './json/members.js';
import { JsonSyntaxError, seen, skipValue, skipWhitespace } from './json/skip.js';
import { isIdText } from './request-id.js';
import type { JsonObject, Message, MessageKind } from './message.js';

/** Where members of `params` stand: offsets within `bytes`, 0 where there is none. */
export interface Outline {
  readonly metaStart: number;
  readonly metaEnd: number;
  readonly nameStart: number;
  readonly nameEnd: number;
  readonly uriStart: number;
  readonly uriEnd: number;
  readonly isRetry: boolean;
  /** `_meta` once it was read. */
  meta: JsonObject | undefined;
}

/** A message that remembers where its id and its progress token stand. */
export class ScannedMessage implements Message {
  readonly kind: MessageKind;
  readonly bytes: Buffer;
  readonly idText: string | undefined;
  readonly method: string | undefined;
  readonly progressTokenText: string | undefined;
  readonly isError: boolean;
  /** Offsets within `bytes`: first byte of a value and the one behind its last; 0 where there is none. */
  idStart = 0;
  idEnd = 0;
  tokenKeyStart = 0;
  tokenStart = 0;
  tokenEnd = 0;
  /** What {@link metaOf} and its like read; `undefined` where nobody has looked for it. */
  outline: Outline | undefined;
  #json: JsonObject | undefined;

  constructor(
    kind: MessageKind,
    bytes: Buffer,
    idText: string | undefined,
    method: string | undefined,
    progressTokenText: string | undefined,
    isError: boolean,
  ) {
    this.kind = kind;
    this.bytes = bytes;
    this.idText = idText;
    this.method = method;
    this.progressTokenText = progressTokenText;
    this.isError = isError;
  }

  json(): JsonObject {
    this.#json ??= JSON.parse(this.bytes.toString()) as JsonObject;
    return this.#json;
  }
}

/**
 * Reads one JSON-RPC message and proves that the bytes are one complete JSON object in UTF-8. Values are not
 * decoded; what passes through keeps every byte. A body with line breaks is compacted, since it must fit one line.
 * The message keeps the buffer that was given.
 *
 * @throws TransportError `ERR_TRANSPORT_JSON` when the bytes are no JSON (JSON-RPC code -32700), or
 * `ERR_TRANSPORT_MESSAGE` when they are no JSON-RPC 2.0 message (-32600); `details.idText` holds the id where one
 * was found.
 * @see https://www.jsonrpc.org/specification
 */
export function parseMessage(bytes: Buffer): Message {
  return scanMessage(bytes);
}

/** {@link parseMessage} with the offsets that a splice needs. */
export function scanMessage(bytes: Buffer): ScannedMessage {
  if (!isUtf8(bytes)) {
    throw new TransportError('ERR_TRANSPORT_JSON', 'The message is not UTF-8; send JSON encoded in UTF-8');
  }
  const last = bytes[bytes.length - 1];
  if (last === 0x0a || last === 0x0d) return scanMessage(withoutLineEnd(bytes));
  spans.fill(0);
  seen.lineBreak = false;
  try {
    const start = skipWhitespace(bytes, 0);
    if (bytes[start] !== 0x7b) refuseNonObject(bytes, start);
    const end = scanMembers(bytes, start, 0);
    if (end !== bytes.length && skipWhitespace(bytes, end) !== bytes.length) {
      throw new JsonSyntaxError('text follows the message', end);
    }
  } catch (error) {
    throw explain(error, bytes);
  }
  if (seen.lineBreak) return scanMessage(compactJson(bytes));
  return readEnvelope(bytes);
}

/** Many clients end a body with a line break; that alone is no reason to rewrite it. */
function withoutLineEnd(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] === 0x0a || bytes[end - 1] === 0x0d)) end -= 1;
  return bytes.subarray(0, end);
}

/** A message from a value of ours; numbers above 2^53 must not occur in it. */
export function createMessage(value: JsonObject): Message {
  return scanMessage(Buffer.from(JSON.stringify(value)));
}

/** A value that is JSON but no object is a shape fault, not a syntax fault. */
function refuseNonObject(bytes: Buffer, start: number): never {
  const end = skipWhitespace(bytes, skipValue(bytes, start, 0));
  if (end !== bytes.length) throw new JsonSyntaxError('text follows the value', end);
  const what = bytes[start] === 0x5b ? 'an array' : 'no object';
  throw new TransportError('ERR_TRANSPORT_MESSAGE', `The message is ${what}; send one JSON-RPC object`);
}

function explain(error: unknown, bytes: Buffer): unknown {
  if (error instanceof DuplicateMember) return shapeError(bytes, error.message);
  if (!(error instanceof JsonSyntaxError)) return error;
  return new TransportError('ERR_TRANSPORT_JSON', `The message is not JSON: ${error.message} at byte ${error.offset}`, {
    details: { offset: error.offset },
  });
}

function shapeError(bytes: Buffer, why: string): TransportError {
  const idText = has(ID) ? textAt(bytes, ID) : undefined;
  return new TransportError('ERR_TRANSPORT_MESSAGE', `The message ${why}`, {
    details: idText !== undefined && isIdText(idText) ? { idText } : {},
  });
}

function readEnvelope(bytes: Buffer): ScannedMessage {
  if (!isVersion2(bytes)) throw shapeError(bytes, 'needs the member "jsonrpc" with the value "2.0"');
  const idText = readId(bytes);
  const isError = has(ERROR);
  if (has(METHOD)) {
    const method = stringAt(bytes, METHOD);
    if (method === undefined) throw shapeError(bytes, 'has a "method" that is no string');
    if (isError || has(RESULT)) throw shapeError(bytes, 'has a "method" and also a "result" or "error"');
    const token = has(PROGRESS_TOKEN) ? textAt(bytes, PROGRESS_TOKEN) : undefined;
    const kind = idText === undefined ? 'notification' : 'request';
    const message = withOffsets(new ScannedMessage(kind, bytes, idText, method, token, false));
    // Only requests of 2026-07-28 are asked for it.
    if (has(META) && kind === 'request') message.outline = outlineHere();
    return message;
  }
  if (isError === has(RESULT)) {
    throw shapeError(bytes, 'needs a "method", or else exactly one of "result" and "error"');
  }
  // A response to something unreadable has no id; MCP leaves the member out instead of null.
  return withOffsets(new ScannedMessage('response', bytes, idText, undefined, undefined, isError));
}

function withOffsets(message: ScannedMessage): ScannedMessage {
  message.idStart = valueStart(ID);
  message.idEnd = valueEnd(ID);
  if (message.progressTokenText !== undefined) {
    message.tokenKeyStart = keyStart(PROGRESS_TOKEN);
    message.tokenStart = valueStart(PROGRESS_TOKEN);
    message.tokenEnd = valueEnd(PROGRESS_TOKEN);
  }
  return message;
}

const outlineHere = (): Outline => ({
  metaStart: valueStart(META),
  metaEnd: valueEnd(META),
  nameStart: valueStart(NAME),
  nameEnd: valueEnd(NAME),
  uriStart: valueStart(URI),
  uriEnd: valueEnd(URI),
  isRetry: has(INPUT_RESPONSES) || has(REQUEST_STATE),
  meta: undefined,
});

function isVersion2(bytes: Buffer): boolean {
  if (!has(JSONRPC)) return false;
  const start = valueStart(JSONRPC);
  if (valueEnd(JSONRPC) - start === 5) {
    return bytes[start] === 0x22 && bytes[start + 1] === 0x32 && bytes[start + 2] === 0x2e && bytes[start + 3] === 0x30;
  }
  return stringAt(bytes, JSONRPC) === '2.0';
}

function readId(bytes: Buffer): string | undefined {
  if (!has(ID)) return undefined;
  const idText = textAt(bytes, ID);
  if (isIdText(idText)) return idText;
  throw shapeError(
    bytes,
    idText === 'null'
      ? 'has the "id" null; leave the member out of a notification, and give a request a string or an integer'
      : 'has an "id" that is neither a string nor an integer',
  );
}

const textAt = (bytes: Buffer, member: number): string => bytes.toString('utf8', valueStart(member), valueEnd(member));

function stringAt(bytes: Buffer, member: number): string | undefined {
  const start = valueStart(member);
  if (bytes[start] !== 0x22) return undefined;
  const plain = bytes.toString('utf8', start + 1, valueEnd(member) - 1);
  return plain.includes('\\') ? (JSON.parse(`"${plain}"`) as string) : plain;
}
