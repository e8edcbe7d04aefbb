import type { IncomingMessage } from 'node:http';
import { claimedVersion } from '../classify.js';
import { errorBytes } from '../error-body.js';
import { TransportError } from '../errors.js';
import type { Message } from '../message.js';
import { createMessage, parseMessage } from '../parse-message.js';
import type { Clock } from '../ports.js';
import { MODERN_VERSION, RPC_CODES, encodeHeaderValue } from '../revision.js';
import { createSseDecoder } from '../sse/decode.js';
import type { ClientSide } from './client-side.js';
import { EndpointError, readAll, statusText } from './exchange.js';
import type { Asked, Endpoint } from './exchange.js';
import { Pending } from './pending.js';
import type { PendingRequest } from './pending.js';

const INITIALIZED = createMessage({ jsonrpc: '2.0', method: 'notifications/initialized' });
const MAX_RETRY_MS = 30_000;
/** What a broken answer is asked for again. */
const MAX_RESUMES = 5;

/** What {@link StreamableSide} needs. */
export interface SideOptions {
  readonly endpoint: Endpoint;
  readonly client: ClientSide;
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly retryDelayMs: number;
  readonly onEvent: (text: string) => void;
  /** The bridge cannot go on. */
  readonly onFailed: (message: string) => void;
}

/** The server's side of a bridge over Streamable HTTP. */
export class StreamableSide {
  readonly pending = new Pending();
  readonly #options: SideOptions;
  #sessionId: string | undefined;
  #version: string | undefined;
  #initialize: Message | undefined;
  #onAnswered: (() => void) | undefined;
  /** What must be over before anything else is sent: the handshake, or its repetition. */
  #handshake: Promise<void> = Promise.resolve();
  #renewal: Promise<boolean> | undefined;
  #listening: Asked | undefined;
  #isListening = false;
  #cancelRetry: (() => void) | undefined;
  #isClosed = false;
  /** Notifications and answers on their way. */
  readonly #oneWay = new Set<Promise<void>>();

  constructor(options: SideOptions) {
    this.#options = options;
  }

