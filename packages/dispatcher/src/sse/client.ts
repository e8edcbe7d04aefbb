import type { ServerResponse } from 'node:http';
import type { Message, Principal } from '@thv/transport';
import type { FlowGuard } from '../flow-guard.js';
import { KEEP_ALIVE, encodeEvent } from '../http/sse.js';
import type { FrameFilter } from '../http/writer.js';
import { principalKey } from '@thv/transport';
import type { ClientSession } from '../sessions.js';
import type { StreamSink } from '../streams.js';

interface Kept {
  readonly sequence: number;
  readonly message: Message;
}

/** What bounds the memory of one client. */
export interface ClientLimits {
  readonly maxMessages: number;
  readonly maxBytes: number;
}

/**
 * One client of the SSE transport: its stream, its session, and the last messages, which it gets again when it comes
 * back. It outlives its stream for a short time.
 */
export class SseClient implements StreamSink {
  readonly id: string;
  readonly principalKey: string | undefined;
  readonly filter: FrameFilter | undefined;
  session: ClientSession | undefined;
  onDrain?: (() => void) | undefined;
  onGone?: (() => void) | undefined;
  /** Requests on their way; each is told when the client is gone. */
  readonly replies = new Set<{ gone(): void; drained(): void }>();
  readonly #flow: FlowGuard;
  readonly #limits: ClientLimits;
  readonly #onEnd: (client: SseClient) => void;
  #response: ServerResponse | undefined;
  #kept: Kept[] = [];
  #keptBytes = 0;
  #sequence = 0;
  #hasEnded = false;

  constructor(options: {
    id: string;
    principal: Principal | undefined;
    filter: FrameFilter | undefined;
    flow: FlowGuard;
    limits: ClientLimits;
    onEnd: (client: SseClient) => void;
  }) {
    this.id = options.id;
    this.principalKey = principalKey(options.principal);
    this.filter = options.filter;
    this.#flow = options.flow;
    this.#limits = options.limits;
    this.#onEnd = options.onEnd;
  }

  get open(): boolean {
    return !this.#hasEnded;
  }

  get isConnected(): boolean {
    return this.#response !== undefined;
  }

  get bufferedBytes(): number {
    return this.#response?.writableLength ?? 0;
  }

  /** Takes a stream whose head is written, and sends what the client has not seen. */
  attach(response: ServerResponse, after: number): void {
    this.#response?.end();
    this.#response = response;
    response.on('drain', () => {
      if (this.#response === response) this.#drained();
    });
    for (const { sequence, message } of this.#kept) {
      if (sequence > after) this.#write(encodeEvent(message.bytes, `${this.id}.${sequence}`));
    }
  }

  /** Forgets a stream that is gone; answers false when it was replaced already. */
  detach(response: ServerResponse): boolean {
    if (this.#response !== response) return false;
    this.#response = undefined;
    // Who waits for room must not wait for a stream that never drains.
    this.#drained();
    return true;
  }

  /** Sends a message of the server that belongs to no request. */
  send(message: Message): boolean {
    const frame = this.filter === undefined ? message : this.filter(message);
    return frame === undefined || this.deliver(frame);
  }

  /** Sends a message that has been looked at; it is kept for a client that comes back. */
  deliver(message: Message): boolean {
    if (this.#hasEnded) return true;
    this.#sequence += 1;
    this.#kept.push({ sequence: this.#sequence, message });
    this.#keptBytes += message.bytes.length;
    while (
      this.#kept.length > this.#limits.maxMessages ||
      (this.#keptBytes > this.#limits.maxBytes && this.#kept.length > 1)
    ) {
      this.#keptBytes -= this.#kept.shift()?.message.bytes.length ?? 0;
    }
    return this.#write(encodeEvent(message.bytes, `${this.id}.${this.#sequence}`));
  }

  keepAlive(): void {
    this.#response?.write(KEEP_ALIVE);
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#response?.end();
    this.#response = undefined;
    this.#kept = [];
    for (const reply of this.replies) reply.gone();
    this.replies.clear();
    this.onGone?.();
    this.#onEnd(this);
  }

  destroy(): void {
    this.#response?.destroy();
  }

  #write(frame: Buffer): boolean {
    const response = this.#response;
    if (response === undefined) return true;
    if (response.writableLength > this.#flow.maxSinkBytes) {
      response.destroy();
      return true;
    }
    if (response.write(frame)) return true;
    this.#flow.watch(this);
    return false;
  }

  #drained(): void {
    this.#flow.unwatch(this);
    const { onDrain } = this;
    this.onDrain = undefined;
    onDrain?.();
    for (const reply of this.replies) reply.drained();
  }
}
