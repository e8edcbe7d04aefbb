import { isUtf8 } from 'node:buffer';
import { TransportError } from '../errors.js';
import { splitArray } from '../json/split-array.js';
import type { Message } from '../message.js';
import { parseMessage } from '../parse-message.js';

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** What a line of a server's output holds: messages, or noise that is told about. */
export interface LineContent {
  readonly messages: readonly Message[];
  /** Text that is no message, cut to 512 characters. */
  readonly noise?: string;
}

/**
 * Reads one line of standard output. A banner before or behind one message is tolerated, an array is taken as
 * several messages (servers of 2025-03-26 may batch), and everything else is noise. Characters inside a message are
 * never touched.
 */
export function readLine(line: Buffer): LineContent {
  const trimmed = trim(line);
  if (trimmed.length === 0) return { messages: [] };
  const open = trimmed.indexOf(OPEN_BRACE);
  if (open < 0) return { messages: [], noise: asNoise(trimmed) };
  const message = tryParse(trimmed);
  if (message) return { messages: [message] };
  // Some servers write Latin-1; their answer is worth more than the characters that were never readable.
  if (!isUtf8(trimmed)) return readLine(Buffer.from(trimmed.toString()));
  if (trimmed[0] === OPEN_BRACKET) {
    const batch = readBatch(trimmed);
    if (batch) return batch;
  }
  const close = trimmed.lastIndexOf('}');
  const inner = close > open ? tryParse(trimmed.subarray(open, close + 1)) : undefined;
  return inner ? { messages: [inner] } : { messages: [], noise: asNoise(trimmed) };
}

const asNoise = (bytes: Buffer): string => bytes.toString('utf8', 0, 2048).slice(0, 512);

function trim(line: Buffer): Buffer {
  // A byte order mark.
  const start = line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? 3 : 0;
  let end = line.length;
  while (end > start && (line[end - 1] === 0x0d || line[end - 1] === 0x20 || line[end - 1] === 0x09)) end -= 1;
  return start === 0 && end === line.length ? line : line.subarray(start, end);
}

function tryParse(bytes: Buffer): Message | undefined {
  try {
    return parseMessage(bytes);
  } catch (error) {
    if (error instanceof TransportError) return undefined;
    throw error;
  }
}

function readBatch(bytes: Buffer): LineContent | undefined {
  const elements = splitArray(bytes);
  if (elements === undefined) return undefined;
  const messages = elements.map((element) => tryParse(element));
  const known = messages.filter((message) => message !== undefined);
  const lost = messages.length - known.length;
  return lost === 0
    ? { messages: known }
    : { messages: known, noise: `${lost} of ${messages.length} elements of an array are no messages` };
}