  /** Takes a message of the client. */
  take(message: Message): void {
    if (message.kind === 'request') {
      const request = this.pending.add(message);
      const work = this.#handshake.then(() => this.#ask(request));
      if (message.method === 'initialize') {
        this.#initialize = message;
        // A server may keep the stream of its answer open; the answer is what counts.
        const answered = new Promise<void>((resolve) => {
          this.#onAnswered = resolve;
        });
        this.#handshake = Promise.race([work, answered]);
      }
      return;
    }
    const cancelled = message.method === 'notifications/cancelled' ? this.pending.cancelledBy(message) : undefined;
    const work = this.#handshake.then(() => this.#tell(message, cancelled));
    // The order in which a client says things is kept.
    if (message.method === 'notifications/initialized') this.#handshake = work;
    this.#oneWay.add(work);
    void work.finally(() => this.#oneWay.delete(work));
  }

  /** Everything that was taken is sent, and what was asked is answered. */
  async idle(): Promise<void> {
    await this.pending.empty();
    await Promise.all(this.#oneWay);
  }

  /** Ends the session at the server. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry?.();
    this.#listening?.abort();
    for (const { abort } of this.pending.all()) abort?.();
    if (this.#sessionId === undefined) return;
    const asked = this.#options.endpoint.ask('DELETE', { headers: this.#headers(undefined) });
    const cancel = this.#options.clock.setTimer(2000, () => asked.abort());
    await asked.response.then((response) => response.resume()).catch(() => undefined);
    cancel();
  }

  #headers(message: Message | undefined): Record<string, string> {
    const headers: Record<string, string> = { accept: 'application/json, text/event-stream' };
    if (message !== undefined) headers['content-type'] = 'application/json';
    const isModern = message !== undefined && message.kind !== 'response' && claimedVersion(message) === MODERN_VERSION;
    if (isModern && message.method !== undefined) {
      headers['mcp-protocol-version'] = MODERN_VERSION;
      headers['mcp-method'] = message.method;
      const name = nameOf(message);
      if (name !== undefined) headers['mcp-name'] = encodeHeaderValue(name);
      return headers;
    }
    if (message?.method === 'initialize') return headers;
    if (this.#sessionId !== undefined) headers['mcp-session-id'] = this.#sessionId;
    if (this.#version !== undefined) headers['mcp-protocol-version'] = this.#version;
    return headers;
  }

  async #ask(request: PendingRequest): Promise<void> {
    const { message } = request;
    const idText = message.idText ?? '0';
    try {
      await this.#exchange(request, true);
      if (this.pending.has(idText) && !request.isCancelled) {
        await this.#answer(idText, 'The connection ended before the answer; send the request again');
      }
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      if (!request.isCancelled) await this.#answer(idText, text);
      if (message.method === 'initialize' && error instanceof EndpointError && !this.#isClosed) {
        this.#options.onFailed(text);
      }
    } finally {
      this.pending.settle(idText);
    }
  }

  async #exchange(request: PendingRequest, mayRenew: boolean): Promise<void> {
    const { message } = request;
    const used = this.#sessionId;
    const response = await this.#post(message, request, mayRenew);
    if (response === undefined) {
      await this.#exchange(request, false);
      return;
    }
    const status = response.statusCode ?? 0;
    if (status === 404 && used !== undefined && mayRenew && message.method !== 'initialize') {
      response.resume();
      if (await this.#renew(used)) {
        await this.#exchange(request, false);
        return;
      }
    }
    if (message.method === 'initialize' && status === 200) {
      const id = response.headers['mcp-session-id'];
      this.#sessionId = typeof id === 'string' ? id : undefined;
    }
    await this.#readAnswer(response, request);
  }

  /** A response; `undefined` when the endpoint was not there, and is again. */
  async #post(
    message: Message,
    request: PendingRequest | undefined,
    mayRenew: boolean,
  ): Promise<IncomingMessage | undefined> {
    const asked = this.#options.endpoint.ask('POST', { headers: this.#headers(message), body: message.bytes });
    if (request !== undefined) request.abort = asked.abort;
    try {
      return await asked.response;
    } catch (error) {
      const isDial =
        error instanceof EndpointError && (error.isBeforeRequest || (error.isStale && message.method !== 'tools/call'));
      if (!isDial || !mayRenew || this.#initialize === undefined || message.method === 'initialize') throw error;
      this.#options.onEvent(`${error.message}; trying again`);
      for (const delay of [250, 500, 1000, 2000]) {
        await this.#wait(delay);
        if (this.#isClosed) throw error;
        if (await this.#renew(this.#sessionId)) return undefined;
      }
      throw error;
    }
  }

  async #readAnswer(response: IncomingMessage, request: PendingRequest, resumes = 0): Promise<void> {
    const { maxBytes } = this.#options;
    const type = response.headers['content-type'] ?? '';
    const status = response.statusCode ?? 0;
    if (status === 200 && /^\s*text\/event-stream/i.test(type)) {
      const last = await this.#readEvents(response);
      const isOpen = this.pending.has(request.message.idText ?? '0') && !request.isCancelled && !this.#isClosed;
      if (!isOpen || last === undefined || resumes >= MAX_RESUMES) return;
      await this.#wait(this.#options.retryDelayMs);
      const asked = this.#options.endpoint.ask('GET', {
        headers: { ...this.#headers(undefined), 'last-event-id': last },
      });
      request.abort = asked.abort;
      await this.#readAnswer(await asked.response, request, resumes + 1);
      return;
    }
    const body = await readAll(response, maxBytes);
    const message = parsed(body);
    if (message !== undefined) await this.#deliver(message, request.message.idText);
    else if (status !== 202 || body.length > 0) {
      const isPage = status === 200;
      throw new EndpointError(
        isPage ? `The server answered with ${type || 'no content type'}; check the URL` : statusText(status, body),
        false,
      );
    }
  }

  /** Reads a stream to its end and answers the id of its last event. */
  async #readEvents(response: IncomingMessage): Promise<string | undefined> {
    let last: string | undefined;
    const waiting: Buffer[] = [];
    const decoder = createSseDecoder({
      onEvent: ({ event, data, id }) => {
        last = id ?? last;
        if (event === 'message' && data.length > 0) waiting.push(data);
      },
    });
    try {
      for await (const chunk of response) {
        decoder.push(chunk as Buffer);
        for (const data of waiting.splice(0)) {
          const message = parsed(data);
          if (message === undefined) this.#options.onEvent(`no message: ${data.toString('utf8', 0, 200)}`);
          else await this.#deliver(message, undefined);
        }
      }
    } catch {
      // A stream that broke off is asked for again by its last event.
    }
    return last;
  }

  async #deliver(message: Message, idOfError: string | undefined): Promise<void> {
    if (message.kind === 'response') {
      const idText = message.idText ?? idOfError;
      if (message.idText === undefined && idOfError !== undefined && message.isError) {
        const { error } = message.json() as { readonly error: { readonly code: number; readonly message: string } };
        this.pending.settle(idOfError);
        await this.#options.client.write(errorBytes(error, idOfError));
        return;
      }
      this.#noteVersion(message);
      // An answer that is resumed may come twice.
      if (!this.pending.settle(idText)) return;
    }
    await this.#options.client.write(message.bytes);
  }

  #noteVersion(message: Message): void {
    const isAnswer = this.#initialize !== undefined && message.idText === this.#initialize.idText;
    if (!isAnswer) return;
    this.#onAnswered?.();
    if (this.#version !== undefined || message.isError) return;
    const { result } = message.json() as { readonly result?: { readonly protocolVersion?: unknown } };
    if (typeof result?.protocolVersion === 'string') this.#version = result.protocolVersion;
  }

