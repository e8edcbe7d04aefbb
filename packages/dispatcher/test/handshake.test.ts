import { describe, expect, it } from 'vitest';
import { TestClient } from './support/client.js';
import { settled } from './support/clock.js';
import { shared } from './support/shared.js';

describe('the handshake with a shared server', () => {
  it('is made once, by the proxy, with no capabilities', async () => {
    const { connection, dispatcher } = shared({ clientInfo: { name: 'edge', version: '9' } });
    const clients = [1, 2, 3].map(() => new TestClient(dispatcher));
    const replies = clients.map((client) => client.initialize({ capabilities: { sampling: {} } }));
    await settled();
    expect(connection.of('initialize')).toHaveLength(1);
    expect(connection.last('initialize')['params']).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'edge', version: '9' },
    });
    expect(connection.of('notifications/initialized')).toHaveLength(1);
    expect(replies.map((reply) => reply.answer['id'])).toEqual([1, 1, 1]);
    expect(new Set(clients.map(({ session }) => session?.id)).size).toBe(3);
  });

  it.each([
    ['2025-11-25', '2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-11-25', '2025-06-18'],
    ['2024-11-05', '2025-11-25', '2024-11-05'],
    ['2025-11-25', '2025-06-18', '2025-06-18'],
    ['2099-01-01', '2025-11-25', '2025-11-25'],
    ['nonsense', '2025-11-25', '2025-11-25'],
    ['2025-11-25', 'custom', 'custom'],
  ])('answers a client of %s over a server of %s with %s', async (asked, server, answered) => {
    const { connection, dispatcher } = shared();
    connection.initializeResult = {
      protocolVersion: server,
      capabilities: {},
      serverInfo: { name: 'n', version: '1' },
    };
    const client = new TestClient(dispatcher);
    const reply = client.initialize({ protocolVersion: asked });
    await settled();
    expect(reply.answer['result']).toEqual({ ...connection.initializeResult, protocolVersion: answered });
    expect(client.session?.protocolVersion).toBe(answered);
  });

  it('comes before the first request without a session', async () => {
    const { connection, dispatcher } = shared();
    const reply = new TestClient(dispatcher).request('tools/list');
    await settled();
    expect(connection.sent.map(({ method }) => method)).toEqual([
      'initialize',
      'notifications/initialized',
      'tools/list',
    ]);
    connection.answer('tools/list', { tools: [] });
    expect(reply.answer).toMatchObject({ id: 1, result: { tools: [] } });
  });

  it('is shared in failure, which is not kept', async () => {
    const { connection, dispatcher } = shared();
    connection.initializeResult = undefined;
    const replies = [new TestClient(dispatcher), new TestClient(dispatcher)].map((client, index) => {
      for (let n = 0; n < index; n++) client.request('x');
      return client.initialize();
    });
    await settled();
    const { id } = connection.last('initialize');
    connection.say({ jsonrpc: '2.0', id, error: { code: -32000, message: 'not today', data: 1 } });
    await settled();
    expect(replies.map((reply) => reply.answer)).toEqual([
      { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'not today', data: 1 } },
      { jsonrpc: '2.0', id: 2, error: { code: -32000, message: 'not today', data: 1 } },
    ]);
    expect(dispatcher.stats().sessions).toBe(0);
    connection.initializeResult = { protocolVersion: '2025-11-25', capabilities: {} };
    const later = new TestClient(dispatcher).initialize();
    await settled();
    expect(later.answer).toHaveProperty('result');
  });

  it.each([[{}], [{ protocolVersion: 5 }], [[]]])('does not take %j for an agreement', async (result) => {
    const { connection, dispatcher } = shared();
    connection.initializeResult = result as Record<string, unknown>;
    const reply = new TestClient(dispatcher).initialize();
    await settled();
    expect(reply.failure).toMatchObject({ code: -32603, status: 502, reason: 'handshake' });
  });

  it('uses the params of the first client when told so', async () => {
    const { connection, dispatcher } = shared({ handshake: 'first-client' });
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: { roots: {} },
      clientInfo: { name: 'first', version: '1' },
    };
    new TestClient(dispatcher).initialize(params);
    await settled();
    expect(connection.last('initialize')['params']).toEqual(params);
  });

  it('is answered again on a session that is there, without a new session', async () => {
    const { connection, client, dispatcher } = shared();
    const alice = await client();
    const again = alice.initialize();
    await settled();
    expect(again.outcome).not.toHaveProperty('session');
    expect(connection.of('initialize')).toHaveLength(1);
    expect(dispatcher.stats().sessions).toBe(1);
  });

  it('makes ready() wait for the server, and say why it is not', async () => {
    const good = shared();
    await good.dispatcher.ready();
    expect(good.connection.of('initialize')).toHaveLength(1);
    const bad = shared();
    bad.connection.initializeResult = {};
    await expect(bad.dispatcher.ready()).rejects.toMatchObject({ code: 'ERR_DISPATCHER_HANDSHAKE' });
    const missing = shared();
    missing.connection.startError = new Error('spawn nope ENOENT');
    await expect(missing.dispatcher.ready()).rejects.toThrow(/spawn nope ENOENT/);
  });

  it('fails with 503 when the server cannot be started', async () => {
    const { connection, dispatcher } = shared();
    connection.startError = new Error('spawn nope ENOENT');
    const replies = [new TestClient(dispatcher).initialize(), new TestClient(dispatcher).request('tools/list')];
    await settled();
    for (const reply of replies) {
      expect(reply.failure).toMatchObject({ status: 503, reason: 'spawn-failed', code: -32603 });
      expect(reply.failure.message).toContain('spawn nope ENOENT');
    }
  });
});

