import type { Message } from '@thv/transport';
import { errorBytes } from '@thv/transport';
import { failureError } from '../outcome.js';
import type { Outcome, Reply } from '../outcome.js';
import type { FrameFilter } from './writer.js';

/** Whether the first character that is no white space opens an array. */
export function isArray(body: Buffer): boolean {
  for (const byte of body) {
    if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) continue;
    return byte === 0x5b;
  }
  return false;
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