  async #answer(idText: string, message: string): Promise<void> {
    if (!this.pending.has(idText) || this.#isClosed) return;
    this.pending.settle(idText);
    await this.#options.client.write(errorBytes({ code: RPC_CODES.internalError, message }, idText));
  }

  async #tell(message: Message, cancelled: PendingRequest | undefined): Promise<void> {
    // In the newer era the end of the request is what tells the server.
    const isModern = cancelled !== undefined && claimedVersion(cancelled.message) === MODERN_VERSION;
    if (cancelled !== undefined) cancelled.isCancelled = true;
    try {
      if (!isModern) await this.#send(message);
    } catch (error) {
      this.#options.onEvent(`${message.method ?? 'an answer'} was not delivered: ${String(error)}`);
    }
    cancelled?.abort?.();
    if (message.method === 'notifications/initialized') this.#listen();
  }

  async #send(message: Message): Promise<void> {
    const used = this.#sessionId;
    let response = await this.#post(message, undefined, true);
    if (response?.statusCode === 404 && used !== undefined && message.method !== 'notifications/initialized') {
      response.resume();
      if (await this.#renew(used)) response = undefined;
    }
    response ??= await this.#post(message, undefined, false);
    response?.resume();
    const status = response?.statusCode ?? 0;
    if (status >= 400) throw new EndpointError(statusText(status, Buffer.alloc(0)), false);
  }

  /** Opens the session again with the client's own handshake, once for all that find it gone. */
  #renew(used: string | undefined): Promise<boolean> {
    if (this.#renewal !== undefined) return this.#renewal;
    if (used !== this.#sessionId) return Promise.resolve(true);
    this.#renewal = this.#openAgain()
      .catch(() => false)
      .finally(() => {
        this.#renewal = undefined;
      });
    return this.#renewal;
  }

  async #openAgain(): Promise<boolean> {
    if (this.#initialize === undefined) return false;
    const { endpoint, maxBytes } = this.#options;
    const opened = await endpoint.ask('POST', {
      headers: this.#headers(this.#initialize),
      body: this.#initialize.bytes,
    }).response;
    await readAll(opened, maxBytes);
    if ((opened.statusCode ?? 0) !== 200) return false;
    const id = opened.headers['mcp-session-id'];
    this.#sessionId = typeof id === 'string' ? id : undefined;
    const told = await endpoint.ask('POST', { headers: this.#headers(INITIALIZED), body: INITIALIZED.bytes }).response;
    told.resume();
    this.#options.onEvent('the server lost the session; it is open again');
    if (this.#isListening) {
      this.#listening?.abort();
      this.#isListening = false;
      this.#listen();
    }
    return true;
  }

  /** Keeps the standalone stream open, where the server has one. */
  #listen(delayMs = this.#options.retryDelayMs, lastId?: string): void {
    if (this.#isListening || this.#isClosed) return;
    this.#isListening = true;
    const used = this.#sessionId;
    const resume: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
    const asked = this.#options.endpoint.ask('GET', { headers: { ...this.#headers(undefined), ...resume } });
    this.#listening = asked;
    const again = (last: string | undefined, wait: number): void => {
      if (this.#listening !== asked || this.#isClosed) return;
      this.#cancelRetry = this.#options.clock.setTimer(wait, () => {
        this.#isListening = false;
        this.#listen(Math.min(MAX_RETRY_MS, wait * 2), last);
      });
    };
    const run = async (): Promise<void> => {
      const response = await asked.response;
      if (response.statusCode === 200) {
        const last = await this.#readEvents(response);
        again(last ?? lastId, this.#options.retryDelayMs);
        return;
      }
      response.resume();
      if (response.statusCode === 404 && used !== undefined && (await this.#renew(used))) return;
      // 405 says that there is no such stream.
      if ((response.statusCode ?? 0) >= 500) again(lastId, delayMs);
    };
    run().catch(() => again(lastId, delayMs));
  }

  async #wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => void this.#options.clock.setTimer(ms, resolve));
  }
}

function parsed(bytes: Buffer): Message | undefined {
  try {
    return parseMessage(bytes);
  } catch (error) {
    if (TransportError.is(error)) return undefined;
    throw error;
  }
}

function nameOf(message: Message): string | undefined {
  const key = message.method === 'resources/read' ? 'uri' : 'name';
  if (!/^(?:tools\/call|prompts\/get|resources\/read)$/.test(message.method ?? '')) return undefined;
  const params: unknown = message.json()['params'];
  if (typeof params !== 'object' || params === null || !Object.hasOwn(params, key)) return undefined;
  const value: unknown = (params as Readonly<Record<string, unknown>>)[key];
  return typeof value === 'string' ? value : undefined;
}