describe('a server that answers initialize late', () => {
  it('is not asked twice, and its late answer serves whoever waits then', async () => {
    const { connection, dispatcher, clock } = shared({ requestTimeoutMs: 1000 });
    connection.initializeResult = undefined;
    const first = new TestClient(dispatcher).initialize();
    await settled();
    await clock.advance(1100);
    expect(first.failure.reason).toBe('timeout');
    const second = new TestClient(dispatcher).initialize();
    await settled();
    await clock.advance(1100);
    expect(second.failure.reason).toBe('timeout');
    const third = new TestClient(dispatcher).initialize();
    await settled();
    expect(connection.of('initialize')).toHaveLength(1);
    connection.answer('initialize', { protocolVersion: '2025-11-25', capabilities: {} });
    await settled();
    expect(third.answer).toMatchObject({ id: 1, result: { protocolVersion: '2025-11-25' } });
    expect(connection.of('notifications/initialized')).toHaveLength(1);
  });

  it('and dies meanwhile fails whoever waits', async () => {
    const { connection, dispatcher, clock } = shared({ requestTimeoutMs: 1000 });
    connection.initializeResult = undefined;
    new TestClient(dispatcher).initialize();
    await settled();
    await clock.advance(1100);
    const second = new TestClient(dispatcher).initialize();
    await settled();
    connection.down({ exitCode: 4 });
    await settled();
    expect(second.failure).toMatchObject({ reason: 'backend-exited', data: { exitCode: 4 } });
  });
});

