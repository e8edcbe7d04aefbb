import { isUtf8 } from 'node:buffer';
import { TransportError } from './errors.js';
import { compactJson } from './json/compact.js';
import { decodeKey, isKey, walkMembers } from './json/members.js';
import { JsonSyntaxError, seen, skipValue, skipWhitespace } from './json/skip.js';
import { idKey } from './request-id.js';
import type { JsonObject, Message, MessageKind, Splice } from './message.js';

/** Offsets of a token: its first byte and the one behind its last. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Spans of what the proxy reads or replaces; a class, so that all have one shape. */
class Layout {
  id: Span | undefined = undefined;
  method: Span | undefined = undefined;
  jsonrpc: Span | undefined = undefined;
  params: Span | undefined = undefined;
  result: Span | undefined = undefined;
  error: Span | undefined = undefined;
  meta: Span | undefined = undefined;
  progressToken: Span | undefined = undefined;
  /** The key of the progress token, so that the whole member can go. */
  progressKeyStart = 0;
}

class ScannedMessage implements Message {
  readonly kind: MessageKind;
  readonly bytes: Buffer;
  readonly idText: string | undefined;
  readonly method: string | undefined;
  readonly progressTokenText: string | undefined;
  readonly isError: boolean;
  /** `undefined` behind a splice; found again when somebody splices the result once more. */
  readonly layout: Layout | undefined;
  #json: JsonObject | undefined;

  constructor(
    fields: Pick<Message, 'kind' | 'bytes' | 'idText' | 'method' | 'progressTokenText' | 'isError'>,
    layout: Layout | undefined,
  ) {
    this.kind = fields.kind;
    this.bytes = fields.bytes;
    this.idText = fields.idText;
    this.method = fields.method;
    this.progressTokenText = fields.progressTokenText;
    this.isError = fields.isError;
    this.layout = layout;
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
  if (!isUtf8(bytes))
    throw new TransportError('ERR_TRANSPORT_JSON', 'The message is not UTF-8; send JSON encoded in UTF-8');
  const layout = new Layout();
  seen.lineBreak = false;
  try {
    const start = skipWhitespace(bytes, 0);
    if (bytes[start] !== 0x7b) refuseNonObject(bytes, start);
    const end = skipWhitespace(bytes, walkEnvelope(bytes, start, layout));
    if (end !== bytes.length) throw new JsonSyntaxError('text follows the message', end);
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      throw new TransportError(
        'ERR_TRANSPORT_JSON',
        `The message is not JSON: ${error.message} at byte ${error.offset}`,
        {
          details: { offset: error.offset },
        },
      );
    }
    throw error;
  }
  if (seen.lineBreak) return parseMessage(compactJson(bytes));
  return new ScannedMessage(readEnvelope(bytes, layout), layout);
}

/** A message from a value of ours; numbers above 2^53 must not occur in it. */
export function createMessage(value: JsonObject): Message {
  return parseMessage(Buffer.from(JSON.stringify(value)));
}

/** A value that is JSON but no object is a shape fault, not a syntax fault. */
function refuseNonObject(bytes: Buffer, start: number): never {
  const end = skipWhitespace(bytes, skipValue(bytes, start, 0));
  if (end !== bytes.length) throw new JsonSyntaxError('text follows the value', end);
  const what = bytes[start] === 0x5b ? 'an array' : 'no object';
  throw new TransportError('ERR_TRANSPORT_MESSAGE', `The message is ${what}; send one JSON-RPC object`);
}

function walkEnvelope(bytes: Buffer, start: number, layout: Layout): number {
  return walkMembers(bytes, start, (keyStart, keyEnd, valueStart, escaped) => {
    const name = envelopeName(bytes, keyStart, keyEnd, escaped);
    if (name === undefined) return skipValue(bytes, valueStart, 1);
    if (layout[name] !== undefined) throw duplicate(name, bytes, layout);
    const end =
      name === 'params' && bytes[valueStart] === 0x7b
        ? walkParams(bytes, valueStart, layout)
        : skipValue(bytes, valueStart, 1);
    layout[name] = { start: valueStart, end };
    return end;
  });
}

