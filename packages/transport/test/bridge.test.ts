import { randomUUID } from 'node:crypto';
import type { RequestListener, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { findFreePort, runBridge } from '../src/index.js';
import type { BridgeOptions, BridgeOutcome } from '../src/index.js';
import { openServer, readBody, rpc, sendJson } from './support/server.js';

interface Line {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A bridge whose client is the test. */
function openBridge(url: string, options: Partial<BridgeOptions> = {}) {
  const input = new PassThrough();
  const output = new PassThrough();
  const lines: string[] = [];
  let text = '';
  let wake: () => void = () => undefined;
  output.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const parts = text.split('\n');
    text = parts.pop() ?? '';
    lines.push(...parts);
    wake();
  });
  const ended: Promise<BridgeOutcome> = runBridge({ url, input, output, retryDelayMs: 20, ...options });
  return {
    ended,
    say: (message: string) => void input.write(`${message}\n`),
    end: () => input.end(),
    raw: () => lines,
    async next(): Promise<Line> {
      while (lines.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return JSON.parse(lines.shift() as string) as Line;
    },
  };
}

const initialize = rpc('init', 'initialize', { protocolVersion: '2025-11-25', capabilities: { sampling: {} } });
const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly requestId?: unknown };
}

/** A server with sessions that can be forgotten; notes what it gets. */
function sessionServer() {
  const sessions = new Set<string>();
  const seen: string[] = [];
  const state = { sessions, seen, handshakes: 0, aborted: 0, deleted: 0, greeting: '' };
  const handler: RequestListener = (request, response) => {
    void (async () => {
      const session = request.headers['mcp-session-id'];
      const body = (await readBody(request)).toString();
      const message = (body === '' ? {} : JSON.parse(body)) as Message;
      seen.push(`${request.method} ${message.method ?? ''}`.trim());
      if (message.method === 'initialize') {
        state.handshakes += 1;
        state.greeting = body;
        const id = randomUUID();
        sessions.add(id);
        const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } };
        sendJson(response, { jsonrpc: '2.0', id: message.id, result }, { 'mcp-session-id': id });
      } else if (typeof session !== 'string' || !sessions.has(session)) {
        response.writeHead(404).end();
      } else if (request.method === 'DELETE') {
        state.deleted += 1;
        response.writeHead(204).end();
      } else if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('event: message\ndata: {"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage"}\n\n');
      } else if (message.id === undefined || message.method === undefined) {
        response.writeHead(202).end();
      } else if (message.method === 'slow') {
        response.on('close', () => (state.aborted += 1));
      } else if (message.method === 'stream') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(
          'data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"n":12345678901234567890}}\n\n',
        );
        response.end(
          `data: {"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"version":"${request.headers['mcp-protocol-version']}"}}\n\n`,
        );
      } else sendJson(response, { jsonrpc: '2.0', id: message.id, result: {} });
    })();
  };
  return { ...state, state, handler };
}

