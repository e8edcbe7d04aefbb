import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { TransportError } from '../errors.js';
import { errorBytes } from '../error-body.js';
import type { Message } from '../message.js';
import { parseMessage } from '../parse-message.js';
import { RPC_CODES } from '../revision.js';
import { createLineSplitter } from '../stdio/lines.js';

const LINE_BREAK = Buffer.from('\n');

/** The client at the other end of two pipes. */
export class ClientSide {
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #maxLineBytes: number;
  #isGone = false;

  constructor(input: Readable, output: Writable, maxLineBytes: number) {
    this.#input = input;
    this.#output = output;
    this.#maxLineBytes = maxLineBytes;
    // A client that went away reads nothing more; that ends the bridge, not the process.
    output.on('error', () => {
      this.#isGone = true;
    });
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Calls for each message, in order; resolves when the input is over. What is no message is answered with an error. */
  async read(onMessage: (message: Message) => void, signal: AbortSignal): Promise<void> {
    const splitter = createLineSplitter(
      {
        onLine: (line) => this.#take(line, onMessage),
        onOversize: (_prefix, _suffix, bytes) => {
          const message = `A message of ${bytes} bytes is larger than ${this.#maxLineBytes}`;
          this.#output.write(Buffer.concat([errorBytes({ code: RPC_CODES.invalidRequest, message }), LINE_BREAK]));
        },
      },
      this.#maxLineBytes,
    );
    await new Promise<void>((resolve) => {
      const done = (): void => resolve();
      this.#input.on('data', (chunk: Buffer | string) => splitter.push(Buffer.from(chunk)));
      this.#input.once('end', () => {
        splitter.end();
        done();
      });
      this.#input.once('close', done);
      this.#input.once('error', done);
      this.#output.once('error', done);
      this.#output.once('close', done);
      if (signal.aborted) done();
      else signal.addEventListener('abort', done, { once: true });
    });
    this.#input.removeAllListeners('data');
    this.#input.pause();
  }

  /** Writes a message as one line; resolves when there is room for the next. */
  async write(bytes: Buffer): Promise<void> {
    if (this.#isGone || this.#output.destroyed) return;
    if (this.#output.write(Buffer.concat([bytes, LINE_BREAK], bytes.length + 1))) return;
    await Promise.race([once(this.#output, 'drain'), once(this.#output, 'close')]).catch(() => undefined);
  }

  #take(line: Buffer, onMessage: (message: Message) => void): void {
    const isBlank = line.every((byte) => byte === 0x20 || byte === 0x0d || byte === 0x09);
    if (isBlank) return;
    try {
      onMessage(parseMessage(line));
    } catch (error) {
      if (!TransportError.is(error)) throw error;
      const code = error.code === 'ERR_TRANSPORT_JSON' ? RPC_CODES.parseError : RPC_CODES.invalidRequest;
      const { idText } = error.details;
      void this.write(errorBytes({ code, message: error.message }, typeof idText === 'string' ? idText : undefined));
    }
  }
}