function walkParams(bytes: Buffer, start: number, layout: Layout): number {
  return walkMembers(bytes, start, (keyStart, keyEnd, valueStart, escaped) => {
    if (!isNamed(bytes, keyStart, keyEnd, escaped, '_meta')) return skipValue(bytes, valueStart, 2);
    if (layout.meta !== undefined) throw duplicate('params._meta', bytes, layout);
    const end = bytes[valueStart] === 0x7b ? walkMeta(bytes, valueStart, layout) : skipValue(bytes, valueStart, 2);
    layout.meta = { start: valueStart, end };
    return end;
  });
}

function walkMeta(bytes: Buffer, start: number, layout: Layout): number {
  return walkMembers(bytes, start, (keyStart, keyEnd, valueStart, escaped) => {
    const end = skipValue(bytes, valueStart, 3);
    if (isNamed(bytes, keyStart, keyEnd, escaped, 'progressToken')) {
      if (layout.progressToken !== undefined) throw duplicate('params._meta.progressToken', bytes, layout);
      layout.progressToken = { start: valueStart, end };
      layout.progressKeyStart = keyStart;
    }
    return end;
  });
}

const isNamed = (bytes: Buffer, keyStart: number, keyEnd: number, escaped: boolean, name: string): boolean =>
  escaped ? decodeKey(bytes, keyStart, keyEnd) === name : isKey(bytes, keyStart, keyEnd, name);

const ENVELOPE = ['id', 'method', 'params', 'jsonrpc', 'result', 'error'] as const;

function envelopeName(
  bytes: Buffer,
  keyStart: number,
  keyEnd: number,
  escaped: boolean,
): (typeof ENVELOPE)[number] | undefined {
  for (const name of ENVELOPE) if (isNamed(bytes, keyStart, keyEnd, escaped, name)) return name;
  return undefined;
}

function duplicate(name: string, bytes: Buffer, layout: Layout): TransportError {
  return shapeError(bytes, layout, `has two members ${JSON.stringify(name)}; two readers could take different ones`);
}

function shapeError(bytes: Buffer, layout: Layout, why: string): TransportError {
  const idText = layout.id && bytes.toString('utf8', layout.id.start, layout.id.end);
  return new TransportError('ERR_TRANSPORT_MESSAGE', `The message ${why}`, {
    details: idText !== undefined && isId(idText) ? { idText } : {},
  });
}

function isId(idText: string): boolean {
  try {
    return idKey(idText) !== '';
  } catch {
    return false;
  }
}

const VERSION = Buffer.from('"2.0"');

function readEnvelope(
  bytes: Buffer,
  layout: Layout,
): Pick<Message, 'kind' | 'bytes' | 'idText' | 'method' | 'progressTokenText' | 'isError'> {
  const refuse = (why: string) => shapeError(bytes, layout, why);
  const { id, method, jsonrpc, progressToken } = layout;
  if (jsonrpc === undefined || bytes.compare(VERSION, 0, VERSION.length, jsonrpc.start, jsonrpc.end) !== 0) {
    if (jsonrpc === undefined || textOf(bytes, jsonrpc) !== '2.0')
      throw refuse('needs the member "jsonrpc" with the value "2.0"');
  }
  const idText =
    id && bytes.toString('latin1', id.start, id.end) === 'null'
      ? refuseNullId(refuse)
      : id && bytes.toString('utf8', id.start, id.end);
  if (idText !== undefined && !isId(idText)) throw refuse('has an "id" that is neither a string nor an integer');
  const progressTokenText = progressToken && bytes.toString('utf8', progressToken.start, progressToken.end);
  if (method !== undefined) {
    const name = textOf(bytes, method);
    if (name === undefined) throw refuse('has a "method" that is no string');
    if (layout.result !== undefined || layout.error !== undefined)
      throw refuse('has a "method" and also a "result" or "error"');
    return {
      kind: idText === undefined ? 'notification' : 'request',
      bytes,
      idText,
      method: name,
      progressTokenText,
      isError: false,
    };
  }
  if ((layout.result === undefined) === (layout.error === undefined)) {
    throw refuse('needs a "method", or else exactly one of "result" and "error"');
  }
  // A response to something unreadable has no id; MCP leaves the member out instead of null.
  return {
    kind: 'response',
    bytes,
    idText,
    method: undefined,
    progressTokenText: undefined,
    isError: layout.error !== undefined,
  };
}