describe('a bridge', () => {
  it('passes the handshake through as it is, both streams and answers, and ends the session', async () => {
    const { handler, state } = sessionServer();
    await using server = await openServer(handler);
    const bridge = openBridge(`${server.origin}/mcp`);
    bridge.say(initialize);
    expect(await bridge.next()).toMatchObject({ id: 'init', result: { serverInfo: { name: 's' } } });
    expect(state.greeting).toBe(initialize);
    bridge.say(initialized);
    expect(await bridge.next()).toMatchObject({ id: 's1', method: 'sampling/createMessage' });
    bridge.say('{"jsonrpc":"2.0","id":"s1","result":{"role":"assistant"}}');
    bridge.say(rpc(0, 'stream'));
    await expect.poll(() => bridge.raw().length).toBe(2);
    expect(bridge.raw()[0]).toContain('12345678901234567890');
    await bridge.next();
    expect(await bridge.next()).toMatchObject({ id: 0, result: { version: '2025-11-25' } });
    bridge.end();
    expect(await bridge.ended).toEqual({ kind: 'ended' });
    expect(state.deleted).toBe(1);
  });

  it('opens a lost session again, once, and asks again', async () => {
    const { handler, state } = sessionServer();
    await using server = await openServer(handler);
    const bridge = openBridge(server.origin);
    bridge.say(initialize);
    await bridge.next();
    bridge.say(initialized);
    await bridge.next();
    state.sessions.clear();
    for (const id of [1, 2, 3]) bridge.say(rpc(id, 'tools/list'));
    const ids = new Set<unknown>();
    while (ids.size < 3) {
      const line = await bridge.next();
      if (line.method === undefined) ids.add(line.id);
      expect(line.error).toBeUndefined();
    }
    expect(state.handshakes).toBe(2);
    expect(state.seen.filter((line) => line === 'POST notifications/initialized')).toHaveLength(2);
    bridge.end();
    await bridge.ended;
  });

  it('forwards a cancellation and gives the request up', async () => {
    const { handler, state } = sessionServer();
    await using server = await openServer(handler);
    const bridge = openBridge(server.origin);
    bridge.say(initialize);
    await bridge.next();
    bridge.say(rpc(5, 'slow'));
    await expect.poll(() => state.seen).toContain('POST slow');
    bridge.say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}');
    await expect.poll(() => state.aborted).toBe(1);
    expect(state.seen).toContain('POST notifications/cancelled');
    bridge.say(rpc(6, 'ping'));
    expect(await bridge.next()).toEqual({ jsonrpc: '2.0', id: 6, result: {} });
    bridge.end();
    await bridge.ended;
  });

  it('loses nothing when the input ends right behind the questions', async () => {
    const { handler } = sessionServer();
    await using server = await openServer(handler);
    const bridge = openBridge(server.origin);
    for (const line of [initialize, initialized, rpc(1, 'ping'), rpc(2, 'stream')]) bridge.say(line);
    bridge.end();
    expect(await bridge.ended).toEqual({ kind: 'ended' });
    const ids = bridge.raw().map((line) => (JSON.parse(line) as Line).id);
    for (const id of ['init', 1, 2]) expect(ids).toContain(id);
  });

  it('goes on when the server was away for a moment', async () => {
    const first = sessionServer();
    const port = await findFreePort();
    let server = await openServer(first.handler, port);
    const bridge = openBridge(`http://127.0.0.1:${port}/mcp`);
    bridge.say(initialize);
    await bridge.next();
    await server.close();
    bridge.say(rpc(1, 'ping'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const second = sessionServer();
    server = await openServer(second.handler, port);
    expect(await bridge.next()).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    expect(second.state.handshakes).toBe(1);
    bridge.end();
    await bridge.ended;
    await server.close();
  });

  it('answers what was asked and fails when there is no server', async () => {
    const port = await findFreePort();
    const bridge = openBridge(`http://127.0.0.1:${port}/mcp`);
    bridge.say(initialize);
    expect(await bridge.next()).toMatchObject({
      id: 'init',
      error: { code: -32603, message: expect.stringContaining(`127.0.0.1:${port}`) as string },
    });
    expect(await bridge.ended).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
  });

  it.each([
    [500, 'text/plain', 'oops', /status 500.*log of the server: oops/],
    [401, 'text/plain', '', /status 401.*credentials/],
    [200, 'text/html', '<html>', /text\/html; check the URL/],
  ])('tells status %d of %s', async (status, type, body, text) => {
    await using server = await openServer(
      (_, response) => void response.writeHead(status, { 'content-type': type }).end(body),
    );
    const bridge = openBridge(server.origin);
    bridge.say(initialize);
    expect((await bridge.next()).error?.message).toMatch(text);
    expect((await bridge.ended).kind).toBe('failed');
  });

  it('answers what is no message, and goes on', async () => {
    const { handler } = sessionServer();
    await using server = await openServer(handler);
    const bridge = openBridge(server.origin);
    bridge.say('{"jsonrpc":"2.0","id":');
    expect(await bridge.next()).toMatchObject({ error: { code: -32700 } });
    bridge.say(initialize);
    expect(await bridge.next()).toMatchObject({ id: 'init' });
    bridge.end();
    await bridge.ended;
  });

  it('ends when it is told to, and when the client reads no more', async () => {
    const { handler } = sessionServer();
    await using server = await openServer(handler);
    const controller = new AbortController();
    const bridge = openBridge(server.origin, { signal: controller.signal });
    bridge.say(initialize);
    await bridge.next();
    controller.abort();
    expect(await bridge.ended).toEqual({ kind: 'ended' });
  });

  it('speaks the newer era as it is spoken to', async () => {
    const headers: unknown[] = [];
    await using server = await openServer(async (request, response) => {
      headers.push([
        request.headers['mcp-protocol-version'],
        request.headers['mcp-method'],
        request.headers['mcp-name'],
      ]);
      const { id } = JSON.parse((await readBody(request)).toString()) as Message;
      sendJson(response, { jsonrpc: '2.0', id, result: {} });
    });
    const bridge = openBridge(server.origin);
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    bridge.say(rpc(1, 'tools/call', { name: 'ż', _meta }));
    await bridge.next();
    expect(headers).toEqual([['2026-07-28', 'tools/call', '=?base64?xbw=?=']]);
    bridge.end();
    await bridge.ended;
  });

  it('refuses an address that is none', async () => {
    await expect(openBridge('ftp://x').ended).rejects.toMatchObject({ code: 'ERR_TRANSPORT_ARGUMENT' });
  });
});

describe('a bridge over the older transport', () => {
  it('greets again when the stream was lost, and keeps the second greeting to itself', async () => {
    const streams: ServerResponse[] = [];
    const seen: string[] = [];
    await using server = await openServer((request, response) => {
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`event: endpoint\ndata: /messages?sessionId=${streams.length}\n\n`);
        streams.push(response);
        return;
      }
      void readBody(request).then((bytes) => {
        const message = JSON.parse(bytes.toString()) as Message;
        seen.push(`${request.url?.slice(-1)} ${message.method}`);
        response.writeHead(202).end('Accepted');
        if (message.id === undefined) return;
        streams
          .at(-1)
          ?.write(`event: message\ndata: {"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{}}\n\n`);
      });
    });
    const bridge = openBridge(`${server.origin}/sse`, { transport: 'sse' });
    bridge.say(initialize);
    expect(await bridge.next()).toMatchObject({ id: 'init' });
    bridge.say(initialized);
    await expect.poll(() => seen).toHaveLength(2);
    streams[0]?.destroy();
    await expect.poll(() => seen).toHaveLength(4);
    bridge.say(rpc(1, 'ping'));
    expect(await bridge.next()).toMatchObject({ id: 1, result: {} });
    expect(seen).toEqual([
      '0 initialize',
      '0 notifications/initialized',
      '1 initialize',
      '1 notifications/initialized',
      '1 ping',
    ]);
    bridge.end();
    await bridge.ended;
  });

  it('sends no message to another origin', async () => {
    await using server = await openServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('event: endpoint\ndata: http://evil.example/messages\n\n');
    });
    const bridge = openBridge(`${server.origin}/sse`, { transport: 'sse' });
    bridge.say(initialize);
    expect(await bridge.next()).toMatchObject({
      id: 'init',
      error: { message: expect.stringContaining('evil.example') as string },
    });
    expect((await bridge.ended).kind).toBe('failed');
  });
});
