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
  readonly #stream: LoggedStream;
  readonly #idText: string;
  #attached = true;
  #accepting = true;

  constructor(reply: Reply, log: EventLog, idText: string) {
    this.#reply = reply;
    this.#log = log;
    this.#idText = idText;
    this.#stream = log.open('post', this);
    reply.onDrain = () => this.onDrain?.();
    reply.onGone = () => {
      this.#attached = false;
      this.#stream.detach(this);
      this.onDrain?.();
    };
    reply.prime?.(this.#stream.primeId, log.settings.retryMs);
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
    this.#stream.append(message);
    return this.#accepting;
  }

  keepAlive(): void {
    if (this.#attached) this.#reply.keepAlive();
  }

  end(): void {
    this.#attached = false;
    this.#reply.settle({ kind: 'cancelled' });
  }

  settle(outcome: Outcome): void {
    if (outcome.kind === 'cancelled') {
      this.#log.forget(this.#stream);
      this.#stream.finish();
      return;
    }
    this.#stream.append(outcome.kind === 'answer' ? outcome.message : failureMessage(outcome.failure, this.#idText));
    this.#stream.finish();
  }
}
