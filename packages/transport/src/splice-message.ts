import { TransportError } from './errors.js';
import { skipWhitespace } from './json/skip.js';
import type { Message, Splice } from './message.js';
import { ScannedMessage, scanMessage } from './parse-message.js';

/** Bytes from `start` up to `end` make place for `text`. */
interface Cut {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * The message with another id or progress token, everything else byte for byte. Answers the same message when
 * nothing changes. A `progressTokenText` for a message without a token is ignored.
 *
 * @throws TransportError `ERR_TRANSPORT_ARGUMENT` when an id is to be replaced in a message without one.
 */
export function spliceMessage(message: Message, splice: Splice): Message {
  const { idText = message.idText, progressTokenText } = splice;
  const tokenText = message.progressTokenText === undefined ? undefined : progressTokenText;
  const changesId = idText !== message.idText;
  const changesToken = tokenText !== undefined && tokenText !== message.progressTokenText;
  if (!changesId && !changesToken) return message;
  if (changesId && message.idText === undefined) {
    throw new TransportError('ERR_TRANSPORT_ARGUMENT', `Expected a message with an id, got a ${message.kind}`);
  }
  const scanned = scannedOf(message);
  const id = changesId ? { start: scanned.idStart, end: scanned.idEnd, text: idText ?? '' } : undefined;
  const token = changesToken ? tokenCut(scanned, tokenText) : undefined;
  return new ScannedMessage(
    message.kind,
    replace(message.bytes, id, token),
    idText,
    message.method,
    changesToken ? (tokenText ?? undefined) : message.progressTokenText,
    message.isError,
  );
}

/** A message that came from a splice, or from elsewhere, does not know its offsets. */
function scannedOf(message: Message): ScannedMessage {
  const knows =
    message instanceof ScannedMessage &&
    (message.idText === undefined || message.idEnd !== 0) &&
    (message.progressTokenText === undefined || message.tokenEnd !== 0);
  return knows ? message : scanMessage(message.bytes);
}

function tokenCut({ bytes, tokenKeyStart, tokenStart, tokenEnd }: ScannedMessage, text: string | null): Cut {
  if (text !== null) return { start: tokenStart, end: tokenEnd, text };
  // The whole member goes, with the comma that separates it.
  const next = skipWhitespace(bytes, tokenEnd);
  if (bytes[next] === 0x2c) return { start: tokenKeyStart, end: skipWhitespace(bytes, next + 1), text: '' };
  let before = tokenKeyStart - 1;
  while (bytes[before] === 0x20 || bytes[before] === 0x09) before -= 1;
  return { start: bytes[before] === 0x2c ? before : tokenKeyStart, end: tokenEnd, text: '' };
}

function replace(bytes: Buffer, id: Cut | undefined, token: Cut | undefined): Buffer {
  if (id === undefined) return token === undefined ? bytes : replaceOne(bytes, token);
  if (token === undefined) return replaceOne(bytes, id);
  // The later one first, so that the offsets of the other stay right.
  return id.start > token.start ? replaceOne(replaceOne(bytes, id), token) : replaceOne(replaceOne(bytes, token), id);
}

/** Below this, a loop is faster than a call into native code. */
const SMALL_BYTES = 64;

function replaceOne(bytes: Buffer, { start, end, text }: Cut): Buffer {
  const size = Buffer.byteLength(text);
  const output = Buffer.allocUnsafe(bytes.length - (end - start) + size);
  if (start <= SMALL_BYTES) for (let at = 0; at < start; at += 1) output[at] = bytes[at] as number;
  else bytes.copy(output, 0, 0, start);
  if (size === text.length) for (let at = 0; at < size; at += 1) output[start + at] = text.charCodeAt(at);
  else output.write(text, start);
  bytes.copy(output, start + size, end);
  return output;
}
