import { isUtf8 } from 'node:buffer';
import { TransportError } from '../../errors.js';
import { DuplicateMember, ID, METHOD, has, scanMembers, spans, valueEnd, valueStart } from '../../json/members.js';
import { JsonSyntaxError, seen, skipWhitespace } from '../../json/skip.js';
import type { Message } from '../../message.js';
import { parseMessage } from '../../parse-message.js';
import { isIdText } from '../../request-id.js';
import { RPC_CODES } from '../../revision.js';

/** What the first bytes of a body tell. */
export type Peeked =
  | {
      readonly kind: 'message';
      readonly message: Message;
      readonly method: string | undefined;
      readonly idText: string | undefined;
    }
  /** The body goes on; what stands further behind is not known. */
  | { readonly kind: 'part'; readonly method: string | undefined; readonly idText: string | undefined }
  | { readonly kind: 'array' }
  | { readonly kind: 'problem'; readonly code: number; readonly text: string; readonly idText: string | undefined };

/** An error this near to the end of a part comes from the cut, not from the sender. */
const CUT_BYTES = 12;
/** Of a body that is streamed as much is looked at; method and id stand in front. */
const SCANNED_BYTES = 16 * 1024;

/** Reads a body, or the part of it that is there. */
export function peek(bytes: Buffer, isWhole: boolean): Peeked {
  const start = skipWhitespace(bytes, 0);
  if (bytes[start] === 0x5b) return { kind: 'array' };
  return isWhole ? readWhole(bytes) : part(bytes, start);
}

function readWhole(bytes: Buffer): Peeked {
  try {
    const message = parseMessage(bytes);
    const { method, idText } = message;
    return { kind: 'message', message, method, idText };
  } catch (error) {
    if (!TransportError.is(error)) throw error;
    const code = error.code === 'ERR_TRANSPORT_JSON' ? RPC_CODES.parseError : RPC_CODES.invalidRequest;
    const { idText } = error.details;
    return { kind: 'problem', code, text: error.message, idText: typeof idText === 'string' ? idText : undefined };
  }
}

function part(whole: Buffer, start: number): Peeked {
  const bytes = whole.length > SCANNED_BYTES ? whole.subarray(0, SCANNED_BYTES) : whole;
  const problem = (code: number, text: string): Peeked => ({ kind: 'problem', code, text, idText: undefined });
  // The cut may go through a character; the scanner reads ASCII alone.
  if (!isUtf8(bytes.subarray(0, lastBoundary(bytes)))) {
    return problem(RPC_CODES.parseError, 'The message is not UTF-8; send JSON encoded in UTF-8');
  }
  if (bytes[start] !== 0x7b)
    return problem(RPC_CODES.parseError, `The message is not JSON: no object at byte ${start}`);
  spans.fill(0);
  seen.lineBreak = false;
  // Every part ends in an error, and nobody reads where that was thrown.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const end = scanMembers(bytes, start, 0);
    // The message is complete although the body is not: white space may follow, and nothing else.
    if (skipWhitespace(bytes, end) !== bytes.length)
      return problem(RPC_CODES.parseError, 'The message is not JSON: text follows the message');
  } catch (error) {
    if (error instanceof DuplicateMember) return problem(RPC_CODES.invalidRequest, `The message ${error.message}`);
    if (!(error instanceof JsonSyntaxError)) throw error;
    if (error.offset < bytes.length - CUT_BYTES) {
      return problem(RPC_CODES.parseError, `The message is not JSON: ${error.message} at byte ${error.offset}`);
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  const idText = textOf(bytes, ID);
  const method = textOf(bytes, METHOD);
  return {
    kind: 'part',
    idText: idText !== undefined && isIdText(idText) ? idText : undefined,
    method: method?.startsWith('"') === true ? (JSON.parse(method) as string) : undefined,
  };
}

/** A value that ends where the part ends may go on. */
const textOf = (bytes: Buffer, member: number): string | undefined =>
  has(member) && valueEnd(member) < bytes.length
    ? bytes.toString('utf8', valueStart(member), valueEnd(member))
    : undefined;

function lastBoundary(bytes: Buffer): number {
  for (let back = 1; back <= 4 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back] as number;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) return bytes.length - back;
  }
  return bytes.length;
}
