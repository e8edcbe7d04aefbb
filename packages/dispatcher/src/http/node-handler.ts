import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from '../dispatcher.js';
import type { FlowGuard } from '../flow-guard.js';
import { Edge } from './edge.js';
import type { HttpOptions } from './options.js';
import type { HeaderList, Incoming, ResponseWriter } from './writer.js';

/** A request listener of `node:http`, with the middlewares' end. */
export interface NodeHandler {
  (request: IncomingMessage, response: ServerResponse): void;
  /** Closes the middlewares; the dispatcher is closed by its owner. */
  close(): Promise<void>;
}

/**
 * Serves a dispatcher as a Streamable HTTP endpoint on `node:http`, Express, Fastify's raw objects and the like. A body
 * that a parser in front has read already is taken from `request.body`.
 *
 * @throws DispatcherError `ERR_DISPATCHER_ARGUMENT` for an option of the wrong kind
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 * @example http.createServer(createNodeHandler(dispatcher)).listen(8080, '127.0.0.1')
 */
export function createNodeHandler(dispatcher: Dispatcher, options: HttpOptions = {}): NodeHandler {
  const edge = new Edge(dispatcher, options);
  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    const exchange = new NodeExchange(edge, request, response);
    try {
      if (edge.admit(exchange, exchange)) exchange.readBody();
    } catch (error) {
      edge.fault(error, exchange);
    }
  };
  return Object.assign(handler, { close: () => edge.close() });
}

/** Request and response of `node:http` as the edge sees them: one object for both, since there is one for each request. */
class NodeExchange implements Incoming, ResponseWriter {
  readonly path: string;
  onDrain?: (() => void) | undefined;
  readonly #edge: Edge;
  readonly #flow: FlowGuard;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #chunks: Buffer[] | undefined;
  #received = 0;
  #waitsForDrain = false;

  constructor(edge: Edge, request: IncomingMessage, response: ServerResponse) {
    this.#edge = edge;
    this.#flow = edge.dispatcher.flow;
    this.#request = request;
    this.#response = response;
    const { url = '/' } = request;
    const query = url.indexOf('?');
    this.path = query < 0 ? url : url.slice(0, query);
  }

  get method(): string {
    return this.#request.method ?? 'GET';
  }

  get headers(): IncomingMessage['headers'] {
    return this.#request.headers;
  }

  get remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  get localPort(): number | undefined {
    return this.#request.socket.localPort;
  }

  get localAddress(): string | undefined {
    return this.#request.socket.localAddress;
  }

  get open(): boolean {
    return !this.#response.writableEnded && !this.#response.destroyed && !this.#request.socket.destroyed;
  }

  get bufferedBytes(): number {
    return this.#response.writableLength;
  }

  /** Requests of one connection may overlap; their responses go out in order. */
  get waitsItsTurn(): boolean {
    return this.#response.socket === null;
  }

  readBody(): void {
    const request = this.#request;
    if (request.readableEnded) {
      this.#takeParsedBody();
      return;
    }
    request.on('data', (chunk: Buffer) => this.#onData(chunk));
    request.on('end', () => this.#onEnd());
  }

  reply(status: number, headers: HeaderList, body?: Buffer): void {
    const response = this.#response;
    if (!this.open || response.headersSent) return;
    response.writeHead(status, headers as string[]);
    // A short body as a string joins the head in one write; as a buffer it costs a gathered write of its own.
    if (body !== undefined && body.length <= SHORT) response.end(body.toString('latin1'), 'latin1');
    else response.end(body);
    if (response.writableLength > 0 && body !== undefined && body.length > LARGE) this.#flow.watch(this);
  }

  openStream(headers: HeaderList): void {
    if (!this.open || this.#response.headersSent) return;
    this.#response.writeHead(200, headers as string[]);
    this.#response.flushHeaders();
  }

  write(chunk: Buffer): boolean {
    if (!this.open) return true;
    if (this.bufferedBytes > this.#flow.maxSinkBytes) {
      this.destroy();
      return true;
    }
    const more = this.#response.write(chunk);
    if (!more) this.#waitForDrain();
    return more;
  }

  end(chunk?: Buffer): void {
    if (!this.open) return;
    if (this.bufferedBytes > this.#flow.maxSinkBytes) {
      this.destroy();
      return;
    }
    this.#response.end(chunk);
    if (this.#response.writableLength > LARGE) this.#flow.watch(this);
  }

  destroy(): void {
    this.#response.destroy();
    this.#request.socket.destroy();
  }

  whenGone(callback: () => void): void {
    const response = this.#response;
    if (!this.open) {
      if (!response.writableEnded) callback();
      return;
    }
    // It comes once by itself, and `once` costs more.
    response.on('close', () => {
      if (!response.writableFinished) callback();
    });
  }

  #waitForDrain(): void {
    this.#flow.watch(this);
    if (this.#waitsForDrain) return;
    this.#waitsForDrain = true;
    this.#response.once('drain', () => {
      this.#waitsForDrain = false;
      this.#flow.unwatch(this);
      const { onDrain } = this;
      this.onDrain = undefined;
      onDrain?.();
    });
  }

  #onData(chunk: Buffer): void {
    this.#received += chunk.length;
    if (this.#received > this.#edge.settings.maxBodyBytes) {
      this.#chunks = undefined;
      this.#edge.tooLarge(this, this);
      return;
    }
    if (this.#chunks === undefined) this.#chunks = [chunk];
    else this.#chunks.push(chunk);
  }

  #onEnd(): void {
    if (this.#received > this.#edge.settings.maxBodyBytes) return;
    const chunks = this.#chunks ?? [];
    this.#chunks = undefined;
    const [first = EMPTY] = chunks;
    this.#post(chunks.length <= 1 ? first : Buffer.concat(chunks, this.#received));
  }

  /** Frameworks put what their parser read on the request. */
  #takeParsedBody(): void {
    const body: unknown = 'body' in this.#request ? this.#request.body : undefined;
    const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body ?? '');
    this.#post(Buffer.from(text as string));
  }

  #post(body: Buffer): void {
    try {
      this.#edge.post(this, this, body);
    } catch (error) {
      this.#edge.fault(error, this);
    }
  }
}

const EMPTY = Buffer.alloc(0);
/** Replies up to this are copied into the write of their head. */
const SHORT = 8 * 1024;
/** Replies below this are not watched: the kernel takes them whole. */
const LARGE = 64 * 1024;
