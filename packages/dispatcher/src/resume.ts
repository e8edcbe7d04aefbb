import type { Message } from '@thv/transport';
import type { EventLog, EventReceiver, LoggedStream } from './event-log.js';
import { failureMessage } from './outcome.js';
import type { Outcome, Reply } from './outcome.js';

/**
 * The reply of a resumable stream: every message is kept before it is written, and the request goes on when the client
 * loses the connection.
 */
export class ResumableReply implements Reply, EventReceiver {
  readonly streams = true;
  onDrain?: (() => void) | undefined;
  onGone?: (() => void) | undefined;
  readonly #reply: Reply;
  readonly #log: EventLog;
  readonly #idText: string;
  #stream: LoggedStream | undefined;
  #attached = true;
  #accepting = true;
  #settled = false;

  constructor(reply: Reply, log: EventLog, idText: string) {
    this.#reply = reply;
    this.#log = log;
    this.#idText = idText;
    // One turn later, so that a request which is refused at once still gets a status of its own.
    queueMicrotask(() => {
      if (!this.#settled) this.#begin();
    });
  }

  get bufferedBytes(): number {
    return this.#attached ? this.#reply.bufferedBytes : 0;
  }

  /** A stream without a client can still be resumed. */
  get open(): boolean {
    return true;
  }

  send(message: Message, eventId?: string): boolean {
    if (eventId !== undefined) {
      this.#accepting = this.#reply.send(message, eventId);
      return this.#accepting;
    }
    this.#accepting = true;
    this.#begin().append(message);
    return this.#accepting;
  }

  keepAlive(): void {
    if (this.#attached) this.#reply.keepAlive();
  }

  end(): void {
    if (!this.#attached) return;
    this.#attached = false;
    this.#reply.settle({ kind: 'cancelled' });
  }

  settle(outcome: Outcome): void {
    this.#settled = true;
    const stream = this.#stream;
    if (stream === undefined) {
      this.#reply.settle(outcome);
      return;
    }
    if (outcome.kind === 'cancelled') {
      stream.finish();
      this.#log.forget(stream);
      return;
    }
    stream.append(outcome.kind === 'answer' ? outcome.message : failureMessage(outcome.failure, this.#idText));
    stream.finish();
  }

  #begin(): LoggedStream {
    if (this.#stream !== undefined) return this.#stream;
    const stream = this.#log.open('post', this);
    this.#stream = stream;
    this.#reply.onDrain = () => this.onDrain?.();
    this.#reply.prime?.(stream.primeId, this.#log.settings.retryMs);
    this.#reply.onGone = () => {
      this.#attached = false;
      stream.detach(this);
      this.onDrain?.();
    };
    return stream;
  }
}
