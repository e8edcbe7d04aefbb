import type { Message } from '@thv/transport';
import { errorBytes } from '../build.js';
import { failureError } from '../outcome.js';
import type { Outcome, Reply } from '../outcome.js';
import type { FrameFilter } from './writer.js';

const OPEN = new Set([0x7b, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);

/** Whether the first character that is no white space opens an array. */
export function isArray(body: Buffer): boolean {
  for (const byte of body) {
    if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) continue;
    return byte === 0x5b;
  }
  return false;
}

/**
 * The elements of a JSON array as the bytes they were written in, so that nothing in them changes.
 *
 * @throws SyntaxError when the body is not one JSON array
 */
export function splitArray(body: Buffer): Buffer[] {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
  if (!Array.isArray(JSON.parse(text))) throw new SyntaxError('Expected a JSON array');
  const elements: Buffer[] = [];
  let depth = 0;
  let start = -1;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at] ?? 0;
    if (byte === 0x22) at = endOfString(body, at);
    else if (OPEN.has(byte)) {
      if (depth++ === 0) start = at + 1;
    } else if (CLOSE.has(byte)) {
      if (--depth === 0) pushElement(elements, body.subarray(start, at));
    } else if (byte === 0x2c && depth === 1) {
      pushElement(elements, body.subarray(start, at));
      start = at + 1;
    }
  }
  return elements;
}

function endOfString(body: Buffer, start: number): number {
  for (let at = start + 1; at < body.length; at++) {
    if (body[at] === 0x5c) at++;
    else if (body[at] === 0x22) return at;
  }
  return body.length;
}

function pushElement(elements: Buffer[], slice: Buffer): void {
  const text = slice.toString('latin1');
  const trimmed = text.trim();
  if (trimmed === '') return;
  const start = text.indexOf(trimmed);
  elements.push(slice.subarray(start, start + trimmed.length));
}

/** One request of an array: its answer waits for the others. */
export class BatchReply implements Reply {
  readonly streams = false;
  readonly open = true;
  readonly bufferedBytes = 0;
  readonly #idText: string;
  readonly #filter: FrameFilter | undefined;
  readonly #resolve: (body: Buffer) => void;

  constructor(idText: string, filter: FrameFilter | undefined, resolve: (body: Buffer) => void) {
    this.#idText = idText;
    this.#filter = filter;
    this.#resolve = resolve;
  }

  send(_message: Message): boolean {
    return true;
  }

  keepAlive(): void {
    // An array is answered as a whole.
  }

  settle(outcome: Outcome): void {
    if (outcome.kind === 'answer') {
      const frame = this.#filter === undefined ? outcome.message : this.#filter(outcome.message);
      this.#resolve(frame?.bytes ?? errorBytes({ code: -32603, message: 'The response was withheld' }, this.#idText));
    } else {
      const error =
        outcome.kind === 'failure' ? failureError(outcome.failure) : { code: -32603, message: 'Request cancelled' };
      this.#resolve(errorBytes(error, this.#idText));
    }
  }
}

/** The responses as one array. */
export function joinArray(elements: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [Buffer.from('[')];
  elements.forEach((element, index) => {
    if (index > 0) parts.push(Buffer.from(','));
    parts.push(element);
  });
  parts.push(Buffer.from(']'));
  return Buffer.concat(parts);
}
