import type { Message } from '@thv/transport';
import type { StreamSink } from '../streams.js';
import { KEEP_ALIVE, encodeEvent, encodePrime } from './sse.js';
import type { FrameFilter, ResponseWriter } from './writer.js';

/** A standalone stream over HTTP; its headers are out already. */
export class HttpStreamSink implements StreamSink {
  onDrain?: (() => void) | undefined;
  readonly #writer: ResponseWriter;
  readonly #filter: FrameFilter | undefined;

  constructor(writer: ResponseWriter, filter: FrameFilter | undefined) {
    this.#writer = writer;
    this.#filter = filter;
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
    const frame = this.#filter === undefined ? message : this.#filter(message);
    if (frame === undefined || !this.#writer.open) return true;
    const more = this.#writer.write(encodeEvent(frame.bytes, eventId));
    if (!more) this.#writer.onDrain = () => this.onDrain?.();
    return more;
  }

  keepAlive(): void {
    if (this.#writer.open) this.#writer.write(KEEP_ALIVE);
  }

  prime(eventId: string, retryMs: number): void {
    if (this.#writer.open) this.#writer.write(encodePrime(eventId, retryMs));
  }

  end(): void {
    if (this.#writer.open) this.#writer.end();
  }
}
