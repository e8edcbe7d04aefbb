import type { Dispatcher } from '../dispatcher.js';
import type { FlowGuard } from '../flow-guard.js';
import { Edge } from './edge.js';
import type { HttpOptions } from './options.js';
import type { HeaderList, Incoming, ResponseWriter } from './writer.js';

/** A fetch handler, with the middlewares' end. */
export interface WebHandler {
  (request: Request): Promise<Response>;
  /** Closes the middlewares; the dispatcher is closed by its owner. */
  close(): Promise<void>;
}

/**
 * Serves a dispatcher as a Streamable HTTP endpoint for any server of the `Request`/`Response` kind. Such a server does
 * not tell on which address it listens, so requests to other names than this machine's need `allowedHosts`.
 *
 * @throws DispatcherError `ERR_DISPATCHER_ARGUMENT` for an option of the wrong kind
 * @example app.all('/mcp', (context) => handler(context.req.raw))
 */
export function createWebHandler(dispatcher: Dispatcher, options: HttpOptions = {}): WebHandler {
  const edge = new Edge(dispatcher, options);
  const handler = async (request: Request): Promise<Response> => {
    const incoming = incomingFrom(request);
    const writer = new WebWriter(dispatcher.flow, request.signal);
    try {
      if (edge.admit(incoming, writer)) await takeBody(edge, request, incoming, writer);
    } catch (error) {
      edge.fault(error, writer);
    }
    return writer.response;
  };
  return Object.assign(handler, { close: () => edge.close() });
}

function incomingFrom(request: Request): Incoming {
  const url = new URL(request.url);
  const headers: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of request.headers) headers[name] = value;
  headers['host'] ??= url.host;
  return {
    method: request.method,
    path: url.pathname,
    headers,
    remoteAddress: undefined,
    localPort: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    localAddress: undefined,
  };
}

async function takeBody(edge: Edge, request: Request, incoming: Incoming, writer: ResponseWriter): Promise<void> {
  const chunks: Uint8Array[] = [];
  let received = 0;
  if (request.body !== null) {
    const reader = request.body.getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      received += read.value.byteLength;
      if (received > edge.settings.maxBodyBytes) {
        edge.tooLarge(incoming, writer);
        void reader.cancel().catch(() => undefined);
        return;
      }
      chunks.push(read.value);
    }
  }
  edge.post(incoming, writer, Buffer.concat(chunks, received));
}

const HIGH_WATER_BYTES = 64 * 1024;

/** A `Response` that is complete or streams, as the edge decides. */
class WebWriter implements ResponseWriter {
  readonly response: Promise<Response>;
  onDrain?: (() => void) | undefined;
  readonly #flow: FlowGuard;
  #resolve: (response: Response) => void = () => undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #state: 'fresh' | 'streaming' | 'done' = 'fresh';
  #gone: (() => void)[] = [];

  constructor(flow: FlowGuard, signal: AbortSignal) {
    this.#flow = flow;
    this.response = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    signal.addEventListener('abort', () => this.#lost(), { once: true });
  }

  get open(): boolean {
    return this.#state !== 'done';
  }

  get bufferedBytes(): number {
    const { desiredSize } = this.#controller ?? {};
    return desiredSize === undefined || desiredSize === null ? 0 : HIGH_WATER_BYTES - desiredSize;
  }

  reply(status: number, headers: HeaderList, body?: Buffer): void {
    if (this.#state !== 'fresh') return;
    // First the response: when it refuses a header, another one must still be possible.
    const content = (body as Uint8Array<ArrayBuffer> | undefined) ?? null;
    const response = new Response(content, { status, headers: pairs(headers) });
    this.#state = 'done';
    this.#resolve(response);
  }

  openStream(headers: HeaderList): void {
    if (this.#state !== 'fresh') return;
    this.#state = 'streaming';
    const stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pulled(),
        cancel: () => this.#lost(),
      },
      { highWaterMark: HIGH_WATER_BYTES, size: (chunk) => chunk.byteLength },
    );
    this.#resolve(new Response(stream, { status: 200, headers: pairs(headers) }));
  }

  write(chunk: Buffer): boolean {
    if (this.#state !== 'streaming') return true;
    if (this.bufferedBytes > this.#flow.maxSinkBytes) {
      this.destroy();
      return true;
    }
    this.#controller?.enqueue(chunk);
    if ((this.#controller?.desiredSize ?? 1) > 0) return true;
    this.#flow.watch(this);
    return false;
  }

  end(chunk?: Buffer): void {
    if (this.#state !== 'streaming') return;
    if (chunk !== undefined) this.write(chunk);
    if (this.#state !== 'streaming') return;
    this.#state = 'done';
    this.#controller?.close();
  }

  destroy(): void {
    this.#controller?.error(new Error('The client reads too slowly'));
    this.#lost();
  }

  whenGone(callback: () => void): void {
    this.#gone.push(callback);
  }

  #pulled(): void {
    this.#flow.unwatch(this);
    const { onDrain } = this;
    this.onDrain = undefined;
    onDrain?.();
  }

  #lost(): void {
    if (this.#state === 'done') return;
    this.#state = 'done';
    this.#flow.unwatch(this);
    for (const callback of this.#gone) callback();
    this.#gone = [];
  }
}

function pairs(headers: HeaderList): [string, string][] {
  const list: [string, string][] = [];
  for (let index = 0; index + 1 < headers.length; index += 2)
    list.push([headers[index] ?? '', headers[index + 1] ?? '']);
  return list;
}
