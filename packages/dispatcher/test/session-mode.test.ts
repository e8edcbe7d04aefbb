import { describe, expect, it } from 'vitest';
import { TestClient } from './support/client.js';
import { settled } from './support/clock.js';
import { perSession } from './support/sessions.js';

const call = 'tools/call';
const everything = { sampling: {}, roots: {}, elicitation: { form: {}, url: {} } };
const ask = (id: unknown, method: string, params: Record<string, unknown> = {}) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
});

describe('a backend for each session', () => {
  it('starts with initialize, and gets the params of the client as they are', async () => {
    const { client, connections, requests } = perSession();
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: { roots: { listChanged: true } },
      clientInfo: { name: 'me', version: '0' },
      extra: [1],
    };
    const alice = await client(params, { subject: 'alice' });
    await client();
    expect(connections).toHaveLength(2);
    expect(alice.connection.last('initialize')['params']).toEqual(params);
    expect(requests[0]).toEqual({ sessionId: alice.client.session?.id, principal: { subject: 'alice' } });
  });

  it('keeps the sessions apart', async () => {
    const { client } = perSession();
    const [alice, bob] = [await client(), await client()];
    alice.client.request(call, { n: 1 });
    expect(alice.connection.of(call)).toHaveLength(1);
    expect(bob.connection.of(call)).toHaveLength(0);
  });

  it('makes no session when the server refuses, and ends the process', async () => {
    const { dispatcher, connections } = perSession({}, (connection) => {
      connection.initializeResult = undefined;
    });
    const reply = new TestClient(dispatcher).initialize();
    await settled();
    const [connection] = connections;
    connection?.say({ jsonrpc: '2.0', id: connection.last('initialize')['id'], error: { code: -1, message: 'no' } });
    await settled();
    expect(reply.answer).toMatchObject({ id: 1, error: { code: -1 } });
    expect(dispatcher.stats()).toMatchObject({ sessions: 0, backends: 0 });
    expect(connection?.closed).toBe(1);
  });

  it.each([
    ['cannot be started', { startError: new Error('spawn nope ENOENT') }, 'spawn-failed', 503],
    ['answers nonsense', { initializeResult: {} }, 'handshake', 502],
  ])('answers initialize with an error when it %s', async (_what, fault, reason, status) => {
    const { dispatcher } = perSession({}, (connection) => Object.assign(connection, fault));
    const reply = new TestClient(dispatcher).initialize();
    await settled();
    expect(reply.failure).toMatchObject({ reason, status });
    expect(dispatcher.stats()).toMatchObject({ sessions: 0, backends: 0 });
  });

  it('answers initialize at once when the process dies during it', async () => {
    const { dispatcher, connections } = perSession({}, (connection) => {
      connection.initializeResult = undefined;
    });
    const reply = new TestClient(dispatcher).initialize();
    await settled();
    connections[0]?.down({ exitCode: 1 });
    await settled();
    expect(reply.failure).toMatchObject({ status: 502, data: { exitCode: 1, restarting: false } });
    expect(dispatcher.stats().backends).toBe(0);
  });

  it('has a limit of 32, which counts those that start', async () => {
    const { dispatcher, connections } = perSession();
    const clients = Array.from({ length: 33 }, () => new TestClient(dispatcher));
    const replies = clients.map((client) => client.initialize());
    for (let n = 0; n < 40; n++) await settled();
    expect(connections).toHaveLength(32);
    expect(replies.filter(({ outcome }) => outcome?.kind === 'answer')).toHaveLength(32);
    expect(replies.at(-1)?.failure).toMatchObject({ status: 503, reason: 'too-many-sessions', retryAfterMs: 5000 });
    const [first] = clients;
    if (first?.session !== undefined) dispatcher.endSession(first.session);
    const again = new TestClient(dispatcher).initialize();
    await settled();
    expect(again.answer).toHaveProperty('result');
  });

  it('has a limit for each principal', async () => {
    const { client, dispatcher } = perSession({ maxSessionsPerPrincipal: 1 });
    await client({}, { subject: 'alice' });
    const second = new TestClient(dispatcher, { subject: 'alice' }).initialize();
    const other = new TestClient(dispatcher, { subject: 'bob' }).initialize();
    await settled();
    expect(second.failure.reason).toBe('too-many-sessions');
    expect(other.answer).toHaveProperty('result');
  });

  it('does not start too many at once', async () => {
    let starting = 0;
    let most = 0;
    const { dispatcher } = perSession({ maxConcurrentStarts: 2 }, (connection) => {
      const start = connection.start.bind(connection);
      connection.start = async (handlers) => {
        most = Math.max(most, ++starting);
        await settled();
        starting--;
        await start(handlers);
      };
    });
    const replies = Array.from({ length: 6 }, () => new TestClient(dispatcher).initialize());
    for (let n = 0; n < 20; n++) await settled();
    expect(most).toBe(2);
    expect(replies.every(({ outcome }) => outcome?.kind === 'answer')).toBe(true);
  });

  it.each(['DELETE', 'time'])('ends with %s', async (how) => {
    const { client, clock, dispatcher } = perSession({ sessionTtlMs: 10_000 });
    const alice = await client();
    const stream = alice.client.stream();
    if (how === 'DELETE' && alice.client.session !== undefined) dispatcher.endSession(alice.client.session);
    else await clock.advance(16_000);
    expect(alice.connection.closed).toBe(1);
    expect(stream.ended).toBe(1);
    expect(dispatcher.stats()).toMatchObject({ sessions: 0, backends: 0, streams: 0 });
  });

  it('takes the session with it when it dies', async () => {
    const { client, dispatcher } = perSession();
    const alice = await client();
    const reply = alice.client.request(call);
    alice.connection.down({ exitCode: 9 });
    expect(reply.failure).toMatchObject({ status: 502, data: { exitCode: 9 } });
    expect(dispatcher.session(alice.client.session?.id ?? '')).toBeUndefined();
  });

  it('is not there without a session', () => {
    const { dispatcher } = perSession();
    const client = new TestClient(dispatcher);
    expect(client.request('tools/list').failure).toMatchObject({ status: 400, code: -32600 });
    expect(client.respond({ id: 1, result: {} })).toBe('unknown-id');
    expect(client.notify('notifications/initialized')).toBe('taken');
  });

  it('gets initialized once, and initialize never twice', async () => {
    const { client } = perSession();
    const alice = await client();
    alice.client.notify('notifications/initialized');
    alice.client.notify('notifications/initialized');
    const again = alice.client.initialize();
    expect(again.answer).toMatchObject({ id: 2, result: { protocolVersion: '2025-11-25' } });
    expect(alice.connection.of('initialize')).toHaveLength(1);
    expect(alice.connection.of('notifications/initialized')).toHaveLength(1);
  });

  it('gets roots changes, subscriptions and log levels itself', async () => {
    const { client } = perSession();
    const alice = await client();
    alice.client.notify('notifications/roots/list_changed');
    alice.client.request('resources/subscribe', { uri: 'a' });
    alice.client.request('logging/setLevel', { level: 'debug' });
    expect(alice.connection.sent.slice(1).map(({ method }) => method)).toEqual([
      'notifications/roots/list_changed',
      'resources/subscribe',
      'logging/setLevel',
    ]);
  });
});

