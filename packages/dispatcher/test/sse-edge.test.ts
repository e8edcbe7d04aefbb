import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { hostileServer } from '@thv/doubles';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { createStdioConnection } from '@thv/transport';
import { afterEach, describe, expect, it } from 'vitest';
import { createDispatcher } from '../src/index.js';
import { createSseHandler } from '../src/sse/index.js';
import type { SseOptions } from '../src/sse/index.js';
import { initializeBody } from './support/http.js';

const everything = {
  command: process.execPath,
  args: [fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js')), 'stdio'],
};
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function endpoint(options: SseOptions = {}, command = hostileServer({})) {
  const connection = createStdioConnection({ ...command, env: process.env, stopGraceMs: 500, restart: false });
  const dispatcher = createDispatcher({ connection });
  const handler = createSseHandler(dispatcher, options);
  const server = createServer(handler).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  closers.push(async () => {
    await handler.close();
    await dispatcher.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { origin, dispatcher };
}

interface Event {
  readonly event: string;
  readonly data: string;
  readonly id: string;
}

/** One stream, read event by event. */
async function open(origin: string, headers: Record<string, string> = {}) {
  const controller = new AbortController();
  const response = await fetch(`${origin}/sse`, { headers, signal: controller.signal });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  const events: Event[] = [];
  let text = '';
  const next = async (): Promise<Event> => {
    while (events.length === 0) {
      const { done = true, value } = (await reader?.read()) ?? {};
      if (done) throw new Error('the stream ended');
      text += decoder.decode(value, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
        if (!block.startsWith(':')) events.push({ event: field('event'), data: field('data'), id: field('id') });
      }
    }
    return events.shift() as Event;
  };
  const { data: address, id } = await next();
  const send = (message: unknown) =>
    fetch(new URL(address, origin), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof message === 'string' ? message : JSON.stringify(message),
    });
  return { response, address, id, next, send, leave: () => controller.abort() };
}

const request = (id: unknown, method: string, params: object = {}) => ({ jsonrpc: '2.0', id, method, params });

describe('the edge for the older transport', () => {
  it('names a path for messages first, and answers only who asked, under the same id', async () => {
    const { origin } = await endpoint();
    const [one, two] = [await open(origin), await open(origin)];
    expect(one.address).toMatch(/^\/messages\?session_id=[0-9a-f-]{36}$/);
    for (const client of [one, two]) {
      const accepted = await client.send(initializeBody('2024-11-05', 1));
      expect(accepted.status).toBe(202);
      expect(await accepted.text()).toBe('Accepted');
      expect(JSON.parse((await client.next()).data)).toMatchObject({
        id: 1,
        result: { protocolVersion: '2024-11-05' },
      });
    }
    await Promise.all([one.send(request(2, 'tools/list')), two.send(request(2, 'ping'))]);
    const [first, second] = [await one.next(), await two.next()];
    expect(JSON.parse(first.data)).toMatchObject({ id: 2, result: { tools: expect.any(Array) as unknown } });
    expect(JSON.parse(second.data)).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
    await one.send(request(3, 'ping'));
    // Nothing of the other client came in between.
    expect(JSON.parse((await one.next()).data)).toMatchObject({ id: 3 });
  });

  it('gives a client that comes back what it missed, and nobody else', async () => {
    const { origin } = await endpoint();
    const gone = await open(origin);
    await gone.send(initializeBody('2024-11-05', 1));
    const { id } = await gone.next();
    gone.leave();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await gone.send(request(2, 'ping'))).status).toBe(202);
    const stranger = await open(origin);
    expect(stranger.address).not.toBe(gone.address);
    const back = await open(origin, { 'last-event-id': id });
    expect(back.address).toBe(gone.address);
    expect(JSON.parse((await back.next()).data)).toEqual({ jsonrpc: '2.0', id: 2, result: {} });
  });

  it('keeps no more than it is told, and forgets a client that stays away', async () => {
    const { origin, dispatcher } = await endpoint({ maxPendingMessages: 2, reconnectMs: 300 });
    const gone = await open(origin);
    await gone.send(initializeBody('2024-11-05', 1));
    const { id } = await gone.next();
    gone.leave();
    await new Promise((resolve) => setTimeout(resolve, 50));
    for (const number of [2, 3, 4]) await gone.send(request(number, 'ping'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const back = await open(origin, { 'last-event-id': id });
    expect(JSON.parse((await back.next()).data)).toMatchObject({ id: 3 });
    expect(JSON.parse((await back.next()).data)).toMatchObject({ id: 4 });
    back.leave();
    await expect.poll(() => dispatcher.stats().sessions).toBe(0);
    expect((await gone.send(request(5, 'ping'))).status).toBe(404);
  });

  it.each([
    ['no session', '/messages', '{}', 400],
    ['an unknown session', '/messages?session_id=x', JSON.stringify(request(1, 'ping')), 404],
  ])('refuses %s', async (_name, path, body, status) => {
    const { origin } = await endpoint();
    const response = await fetch(origin + path, { method: 'POST', body });
    expect(response.status).toBe(status);
    expect(await response.json()).not.toHaveProperty('id');
  });

  it.each([
    ['an array', '[]', 400, -32600],
    ['no JSON', '{', 400, -32700],
    [
      'the newer era',
      JSON.stringify(request(1, 'tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } })),
      400,
      -32022,
    ],
  ])('refuses %s with its code', async (_name, body, status, code) => {
    const { origin } = await endpoint();
    const client = await open(origin);
    const response = await client.send(body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code } });
  });

  it('refuses other verbs, large bodies and pages of strangers', async () => {
    const { origin } = await endpoint({ maxBodyBytes: 1000 });
    const client = await open(origin);
    expect((await fetch(`${origin}/sse`, { method: 'POST', body: '{}' })).status).toBe(405);
    expect((await fetch(`${origin}/messages`)).headers.get('allow')).toBe('POST');
    expect((await client.send(request(1, 'x'.repeat(2000)))).status).toBe(413);
    expect((await fetch(`${origin}/sse`, { headers: { origin: 'http://evil.example' } })).status).toBe(403);
    expect((await fetch(`${origin}/elsewhere`)).status).toBe(404);
  });

  it('tells its health without a word to the server', async () => {
    const { origin } = await endpoint();
    const client = await open(origin);
    expect(await (await fetch(`${origin}/health`)).json()).toMatchObject({ status: 'healthy' });
    await client.send(initializeBody('2024-11-05', 1));
    expect(JSON.parse((await client.next()).data)).toMatchObject({ id: 1 });
  });

  it.each<[SseOptions, Record<string, string>, RegExp]>([
    [{ endpointPrefix: '/own' }, { 'x-forwarded-prefix': '/theirs' }, /^\/own\/messages\?/],
    [
      { trustProxyHeaders: true },
      { 'x-forwarded-host': 'a.example', 'x-forwarded-proto': 'https' },
      /^https:\/\/a\.example\/messages\?/,
    ],
    [
      { trustProxyHeaders: true },
      { 'x-forwarded-port': '99', 'x-forwarded-prefix': '/p/sse' },
      /^http:\/\/127\.0\.0\.1:99\/p\/messages\?/,
    ],
    [{}, { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'evil.example' }, /^\/messages\?/],
  ])('with %j and %j names %s', async (options, headers, address) => {
    const { origin } = await endpoint(options);
    expect((await open(origin, headers)).address).toMatch(address);
  });

  it('shows each message to the middlewares, and refuses as they say', async () => {
    const { origin } = await endpoint({
      middlewares: [
        {
          name: 'guard',
          handle: async (context, next) =>
            context.message?.method === 'tools/call'
              ? { kind: 'refuse', status: 403, error: { code: 403, message: 'no' } }
              : next(),
          onFrame: (message) => (message.bytes.includes('"tools"') ? undefined : message),
        },
      ],
    });
    const client = await open(origin);
    expect((await client.send(request(1, 'tools/call'))).status).toBe(403);
    await client.send(initializeBody('2024-11-05', 2));
    expect(JSON.parse((await client.next()).data)).toMatchObject({ id: 2, error: { data: { reason: 'withheld' } } });
  });

  it('serves the official SDK', async () => {
    const { origin } = await endpoint({}, everything);
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new SSEClientTransport(new URL(`${origin}/sse`)));
    expect((await client.listTools()).tools.length).toBeGreaterThan(3);
    const echoed = await client.callTool({ name: 'echo', arguments: { message: 'ż🙂' } });
    expect(JSON.stringify(echoed)).toContain('ż🙂');
    await client.close();
  });
});
