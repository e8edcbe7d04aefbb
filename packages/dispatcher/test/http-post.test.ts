import { afterEach, describe, expect, it } from 'vitest';
import { settled } from './support/clock.js';
import { BOTH, SSE_HEADERS, initializeBody, openSession, post, readMessages } from './support/http.js';
import type { Endpoint } from './support/http.js';
import { shared } from './support/shared.js';

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} };
let endpoint: Endpoint | undefined;
afterEach(() => endpoint?.close());

describe.each(BOTH)('a POST to the endpoint for %s', (_name, open) => {
  async function setup(options: Parameters<typeof open>[1] = {}, dispatcherOptions: Parameters<typeof shared>[0] = {}) {
    const backend = shared(dispatcherOptions);
    endpoint = await open(backend.dispatcher, options);
    return { ...backend, endpoint };
  }
  type Setup = Awaited<ReturnType<typeof setup>>;

  /** Sends a call and waits until the server has it. */
  async function calling({ endpoint, connection }: Setup, headers: Record<string, string>, body: unknown = call) {
    const before = connection.of('tools/call').length;
    const pending = post(endpoint, body, headers);
    while (connection.of('tools/call').length === before) await settled();
    return pending.then.bind(pending) as unknown as () => Promise<Response>;
  }
  const answerOf = async (response: Response) => [response.status, await response.json()] as const;

  it.each([
    ['{"jsonrpc":"2.0","id":1,"method":"x"', -32700],
    ['', -32700],
    ['nonsense', -32700],
    ['{"jsonrpc":"2.0","id":1,"method":"x"} trailing', -32700],
    ['"text"', -32600],
    ['{}', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"x"}', -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"x"}', -32600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"x"}', -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"x"}', -32600],
    ['{"jsonrpc":"2.0","id":true,"method":"x"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}', -32600],
    ['{"jsonrpc":"2.0"}', -32600],
  ])('of %j is refused with %i and no id', async (text, code) => {
    const { endpoint, connection } = await setup();
    const response = await post(endpoint, text);
    expect(response.status).toBe(400);
    const body = (await response.json()) as Record<string, unknown>;
    expect(body).toMatchObject({ jsonrpc: '2.0', error: { code } });
    expect(body).not.toHaveProperty('id');
    expect(connection.sent).toEqual([]);
  });

  it.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/jsonp', 415],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON', 200],
  ])('with the content type %s gets %i', async (type, status) => {
    const { endpoint } = await setup();
    expect((await post(endpoint, initializeBody(), { 'content-type': type })).status).toBe(status);
  });

  it('of exactly the limit passes, of one byte more does not', async () => {
    const { endpoint } = await setup({ maxBodyBytes: 300 });
    const padded = (length: number) => {
      const text = JSON.stringify(initializeBody());
      return text.slice(0, -1) + ' '.repeat(length - text.length) + '}';
    };
    expect((await post(endpoint, padded(300))).status).toBe(200);
    const response = await post(endpoint, padded(301));
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error: { code: -32600 } });
  });

  it('above the limit that does not say its length is refused as well', async () => {
    const { endpoint } = await setup({ maxBodyBytes: 300 });
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(Buffer.alloc(100, 0x20));
      },
    });
    const response = await endpoint
      .fetch('/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: stream,
        duplex: 'half',
      } as RequestInit)
      .catch((error: unknown) => error);
    // Over a socket the server may be gone before the client has read its answer.
    if (response instanceof Response) expect(response.status).toBe(413);
    else expect(response).toBeInstanceOf(TypeError);
  });

  it('without a session works, and gets no session', async () => {
    const all = await setup();
    const done = await calling(all, {});
    all.connection.answer('tools/call', { ok: true });
    const response = await done();
    expect(response.headers.get('mcp-session-id')).toBeNull();
    expect(await answerOf(response)).toEqual([200, { jsonrpc: '2.0', id: 1, result: { ok: true } }]);
  });

  it.each([['unknown'], ['00000000-0000-4000-8000-000000000000'], ['../../etc'], ['__proto__']])(
    'of the session %j, which we never gave, gets 404 with its id',
    async (session) => {
      const { endpoint } = await setup();
      const response = await post(endpoint, { ...call, id: 'a' }, { 'mcp-session-id': session });
      expect(await answerOf(response)).toEqual([
        404,
        { jsonrpc: '2.0', id: 'a', error: { code: -32001, message: 'Session not found' } },
      ]);
    },
  );

  it.each([
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['an answer', { jsonrpc: '2.0', id: 1, result: {} }],
  ])('with %s of an unknown session gets 404 without an id', async (_what, message) => {
    const { endpoint } = await setup();
    const response = await post(endpoint, message, { 'mcp-session-id': 'unknown' });
    expect(await answerOf(response)).toEqual([
      404,
      { jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' } },
    ]);
  });

  it('never adopts a session id that the client chose', async () => {
    const { endpoint } = await setup();
    const chosen = '11111111-1111-4111-8111-111111111111';
    const response = await post(endpoint, initializeBody(), { 'mcp-session-id': chosen });
    const given = response.headers.get('mcp-session-id');
    expect(given).not.toBeNull();
    expect(given).not.toBe(chosen);
    expect((await post(endpoint, call, { 'mcp-session-id': chosen })).status).toBe(404);
  });

  it('with initialize on a session that is there gets its answer without a header', async () => {
    const { endpoint } = await setup();
    const session = await openSession(endpoint);
    const response = await post(endpoint, initializeBody(), { 'mcp-session-id': session });
    expect([response.status, response.headers.get('mcp-session-id')]).toEqual([200, null]);
  });

  it('with initialize that fails gets no session', async () => {
    const { endpoint, connection, dispatcher } = await setup();
    connection.initializeResult = undefined;
    const pending = post(endpoint, initializeBody());
    while (connection.of('initialize').length === 0) await settled();
    connection.say({ jsonrpc: '2.0', id: connection.last('initialize')['id'], error: { code: -1, message: 'no' } });
    const response = await pending;
    expect([response.status, response.headers.get('mcp-session-id')]).toEqual([200, null]);
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 'init', error: { code: -1, message: 'no' } });
    expect(dispatcher.stats().sessions).toBe(0);
  });

  it('reuses no id that is on its way', async () => {
    const all = await setup();
    const headers = { 'mcp-session-id': await openSession(all.endpoint) };
    const done = await calling(all, headers);
    const response = await post(all.endpoint, call, { ...headers, ...SSE_HEADERS });
    expect(await answerOf(response)).toEqual([
      400,
      { jsonrpc: '2.0', id: 1, error: { code: -32600, message: 'Request id already in flight' } },
    ]);
    all.connection.answer('tools/call', { first: true });
    expect(await answerOf(await done())).toMatchObject([200, { result: { first: true } }]);
  });

  it('that is cancelled is answered as JSON, or its stream ends without an answer', async () => {
    const all = await setup();
    const headers = { 'mcp-session-id': await openSession(all.endpoint) };
    const plain = await calling(all, headers, { ...call, id: 'plain' });
    const stream = await calling(all, { ...headers, ...SSE_HEADERS }, { ...call, id: 'stream' });
    for (const requestId of ['plain', 'stream']) {
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } };
      expect((await post(all.endpoint, cancel, headers)).status).toBe(202);
    }
    expect(await answerOf(await plain())).toEqual([
      200,
      { jsonrpc: '2.0', id: 'plain', error: { code: -32603, message: 'Request cancelled' } },
    ]);
    const response = await stream();
    expect([response.headers.get('content-type'), await response.text()]).toEqual(['text/event-stream', '']);
  });

  it('that times out gets 504, or an error as an event', async () => {
    const all = await setup({}, { requestTimeoutMs: 500 });
    const headers = { 'mcp-session-id': await openSession(all.endpoint) };
    const plain = await calling(all, headers, { ...call, id: 'plain' });
    const stream = await calling(all, { ...headers, ...SSE_HEADERS }, { ...call, id: 'stream' });
    await all.clock.advance(600);
    const error = { code: -32000, message: 'Timeout' };
    expect(await answerOf(await plain())).toEqual([504, { jsonrpc: '2.0', id: 'plain', error }]);
    expect(await readMessages(await stream())).toEqual([{ jsonrpc: '2.0', id: 'stream', error }]);
  });

  it('whose server dies gets 502, or an error as an event; the next gets 503 with the time to wait', async () => {
    const all = await setup();
    const headers = { 'mcp-session-id': await openSession(all.endpoint) };
    const plain = await calling(all, headers, { ...call, id: 'plain' });
    const stream = await calling(all, { ...headers, ...SSE_HEADERS }, { ...call, id: 'stream' });
    all.connection.down({ exitCode: 7, signal: null, retryAfterMs: 4500 });
    const error = {
      code: -32603,
      message: 'MCP server process exited',
      data: { exitCode: 7, signal: null, restarting: true },
    };
    expect(await answerOf(await plain())).toEqual([502, { jsonrpc: '2.0', id: 'plain', error }]);
    expect(await readMessages(await stream())).toEqual([{ jsonrpc: '2.0', id: 'stream', error }]);
    for (const accept of [headers, { ...headers, ...SSE_HEADERS }]) {
      const next = await post(all.endpoint, call, accept);
      expect([next.status, next.headers.get('retry-after')]).toEqual([503, '5']);
      expect(await next.json()).toMatchObject({ id: 1, error: { code: -32603 } });
    }
  });

  it('opens its stream when the answer takes a while, and comments on it', async () => {
    const all = await setup({}, { requestTimeoutMs: 100_000 });
    const headers = { 'mcp-session-id': await openSession(all.endpoint), ...SSE_HEADERS };
    const done = await calling(all, headers);
    await all.clock.advance(1100);
    const response = await done();
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    await all.clock.advance(31_000);
    all.connection.answer('tools/call', {});
    expect(await response.text()).toBe(
      ': keep-alive\n\nevent: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n',
    );
  });

  it('that takes event streams alone gets one', async () => {
    const all = await setup();
    const done = await calling(all, { accept: 'text/event-stream' });
    all.connection.answer('tools/call', {});
    const response = await done();
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await response.text()).toBe('event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n');
    const opened = await post(all.endpoint, initializeBody(), { accept: 'text/event-stream' });
    expect(opened.headers.get('mcp-session-id')).not.toBeNull();
    expect(await readMessages(opened)).toMatchObject([{ id: 'init' }]);
  });

  it.each([['application/json'], ['*/*'], ['application/*'], ['text/html'], ['']])(
    'that accepts %j gets JSON',
    async (accept) => {
      const all = await setup();
      const done = await calling(all, { accept });
      all.connection.answer('tools/call', {});
      expect((await done()).headers.get('content-type')).toBe('application/json');
    },
  );

  it('keeps every byte but the id and the token, both ways', async () => {
    const all = await setup();
    const body =
      '{"params" : {"z":12345678901234567890,"a":"\u00a0\u2028👩‍👩‍👧 \\u0041","_meta":{"progressToken":9007199254740993}},"id":9007199254740993,"method":"tools/call","jsonrpc":"2.0"}';
    const done = await calling(all, SSE_HEADERS, body);
    const wire = String(all.connection.last('tools/call')['id']);
    expect(all.connection.raw.at(-1)?.toString()).toBe(body.replaceAll('9007199254740993', wire));
    all.connection.say(`{"result":{"n":0.1000,"s":"\u2029\uFFFD"},"id":${wire},"jsonrpc":"2.0"}`);
    expect(await (await done()).text()).toBe(
      '{"result":{"n":0.1000,"s":"\u2029\uFFFD"},"id":9007199254740993,"jsonrpc":"2.0"}',
    );
  });

  it('that is written over several lines arrives as one', async () => {
    const all = await setup();
    const done = await calling(all, {}, JSON.stringify(call, null, 2));
    expect(all.connection.raw.at(-1)?.includes(0x0a)).toBe(false);
    all.connection.answer('tools/call', {});
    await done();
  });

  it.each([
    ['2024-11-05', 200],
    ['2025-11-25', 200],
    [undefined, 200],
    ['2099-01-01', 400],
    ['', 400],
  ])('with the version %j gets %i where versions are checked', async (version, status) => {
    const { endpoint } = await setup({ strictProtocolValidation: true });
    const headers: Record<string, string> = version === undefined ? {} : { 'mcp-protocol-version': version };
    expect((await post(endpoint, initializeBody(), headers)).status).toBe(status);
    const session = await openSession(endpoint);
    const deleted = await endpoint.fetch('/mcp', {
      method: 'DELETE',
      headers: { ...headers, 'mcp-session-id': session },
    });
    expect(deleted.status).toBe(status === 200 ? 204 : 400);
  });

  it('with an unknown version is served otherwise', async () => {
    const { endpoint } = await setup();
    expect((await post(endpoint, initializeBody(), { 'mcp-protocol-version': '2099-01-01' })).status).toBe(200);
  });
});