function refuseNullId(refuse: (why: string) => TransportError): never {
  throw refuse('has the "id" null; leave the member out of a notification, and give a request a string or an integer');
}

function textOf(bytes: Buffer, span: Span): string | undefined {
  if (bytes[span.start] !== 0x22) return undefined;
  const plain = bytes.toString('utf8', span.start + 1, span.end - 1);
  return plain.includes('\\') ? (JSON.parse(`"${plain}"`) as string) : plain;
}

/**
 * The message with another id or progress token, everything else byte for byte. Answers the same message when
 * nothing changes. A `progressTokenText` for a message without a token is ignored.
 *
 * @throws TransportError `ERR_TRANSPORT_ARGUMENT` when an id is to be replaced in a message without one.
 */
export function spliceMessage(message: Message, splice: Splice): Message {
  const layout = layoutOf(message);
  const cuts: { readonly start: number; readonly end: number; readonly text: string }[] = [];
  if (splice.idText !== undefined && splice.idText !== message.idText) {
    if (layout.id === undefined)
      throw new TransportError('ERR_TRANSPORT_ARGUMENT', `Expected a message with an id, got a ${message.kind}`);
    cuts.push({ ...layout.id, text: splice.idText });
  }
  const token = splice.progressTokenText;
  if (token !== undefined && layout.progressToken !== undefined && token !== message.progressTokenText) {
    cuts.push(
      token === null ? { ...memberSpan(message.bytes, layout), text: '' } : { ...layout.progressToken, text: token },
    );
  }
  if (cuts.length === 0) return message;
  if (cuts.length === 2 && (cuts[0] as Span).start > (cuts[1] as Span).start) cuts.reverse();
  const dropsToken = token === null && layout.progressToken !== undefined;
  return new ScannedMessage(
    {
      kind: message.kind,
      bytes: replaceSpans(message.bytes, cuts),
      idText: splice.idText ?? message.idText,
      method: message.method,
      progressTokenText: dropsToken
        ? undefined
        : (token ?? undefined) === undefined || layout.progressToken === undefined
          ? message.progressTokenText
          : (token as string),
      isError: message.isError,
    },
    undefined,
  );
}

function layoutOf(message: Message): Layout {
  if (message instanceof ScannedMessage && message.layout !== undefined) return message.layout;
  return (parseMessage(message.bytes) as ScannedMessage).layout ?? new Layout();
}

/** The whole member of the progress token with the comma that separates it. */
function memberSpan(bytes: Buffer, layout: Layout): Span {
  const start = layout.progressKeyStart ?? 0;
  const end = layout.progressToken?.end ?? 0;
  const next = skipWhitespace(bytes, end);
  if (bytes[next] === 0x2c) return { start, end: skipWhitespace(bytes, next + 1) };
  let before = start - 1;
  while (bytes[before] === 0x20 || bytes[before] === 0x09) before -= 1;
  return bytes[before] === 0x2c ? { start: before, end } : { start, end };
}

function replaceSpans(
  bytes: Buffer,
  cuts: readonly { readonly start: number; readonly end: number; readonly text: string }[],
): Buffer {
  let length = bytes.length;
  for (const { start, end, text } of cuts) length += Buffer.byteLength(text) - (end - start);
  const output = Buffer.allocUnsafe(length);
  let read = 0;
  let written = 0;
  for (const { start, end, text } of cuts) {
    written += bytes.copy(output, written, read, start);
    written += output.write(text, written);
    read = end;
  }
  bytes.copy(output, written, read);
  return output;
}
