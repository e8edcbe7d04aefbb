import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTransparentProxy, openListener } from '../../src/index.js';
import type { TransparentProxy, TransparentProxyOptions, UpstreamFailure } from '../../src/index.js';

/** A server of a test on a free port. */
export interface TestServer {
  readonly port: number;
  readonly origin: string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openServer(handler: RequestListener, port = 0): Promise<TestServer> {
  const server = createServer(handler);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: bound } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return { port: bound, origin: `http://127.0.0.1:${bound}`, close, [Symbol.asyncDispose]: close };
}

/** A proxy behind a listener, with what it told of failures. */
export interface TestProxy extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly proxy: TransparentProxy;
  readonly failures: UpstreamFailure[];
}

export async function openProxy(options: TransparentProxyOptions): Promise<TestProxy> {
  const failures: UpstreamFailure[] = [];
  const proxy = createTransparentProxy({ onFailure: (failure) => failures.push(failure), ...options });
  const listener = await openListener({ handler: proxy });
  return {
    origin: listener.origin,
    port: listener.port,
    proxy,
    failures,
    async [Symbol.asyncDispose]() {
      await proxy.close();
      await listener.close({ graceMs: 100 });
    },
  };
}

export async function readBody(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The answer to a request; `broken` when it did not arrive whole. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly json: {
    readonly id?: unknown;
    readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly reason?: string } };
    readonly result?: unknown;
  };
  readonly broken: boolean;
}

/** Sends a request through `node:http`, which lets a test set every header. */
export async function ask(
  url: string,
  options: { method?: string; headers?: Record<string, string | string[]>; body?: string | Buffer } = {},
): Promise<Answer> {
  const { method = options.body === undefined ? 'GET' : 'POST', body } = options;
  const headers = { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...options.headers };
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      const done = (): void => {
        const bytes = Buffer.concat(chunks);
        let json = {};
        try {
          json = JSON.parse(bytes.toString()) as object;
        } catch {
          // Not every answer is JSON.
        }
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: bytes,
          json,
          broken: !response.complete,
        });
      };
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => undefined);
      response.on('close', done);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

export const rpc = (id: number | string, method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

export function sendJson(response: ServerResponse, value: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}
