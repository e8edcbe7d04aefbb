import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createNodeHandler, createWebHandler } from '../../src/http/index.js';
import type { HttpOptions } from '../../src/http/index.js';
import type { Dispatcher } from '../../src/index.js';

/** What a test needs of an endpoint, the same for both handlers. */
export interface Endpoint {
  readonly url: string;
  readonly port: number;
  fetch(path: string, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

/** The handler for `node:http` on a real socket. */
export async function nodeEndpoint(dispatcher: Dispatcher, options: HttpOptions = {}): Promise<Endpoint> {
  const handler = createNodeHandler(dispatcher, options);
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  return {
    url: `${origin}${options.path ?? '/mcp'}`,
    port,
    fetch: (path, init) => fetch(origin + path, init),
    async close() {
      await dispatcher.close();
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The handler for `Request` and `Response`, called directly. */
export async function webEndpoint(dispatcher: Dispatcher, options: HttpOptions = {}): Promise<Endpoint> {
  const handler = createWebHandler(dispatcher, options);
  const origin = 'http://localhost:8080';
  return {
    url: `${origin}${options.path ?? '/mcp'}`,
    port: 8080,
    fetch: (path, init) => handler(new Request(origin + path, init)),
    async close() {
      await dispatcher.close();
      await handler.close();
    },
  };
}

export const BOTH = [
  ['node:http', nodeEndpoint],
  ['Request and Response', webEndpoint],
] as const;

export const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json' };
export const SSE_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

export function post(
  endpoint: Endpoint,
  body: unknown,
  headers: Record<string, string> = {},
  path = '/mcp',
): Promise<Response> {
  return endpoint.fetch(path, {
    method: 'POST',
    headers: { ...JSON_HEADERS, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

export const initializeBody = (protocolVersion = '2025-11-25', id: unknown = 'init') => ({
  jsonrpc: '2.0',
  id,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

/** Opens a session and answers its id. */
export async function openSession(endpoint: Endpoint, protocolVersion?: string): Promise<string> {
  const response = await post(endpoint, initializeBody(protocolVersion));
  await response.text();
  const id = response.headers.get('mcp-session-id');
  if (id === null) throw new Error(`initialize answered ${response.status} without a session id`);
  return id;
}

/** Reads a stream to its end, or until `count` messages came. */
export async function readMessages(response: Response, count = Number.POSITIVE_INFINITY): Promise<unknown[]> {
  const messages: unknown[] = [];
  if (response.body === null) return messages;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (messages.length < count) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = event.split('\n').find((line) => line.startsWith('data: {'));
      if (data !== undefined) messages.push(JSON.parse(data.slice(6)));
    }
  }
  if (Number.isFinite(count)) await reader.cancel().catch(() => undefined);
  return messages;
}