describe('the death of a shared server', () => {
  it('fails everything on its way at once', async () => {
    const { connection, client } = shared();
    const [alice, bob] = [await client(), await client()];
    const replies = [alice.request('tools/call'), alice.request('tools/list'), bob.request('ping')];
    const stream = alice.stream();
    connection.down({ exitCode: 3, signal: null, retryAfterMs: 5000 });
    for (const reply of replies) {
      expect(reply.failure).toMatchObject({
        status: 502,
        code: -32603,
        message: 'MCP server process exited',
        data: { exitCode: 3, signal: null, restarting: true },
      });
    }
    expect(stream.ended).toBe(0);
  });

  it('means 503 with the time to wait until it is back', async () => {
    const { connection, client, clock } = shared();
    const alice = await client();
    connection.down({ retryAfterMs: 5000 });
    await clock.advance(2000);
    expect(alice.request('tools/call').failure).toMatchObject({ status: 503, retryAfterMs: 3000 });
  });

  it('means 502 for good when it does not come back', async () => {
    const { connection, client } = shared();
    const alice = await client();
    connection.down({ exitCode: 1 });
    expect(alice.request('tools/call').failure).toMatchObject({
      status: 502,
      data: { exitCode: 1, restarting: false },
    });
  });

  it('is followed by the same handshake, the subscriptions, the log level and news of the lists', async () => {
    const { connection, client } = shared();
    const alice = await client();
    const stream = alice.stream();
    alice.request('resources/subscribe', { uri: 'test://one' });
    await settled();
    connection.answer('resources/subscribe');
    alice.request('logging/setLevel', { level: 'info' });
    await settled();
    connection.answer('logging/setLevel');
    await settled();
    connection.sent.length = 0;
    connection.down({ retryAfterMs: 10 });
    connection.up();
    const early = alice.request('tools/call');
    await settled();
    const methods = connection.sent.map(({ method }) => String(method));
    expect(methods.slice(0, 2)).toEqual(['initialize', 'notifications/initialized']);
    expect(methods.slice(2).toSorted()).toEqual(['logging/setLevel', 'resources/subscribe', 'tools/call']);
    connection.answer('tools/call');
    expect(early.answer).toHaveProperty('result');
    connection.answer('resources/subscribe');
    await settled();
    expect(stream.methods).toEqual(['notifications/tools/list_changed', 'notifications/resources/list_changed']);
    connection.say({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'test://one' } });
    expect(stream.methods).toHaveLength(3);
  });

  it('ends all sessions when the new process refuses the handshake', async () => {
    const { connection, client, dispatcher } = shared();
    const alice = await client();
    const stream = alice.stream();
    connection.initializeResult = {};
    connection.down({ retryAfterMs: 10 });
    connection.up();
    await settled();
    expect(dispatcher.session(alice.session?.id ?? '')).toBeUndefined();
    expect(stream.ended).toBe(1);
  });

  it('ends all sessions when the new process speaks another version', async () => {
    const { connection, client, dispatcher } = shared();
    await client();
    connection.initializeResult = { ...connection.initializeResult, protocolVersion: '2025-06-18' };
    connection.down({ retryAfterMs: 10 });
    connection.up();
    await settled();
    expect(dispatcher.stats().sessions).toBe(0);
  });

  it('in the middle of the new handshake keeps the sessions for the next try', async () => {
    const { connection, client, dispatcher } = shared();
    const alice = await client();
    const result = connection.initializeResult;
    connection.initializeResult = undefined;
    connection.down({ retryAfterMs: 10 });
    connection.up();
    await settled();
    connection.down({ retryAfterMs: 10 });
    await settled();
    connection.initializeResult = result;
    connection.up();
    await settled();
    expect(dispatcher.session(alice.session?.id ?? '')).toBe(alice.session);
    expect(dispatcher.stats().restarts).toBe(2);
  });

  it('during the first handshake fails it for all, and is not kept', async () => {
    const { connection, dispatcher } = shared();
    const result = connection.initializeResult;
    connection.initializeResult = undefined;
    const replies = [new TestClient(dispatcher).initialize(), new TestClient(dispatcher).initialize()];
    await settled();
    connection.down({ exitCode: 1, retryAfterMs: 10 });
    await settled();
    for (const reply of replies) expect(reply.failure).toMatchObject({ reason: 'backend-exited', status: 502 });
    connection.initializeResult = result;
    connection.up();
    const later = new TestClient(dispatcher).initialize();
    await settled();
    expect(later.answer).toHaveProperty('result');
  });
});
