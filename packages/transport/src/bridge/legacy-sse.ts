import { errorBytes } from '../error-body.js';
import type { Message } from '../message.js';
import { createMessage, parseMessage } from '../parse-message.js';
import { RPC_CODES } from '../revision.js';
import { createSseDecoder } from '../sse/decode.js';
import { EndpointError, readAll, statusText } from './exchange.js';
import type { Asked } from './exchange.js';
import { Pending } from './pending.js';
import type { SideOptions } from './streamable.js';

const INITIALIZED = createMessage({ jsonrpc: '2.0', method: 'notifications/initialized' });
const MAX_RETRY_MS = 30_000;

/** The server's side of a bridge over the transport of 2024-11-05. */
export class LegacySseSide {
  readonly pending = new Pending();
  readonly #options: SideOptions;
  #stream: Asked | undefined;
  #address: URL | undefined;
  #isOpen: Promise<void>;
  #opened: () => void = () => undefined;
  #initialize: Message | undefined;
  #wasInitialized = false;
  /** The answer to a handshake that the client did not ask for. */
  #swallowed: string | undefined;
  #onSwallowed: (() => void) | undefined;
  #isClosed = false;
  #cancelRetry: (() => void) | undefined;
  /** Messages go out one after another, in the order of the client. */
  #queue: Promise<void> = Promise.resolve();

  constructor(options: SideOptions) {
    this.#options = options;
    this.#isOpen = this.#opening();
    this.#connect(options.retryDelayMs, true);
  }

  take(message: Message): void {
    if (message.kind === 'request') this.pending.add(message);
    if (message.method === 'initialize') this.#initialize = message;
    if (message.method === 'notifications/initialized') this.#wasInitialized = true;
    this.#queue = this.#queue.then(() => this.#send(message));
  }

  async idle(): Promise<void> {
    await this.#queue;
    await this.pending.empty();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry?.();
    this.#opened();
    this.#stream?.abort();
  }

  #opening(): Promise<void> {
    return new Promise((resolve) => {
      this.#opened = resolve;
    });
  }

  async #send(message: Message): Promise<void> {
    await this.#isOpen;
    if (this.#isClosed) return;
    try {
      await this.#post(message);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (message.kind === 'request') await this.#fail(message, text);
      else this.#options.onEvent(`${message.method ?? 'an answer'} was not delivered: ${text}`);
    }
  }

  async #post(message: Message): Promise<void> {
    const { endpoint, maxBytes } = this.#options;
    const url = this.#address ?? endpoint.url;
    const asked = endpoint.ask('POST', { url, headers: { 'content-type': 'application/json' }, body: message.bytes });
    const response = await asked.response;
    const body = await readAll(response, maxBytes);
    const status = response.statusCode ?? 0;
    if (status < 200 || status >= 300) throw new EndpointError(statusText(status, body), false);
  }

  #connect(delayMs: number, isFirst: boolean): void {
    const { endpoint, clock, onFailed, onEvent } = this.#options;
    const asked = endpoint.ask('GET', { headers: { accept: 'text/event-stream' } });
    this.#stream = asked;
    const run = async (): Promise<void> => {
      const response = await asked.response;
      const type = response.headers['content-type'] ?? '';
      if (response.statusCode !== 200 || !type.includes('text/event-stream')) {
        const body = await readAll(response, 64 * 1024);
        const isPage = response.statusCode === 200;
        throw new EndpointError(
          isPage ? `The server answered with ${type}; check the URL` : statusText(response.statusCode ?? 0, body),
          false,
        );
      }
      const waiting: { readonly event: string; readonly data: Buffer }[] = [];
      const decoder = createSseDecoder({ onEvent: (event) => waiting.push(event) });
      for await (const chunk of response) {
        decoder.push(chunk as Buffer);
        for (const { event, data } of waiting.splice(0)) {
          if (event === 'endpoint') void this.#endpoint(data.toString(), isFirst);
          else if (event === 'message') await this.#deliver(data);
        }
      }
      throw new EndpointError('The stream ended', false);
    };
    run().catch((error: unknown) => {
      if (this.#isClosed) return;
      const text = error instanceof Error ? error.message : String(error);
      const never = this.#address === undefined && isFirst;
      if (never) {
        onFailed(text);
        return;
      }
      onEvent(`${text}; opening the stream again`);
      this.#isOpen = this.#opening();
      for (const { message } of this.pending.all())
        void this.#fail(message, 'The stream ended before the answer; send the request again');
      this.#cancelRetry = clock.setTimer(delayMs, () => this.#connect(Math.min(MAX_RETRY_MS, delayMs * 2), false));
    });
  }

  async #endpoint(address: string, isFirst: boolean): Promise<void> {
    const { url } = this.#options.endpoint;
    if (!URL.canParse(address, url.href)) return;
    const next = new URL(address, url);
    // Messages of the client must not go to a stranger.
    if (next.origin !== url.origin) {
      this.#options.onFailed(
        `The server names ${next.origin} for messages, which is another origin than ${url.origin}`,
      );
      return;
    }
    this.#address = next;
    if (!isFirst && this.#initialize !== undefined && !this.pending.has(this.#initialize.idText ?? '')) {
      await this.#greet(this.#initialize).catch((error: unknown) => this.#options.onEvent(String(error)));
    }
    this.#opened();
  }

  /** A new stream is a new session: the handshake is repeated, and its answer is not the client's. */
  async #greet(initialize: Message): Promise<void> {
    this.#swallowed = initialize.idText;
    const answered = new Promise<void>((resolve) => {
      this.#onSwallowed = resolve;
    });
    await this.#post(initialize);
    await answered;
    if (this.#wasInitialized) await this.#post(INITIALIZED);
  }

  async #deliver(data: Buffer): Promise<void> {
    let message: Message;
    try {
      message = parseMessage(data);
    } catch {
      this.#options.onEvent(`no message: ${data.toString('utf8', 0, 200)}`);
      return;
    }
    if (message.kind === 'response') {
      if (this.#swallowed !== undefined && message.idText === this.#swallowed) {
        this.#swallowed = undefined;
        this.#onSwallowed?.();
        return;
      }
      if (!this.pending.settle(message.idText)) return;
    }
    await this.#options.client.write(message.bytes);
  }

  async #fail(message: Message, text: string): Promise<void> {
    if (!this.pending.settle(message.idText) || this.#isClosed) return;
    await this.#options.client.write(errorBytes({ code: RPC_CODES.internalError, message: text }, message.idText));
  }
}