describe('what the server of a session asks', () => {
  it.each([
    ['sampling/createMessage', {}],
    ['roots/list', {}],
    ['elicitation/create', { message: 'name?' }],
    ['elicitation/create', { mode: 'form' }],
    ['elicitation/create', { mode: 'url', url: 'https://example.com' }],
    ['vendor/ask', {}],
  ])(
    '%s %j reaches the client on the request it works on, and the answer comes back as it is',
    async (method, params) => {
      const { client } = perSession();
      const alice = await client({ capabilities: everything });
      const reply = alice.client.request(call);
      alice.connection.say(ask('q', method, params));
      expect(reply.frames).toEqual([ask('q', method, params)]);
      expect(alice.client.respond({ id: 'q', result: { z: 1, a: [2] } })).toBe('taken');
      expect(alice.connection.sent.at(-1)).toEqual({ jsonrpc: '2.0', id: 'q', result: { z: 1, a: [2] } });
      alice.connection.answer(call);
      expect(reply.answer).toHaveProperty('result');
    },
  );

  it.each([
    ['sampling/createMessage', {}, {}],
    ['roots/list', {}, {}],
    ['elicitation/create', {}, {}],
    ['elicitation/create', { mode: 'url' }, { elicitation: {} }],
    ['elicitation/create', { mode: 'url' }, { elicitation: { form: {} } }],
    ['elicitation/create', { mode: 'form' }, { elicitation: { url: {} } }],
    ['tasks/get', {}, {}],
  ])('%s %j is refused for a client that declared %j', async (method, params, capabilities) => {
    const { client } = perSession();
    const alice = await client({ capabilities });
    const reply = alice.client.request(call);
    alice.connection.say(ask(1, method, params));
    expect(alice.connection.sent.at(-1)).toMatchObject({ id: 1, error: { code: -32601 } });
    expect(reply.frames).toEqual([]);
  });

  it('a ping is answered without the client', async () => {
    const { client } = perSession();
    const alice = await client();
    alice.connection.say(ask('p', 'ping'));
    expect(alice.connection.sent.at(-1)).toEqual({ jsonrpc: '2.0', id: 'p', result: {} });
  });

  it('may have the id of a request of the client', async () => {
    const { client } = perSession();
    const alice = await client({ capabilities: everything });
    const reply = alice.client.request(call, {}, { id: 1 });
    const { id } = alice.connection.last(call);
    alice.connection.say(ask(id, 'roots/list'));
    alice.client.respond({ id, result: { roots: [] } });
    expect(alice.connection.sent.at(-1)).toEqual({ jsonrpc: '2.0', id, result: { roots: [] } });
    expect(reply.settlements).toBe(0);
  });

  it('goes to the only stream, else to the standalone one, else to the newest', async () => {
    const { client } = perSession();
    const alice = await client({ capabilities: everything });
    const first = alice.client.request(call);
    const second = alice.client.request(call);
    alice.connection.say(ask(1, 'roots/list'));
    expect([first.frames.length, second.frames.length]).toEqual([0, 1]);
    const stream = alice.client.stream();
    alice.connection.say(ask(2, 'roots/list'));
    expect(stream.frames).toEqual([ask(2, 'roots/list')]);
    alice.connection.answer(call);
    alice.connection.say(ask(3, 'roots/list'));
    expect(first.frames).toEqual([ask(3, 'roots/list')]);
    alice.connection.say({ jsonrpc: '2.0', id: alice.connection.of(call)[0]?.['id'], result: {} });
    alice.connection.say(ask(4, 'roots/list'));
    expect(stream.frames).toHaveLength(2);
  });

  it('waits a little for a stream when nothing is on its way', async () => {
    const { client, clock } = perSession();
    const alice = await client({ capabilities: everything });
    alice.connection.say(ask(1, 'roots/list'));
    alice.connection.say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } });
    await clock.advance(5000);
    const stream = alice.client.stream();
    expect(stream.methods).toEqual(['roots/list', 'notifications/message']);
    alice.client.respond({ id: 1, result: { roots: [] } });
    expect(alice.connection.sent.at(-1)).toMatchObject({ id: 1, result: { roots: [] } });
  });

  it('is refused when no stream comes in time', async () => {
    const { client, clock, drops } = perSession();
    const alice = await client({ capabilities: everything });
    alice.connection.say(ask(1, 'roots/list'));
    alice.connection.say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 1 } });
    await clock.advance(10_100);
    expect(alice.connection.sent.at(-1)).toMatchObject({
      id: 1,
      error: { code: -32603, message: 'client not reachable' },
    });
    expect(drops.map(({ reason }) => reason)).toEqual(['no-stream']);
    expect(alice.client.stream().frames).toEqual([]);
  });

  it('waits in a queue that has an end', async () => {
    const { client } = perSession({ unreachableQueueSize: 2 });
    const alice = await client({ capabilities: everything });
    for (let id = 1; id <= 3; id++) alice.connection.say(ask(id, 'roots/list'));
    expect(alice.connection.sent.at(-1)).toMatchObject({ id: 3, error: { message: 'client not reachable' } });
  });

  it('is refused at once when the client takes nothing but plain answers', async () => {
    const { client } = perSession();
    const alice = await client({ capabilities: everything });
    alice.client.request(call, {}, { streams: false });
    alice.connection.say(ask(1, 'roots/list'));
    expect(alice.connection.sent.at(-1)).toMatchObject({ id: 1, error: { message: 'client not reachable' } });
  });

  it('waits for a stream when the one of the call is gone', async () => {
    const { client } = perSession();
    const alice = await client({ capabilities: everything });
    const reply = alice.client.request(call);
    reply.open = false;
    alice.connection.say(ask(1, 'roots/list'));
    expect(reply.frames).toEqual([]);
    expect(alice.client.stream().methods).toEqual(['roots/list']);
  });

  it('stops the clock of the request meanwhile', async () => {
    const { client, clock } = perSession({ requestTimeoutMs: 1000, serverRequestTimeoutMs: 60_000 });
    const alice = await client({ capabilities: everything });
    const reply = alice.client.request(call);
    alice.connection.say(ask('q', 'elicitation/create'));
    await clock.advance(30_000);
    expect(reply.settlements).toBe(0);
    alice.client.respond({ id: 'q', result: { action: 'accept' } });
    await clock.advance(900);
    expect(reply.settlements).toBe(0);
    await clock.advance(200);
    expect(reply.failure.reason).toBe('timeout');
  });

  it('is taken back on both sides when the client does not answer', async () => {
    const { client, clock } = perSession({ requestTimeoutMs: 90_000 });
    const alice = await client({ capabilities: everything });
    const reply = alice.client.request(call);
    alice.connection.say(ask('q', 'elicitation/create'));
    await clock.advance(600_100);
    expect(reply.frames.at(-1)).toMatchObject({ method: 'notifications/cancelled', params: { requestId: 'q' } });
    expect(alice.connection.sent.at(-1)).toMatchObject({ id: 'q', error: { code: -32603 } });
    const before = alice.connection.sent.length;
    expect(alice.client.respond({ id: 'q', result: {} })).toBe('taken');
    expect(alice.connection.sent).toHaveLength(before);
  });

  it('can be taken back by the server', async () => {
    const { client } = perSession();
    const alice = await client({ capabilities: everything });
    const reply = alice.client.request(call);
    alice.connection.say(ask('q', 'elicitation/create'));
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'q' } };
    alice.connection.say(cancel);
    expect(reply.frames.at(-1)).toEqual(cancel);
    expect(alice.client.respond({ id: 'q', result: {} })).toBe('taken');
    expect(alice.connection.sent.at(-1)).not.toHaveProperty('result');
  });

  it.each([['never'], [1], ['1']])('is not answered by an answer to %j, which was not asked', async (id) => {
    const { client } = perSession();
    const alice = await client({ capabilities: everything });
    alice.client.request(call);
    alice.connection.say(ask('q', 'roots/list'));
    const before = alice.connection.sent.length;
    expect(alice.client.respond({ id, result: {} })).toBe('unknown-id');
    expect(alice.connection.sent).toHaveLength(before);
  });

  it('cannot be answered by another session', async () => {
    const { client } = perSession();
    const [alice, bob] = [await client({ capabilities: everything }), await client({ capabilities: everything })];
    alice.client.request(call);
    alice.connection.say(ask('q', 'roots/list'));
    expect(bob.client.respond({ id: 'q', result: { roots: ['evil'] } })).toBe('unknown-id');
    expect(alice.connection.sent.at(-1)).not.toHaveProperty('result');
  });

  it('is refused when its id is on its way', async () => {
    const { client } = perSession();
    const alice = await client({ capabilities: everything });
    const reply = alice.client.request(call);
    alice.connection.say(ask('q', 'roots/list'));
    alice.connection.say(ask('q', 'roots/list'));
    expect(alice.connection.sent.at(-1)).toMatchObject({ id: 'q', error: { code: -32600 } });
    expect(reply.frames).toHaveLength(1);
  });

  it('before initialize is answered has nobody to go to', async () => {
    const { dispatcher, connections } = perSession({}, (connection) => {
      connection.initializeResult = undefined;
    });
    new TestClient(dispatcher).initialize();
    await settled();
    const [connection] = connections;
    connection?.say(ask('early', 'roots/list'));
    expect(connection?.sent.at(-1)).toMatchObject({ id: 'early', error: { code: -32603 } });
  });
});

describe('what the server of a session tells', () => {
  it('reaches the client by the same rule, log messages included', async () => {
    const { client } = perSession();
    const alice = await client();
    const reply = alice.client.request(call);
    const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } };
    alice.connection.say(log);
    alice.connection.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect(reply.frames).toEqual([log, { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }]);
  });

  it('is cancelled by the client with the id the server knows', async () => {
    const { client } = perSession();
    const alice = await client();
    const reply = alice.client.request(call, {}, { id: 'mine' });
    alice.client.notify('notifications/cancelled', { requestId: 'mine' });
    expect(alice.connection.last('notifications/cancelled')).toMatchObject({
      params: { requestId: alice.connection.last(call)['id'] },
    });
    expect(reply.outcome).toEqual({ kind: 'cancelled' });
  });
});
