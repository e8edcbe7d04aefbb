import { createSseReader, openSession, openSlowReader, send, until } from '@thv/doubles';
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createNodeHandler } from '../src/http/index.js';
import { settled } from './support/clock.js';
import { initializeBody, nodeEndpoint, openSession as openPlainSession, post } from './support/http.js';
import { realEndpoint } from './support/real.js';
import { shared } from './support/shared.js';

let close: (() => Promise<void>) | undefined;
afterEach(() => close?.());

const call = (name: string, args: unknown, meta?: unknown) => ({
  jsonrpc: '2.0',
  id: 'mine',
  method: 'tools/call',
  params: { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
});

describe('a resumable stream over HTTP', () => {
  it('survives the loss of its connection, and the client gets the rest with GET', async () => {
    const endpoint = await realEndpoint({ dispatcher: { resumability: true } });
    close = endpoint.close;
    const session = await openSession(endpoint.url);
    const body = call('progress', { count: 6, delayMs: 60 }, { progressToken: 7 });
    const first = await session.post(body, { agent: false });
    const events = createSseReader(first.body);
    const prime = await events.next();
    expect(prime).toMatchObject({ data: '' });
    expect(prime?.id).toMatch(/^post-.*\.0$/);
    const seen = await events.next();
    expect(seen?.data).toContain('"progressToken":7');
    first.body.destroy();
    const headers = { accept: 'text/event-stream', 'mcp-session-id': session.sessionId ?? '' };
    const resumed = await send(endpoint.url, { headers: { ...headers, 'last-event-id': seen?.id ?? '' } });
    const rest = await createSseReader(resumed.body).rest();
    const messages = rest.map(({ data }) => JSON.parse(data) as { id?: unknown; params?: { progress: number } });
    expect(messages.map(({ params }) => params?.progress)).toEqual([2, 3, 4, 5, 6, undefined]);
    expect(messages.at(-1)).toMatchObject({ id: 'mine', result: {} });
  });

  it('is not offered by default', async () => {
    const endpoint = await realEndpoint();
    close = endpoint.close;
    const session = await openSession(endpoint.url);
    const { text } = await session.request('tools/call', { name: 'echo', arguments: { message: 'x' } });
    expect(text).not.toContain('id: ');
  });
});

describe('a client that does not read', () => {
  it('is cut off above its limit, and nobody else notices', async () => {
    const endpoint = await realEndpoint({ dispatcher: { isolation: 'session', maxSinkBytes: 300_000 } });
    close = endpoint.close;
    const [slow, other] = [await openSession(endpoint.url), await openSession(endpoint.url)];
    const { flow } = endpoint.dispatcher;
    const watch = flow.watch.bind(flow);
    let lagged = 0;
    flow.watch = (receiver) => {
      lagged++;
      watch(receiver);
    };
    const flood = call('flood', {
      method: 'notifications/message',
      params: { level: 'info', data: 'flood' },
      padding: 'x'.repeat(1000),
      count: 20_000,
    });
    const connection = await openSlowReader(endpoint.url, JSON.stringify(flood), {
      'mcp-session-id': slow.sessionId ?? '',
    });
    connection.socket.on('error', () => undefined);
    await until('the call has been answered to nobody', () => lagged > 0 && endpoint.dispatcher.stats().inFlight === 0);
    expect(await other.callText('echo', { message: 'fine' })).toBe('fine');
    connection.resume();
    await connection.closed;
    expect(await slow.callText('echo', { message: 'again' })).toBe('again');
    await until('nobody lags behind', () => flow.size === 0);
    expect(endpoint.dispatcher.stats().sessions).toBe(2);
  });
});

describe('a client that leaves', () => {
  it('does not cancel its call', async () => {
    const { connection, dispatcher } = shared();
    const endpoint = await nodeEndpoint(dispatcher);
    close = endpoint.close;
    const headers = { 'mcp-session-id': await openPlainSession(endpoint) };
    const controller = new AbortController();
    const pending = endpoint
      .fetch('/mcp', {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(call('slow', {})),
        signal: controller.signal,
      })
      .catch(() => 'left');
    while (connection.of('tools/call').length === 0) await settled();
    controller.abort();
    expect(await pending).toBe('left');
    expect(connection.of('notifications/cancelled')).toEqual([]);
    expect(dispatcher.stats().inFlight).toBe(1);
    connection.answer('tools/call');
    expect(dispatcher.stats().inFlight).toBe(0);
  });
});

describe('a handler behind somebody else', () => {
  it.each<[string, (text: string) => unknown]>([
    ['an object', (text) => JSON.parse(text) as unknown],
    ['text', (text) => text],
    ['bytes', (text) => Buffer.from(text)],
  ])('takes a body that was read already, as %s', async (_what, convert) => {
    const { dispatcher } = shared();
    const handler = createNodeHandler(dispatcher);
    const server = createServer((request: IncomingMessage & { body?: unknown }, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      request.on('end', () => {
        setImmediate(() => {
          request.body = convert(text);
          handler(request, response);
        });
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    close = async () => {
      await dispatcher.close();
      server.closeAllConnections();
      server.close();
    };
    const { port } = server.address() as AddressInfo;
    const origin = `http://127.0.0.1:${port}`;
    const response = await post(
      { url: `${origin}/mcp`, port, fetch: (path, init) => fetch(origin + path, init), close: async () => undefined },
      initializeBody(),
    );
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: 'init', result: { protocolVersion: '2025-11-25' } });
  });
});
