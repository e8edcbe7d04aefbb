import type { Message } from '@thv/transport';
import { errorBytes } from '@thv/transport';
import { INTERNAL_ERROR } from '../codes.js';
import { failureMessage } from '../outcome.js';
import type { Failure, Outcome, Reply } from '../outcome.js';
import type { ClientSession } from '../sessions.js';
import { replyFailure, replyJson } from './responses.js';
import { KEEP_ALIVE, SSE_HEADERS, encodeEvent, encodePrime } from './sse.js';
import type { FrameFilter, HeaderList, ResponseWriter } from './writer.js';

/** What an edge knows about the reply that a client wants. */
export interface ReplyOptions {
  readonly idText: string;
  /** The client takes an event stream. */
  readonly streams: boolean;
  /** The client takes a plain JSON body. */
  readonly json: boolean;
  readonly headers: HeaderList;
  readonly filter: FrameFilter | undefined;
  /** Takes a session that was made; answers whether the client is told its id. */
  readonly onSession?: (session: ClientSession, clientIsThere: boolean) => boolean;
}

const DROPPED = { code: INTERNAL_ERROR, message: 'The response was withheld', data: { reason: 'withheld' } };
/** Failures that came before the server had the request: a status says more than an event. */
const ADMISSION: ReadonlySet<Failure['reason']> = new Set([
  'busy',
  'duplicate-id',
  'refused',
  'session-required',
  'spawn-failed',
  'too-many-sessions',
  'unavailable',
]);

/**
 * The HTTP response to one request. It becomes an event stream only when something must precede the answer or the
 * answer takes a while: a JSON body with its length costs both sides less.
 */
export class HttpReply implements Reply {
  readonly streams: boolean;
  onDrain?: (() => void) | undefined;
  readonly #writer: ResponseWriter;
  readonly #options: ReplyOptions;
  #opened = false;

  constructor(writer: ResponseWriter, options: ReplyOptions) {
    this.#writer = writer;
    this.#options = options;
    this.streams = options.streams;
  }

  get open(): boolean {
    return this.#writer.open;
  }

  get bufferedBytes(): number {
    return this.#writer.bufferedBytes;
  }

  set onGone(callback: (() => void) | undefined) {
    if (callback !== undefined) this.#writer.whenGone(callback);
  }

  send(message: Message, eventId?: string): boolean {
    const frame = this.#filter(message);
    if (frame === undefined || !this.#writer.open) return true;
    this.#openStream();
    const more = this.#writer.write(encodeEvent(frame.bytes, eventId));
    if (!more) this.#writer.onDrain = () => this.onDrain?.();
    return more;
  }

  keepAlive(): void {
    if (!this.streams || !this.#writer.open) return;
    if (this.#opened) this.#writer.write(KEEP_ALIVE);
    else this.#openStream();
  }

  prime(eventId: string, retryMs: number): void {
    if (!this.#writer.open) return;
    this.#openStream();
    this.#writer.write(encodePrime(eventId, retryMs));
  }

  settle(outcome: Outcome): void {
    if (!this.#writer.open) {
      if (outcome.kind === 'answer' && outcome.session !== undefined) this.#options.onSession?.(outcome.session, false);
      return;
    }
    if (outcome.kind === 'answer') this.#answer(outcome.message, outcome.session);
    else if (outcome.kind === 'cancelled') this.#cancelled();
    else this.#fail(outcome.failure);
  }

  #answer(message: Message, session: ClientSession | undefined): void {
    const { headers, idText, json, onSession } = this.#options;
    const frame = this.#filter(message);
    const bytes = frame === undefined ? errorBytes(DROPPED, idText) : frame.bytes;
    if (this.#opened) {
      this.#writer.end(encodeEvent(bytes));
      return;
    }
    const told = session !== undefined && onSession?.(session, true) === true;
    const extra = told ? [...headers, 'mcp-session-id', session.id] : headers;
    if (json) {
      replyJson(this.#writer, 200, bytes, extra);
    } else {
      this.#writer.openStream([...SSE_HEADERS, ...extra]);
      this.#writer.end(encodeEvent(bytes));
    }
  }

  #cancelled(): void {
    if (!this.streams) {
      const error = { code: INTERNAL_ERROR, message: 'Request cancelled' };
      replyJson(this.#writer, 200, errorBytes(error, this.#options.idText), this.#options.headers);
      return;
    }
    this.#openStream();
    this.#writer.end();
  }

  #fail(failure: Failure): void {
    const { headers, idText } = this.#options;
    if (!this.#opened && (!this.streams || ADMISSION.has(failure.reason))) {
      replyFailure(this.#writer, failure, idText, headers);
      return;
    }
    this.#openStream();
    const frame = this.#filter(failureMessage(failure, idText));
    this.#writer.end(encodeEvent(frame === undefined ? errorBytes(DROPPED, idText) : frame.bytes));
  }

  #filter(message: Message): Message | undefined {
    const { filter } = this.#options;
    return filter === undefined ? message : filter(message);
  }

  #openStream(): void {
    if (this.#opened) return;
    this.#opened = true;
    this.#writer.openStream([...SSE_HEADERS, ...this.#options.headers]);
  }
}
