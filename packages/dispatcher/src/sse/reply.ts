import type { Message } from '@thv/transport';
import { buildError } from '@thv/transport';
import { INTERNAL_ERROR } from '../codes.js';
import type { FrameFilter } from '../http/writer.js';
import { failureMessage } from '../outcome.js';
import type { Outcome, Reply } from '../outcome.js';
import type { ClientSession } from '../sessions.js';
import type { SseClient } from './client.js';

/** The answer to one request, on the stream of the client that asked and on no other. */
export class SseReply implements Reply {
  readonly streams = true;
  onDrain?: (() => void) | undefined;
  onGone?: (() => void) | undefined;
  readonly #client: SseClient;
  readonly #idText: string;
  readonly #filter: FrameFilter | undefined;
  readonly #onSession: (session: ClientSession) => void;

  constructor(
    client: SseClient,
    idText: string,
    filter: FrameFilter | undefined,
    onSession: (session: ClientSession) => void,
  ) {
    this.#client = client;
    this.#idText = idText;
    this.#filter = filter;
    this.#onSession = onSession;
    client.replies.add(this);
  }

  get open(): boolean {
    return this.#client.open;
  }

  get bufferedBytes(): number {
    return this.#client.bufferedBytes;
  }

  gone(): void {
    this.onGone?.();
  }

  drained(): void {
    const { onDrain } = this;
    this.onDrain = undefined;
    onDrain?.();
  }

  send(message: Message): boolean {
    const frame = this.#filter === undefined ? message : this.#filter(message);
    return frame === undefined || this.#client.deliver(frame);
  }

  keepAlive(): void {
    // The stream of the client has a beat of its own.
  }

  settle(outcome: Outcome): void {
    this.#client.replies.delete(this);
    if (outcome.kind === 'cancelled') return;
    if (outcome.kind === 'failure') {
      this.send(failureMessage(outcome.failure, this.#idText));
      return;
    }
    if (outcome.session !== undefined) this.#onSession(outcome.session);
    const frame = this.#filter === undefined ? outcome.message : this.#filter(outcome.message);
    const withheld = { code: INTERNAL_ERROR, message: 'The response was withheld', data: { reason: 'withheld' } };
    this.#client.deliver(frame ?? buildError(this.#idText, withheld));
  }
}
