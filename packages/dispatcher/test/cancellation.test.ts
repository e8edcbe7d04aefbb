import { describe, expect, it } from 'vitest';
import { TestClient } from './support/client.js';
import { settled } from './support/clock.js';
import { shared } from './support/shared.js';

const call = 'tools/call';
const cancelled = 'notifications/cancelled';

describe('cancellation by a client', () => {
  it('reaches the server with the id that the server knows', async () => {
    const { connection, client } = shared();
    const alice = await client();
    const reply = alice.request(call, {}, { id: 'mine' });
    expect(alice.notify(cancelled, { requestId: 'mine', reason: 'enough' })).toBe('taken');
    expect(connection.last(cancelled)).toEqual({
      jsonrpc: '2.0',
      method: cancelled,
      params: { requestId: connection.last(call)['id'], reason: 'enough' },
    });
    expect(reply.outcome).toEqual({ kind: 'cancelled' });
  });

  it('swallows the late response', async () => {
    const { connection, client, drops } = shared();
    const alice = await client();
    const reply = alice.request(call, {}, { id: 1 });
    alice.notify(cancelled, { requestId: 1 });
    connection.answer(call);
    expect(reply.settlements).toBe(1);
    expect(drops.map(({ reason }) => reason)).toEqual(['late-response']);
  });

  it.each([
    ['another type', '1'],
    ['another id', 2],
    ['no id', undefined],
    ['an id that is no id', { nested: 1 }],
  ])('is swallowed when it names %s', async (_what, requestId) => {
    const { connection, client } = shared();
    const alice = await client();
    const reply = alice.request(call, {}, { id: 1 });
    expect(alice.notify(cancelled, requestId === undefined ? {} : { requestId })).toBe('taken');
    expect(connection.of(cancelled)).toEqual([]);
    expect(reply.settlements).toBe(0);
  });

  it("cannot touch another session's request", async () => {
    const { connection, client } = shared();
    const [alice, bob] = [await client(), await client()];
    const reply = alice.request(call, {}, { id: 1 });
    bob.notify(cancelled, { requestId: 1 });
    expect(connection.of(cancelled)).toEqual([]);
    expect(reply.settlements).toBe(0);
  });

  it('keeps ids above 2^53 apart', async () => {
    const { connection, dispatcher, client } = shared();
    const alice = await client();
    const { message, RecordingReply } = await import('./support/client.js');
    const replies = ['9007199254740993', '9007199254740992'].map((id) => {
      const reply = new RecordingReply(true);
      dispatcher.request(message(`{"jsonrpc":"2.0","id":${id},"method":"tools/call"}`), reply, alice.origin);
      return reply;
    });
    dispatcher.notify(
      message(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993}}`),
      alice.origin,
    );
    expect(replies.map(({ settlements }) => settlements)).toEqual([1, 0]);
    expect(connection.last(cancelled)).toMatchObject({ params: { requestId: connection.of(call)[0]?.['id'] } });
  });

  it('takes a request back that was not sent yet, without a word to the server', async () => {
    const { connection, client } = shared({ maxInFlightPerSession: 1 });
    const alice = await client();
    alice.request(call, { n: 1 }, { id: 1 });
    const waiting = alice.request(call, { n: 2 }, { id: 2 });
    alice.notify(cancelled, { requestId: 2 });
    expect(waiting.outcome).toEqual({ kind: 'cancelled' });
    connection.answer(call);
    expect(connection.of(call)).toHaveLength(1);
    expect(connection.of(cancelled)).toEqual([]);
  });

  it('never cancels initialize', async () => {
    const { connection, dispatcher } = shared();
    connection.initializeResult = undefined;
    const client = new TestClient(dispatcher);
    const reply = client.initialize();
    await settled();
    client.notify(cancelled, { requestId: 1 });
    expect(connection.of(cancelled)).toEqual([]);
    connection.answer('initialize', { protocolVersion: '2025-11-25', capabilities: {} });
    await settled();
    expect(reply.answer).toMatchObject({ result: { protocolVersion: '2025-11-25' } });
  });
});

describe('a timeout', () => {
  it('tells the client and the server', async () => {
    const { connection, client, clock } = shared({ requestTimeoutMs: 5000 });
    const reply = (await client()).request(call);
    await clock.advance(4900);
    expect(reply.settlements).toBe(0);
    await clock.advance(200);
    expect(reply.failure).toMatchObject({ reason: 'timeout', status: 504, code: -32000, message: 'Timeout' });
    expect(connection.last(cancelled)).toMatchObject({ params: { requestId: connection.last(call)['id'] } });
  });

  it('swallows the late response', async () => {
    const { connection, client, clock, drops } = shared({ requestTimeoutMs: 1000 });
    const reply = (await client()).request(call);
    await clock.advance(1100);
    connection.answer(call);
    expect(reply.settlements).toBe(1);
    expect(drops.map(({ reason }) => reason)).toEqual(['late-response']);
  });

  it('can differ by method', async () => {
    const { client, clock } = shared({ requestTimeoutMs: 1000, methodTimeoutsMs: { [call]: 9000 } });
    const alice = await client();
    const [slow, quick] = [alice.request(call), alice.request('tools/list')];
    await clock.advance(1100);
    expect([slow.settlements, quick.settlements]).toEqual([0, 1]);
    await clock.advance(8000);
    expect(slow.failure.reason).toBe('timeout');
  });

  const withToken = { _meta: { progressToken: 't' } };
  const progress = (token: unknown, n: number) => ({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { progressToken: token, progress: n },
  });

  it('moves with progress, up to the cap', async () => {
    const { connection, client, clock } = shared({ requestTimeoutMs: 1000, maxTotalTimeoutMs: 3000 });
    const reply = (await client()).request(call, withToken);
    const token = connection.last(call)['id'];
    for (let n = 0; n < 5; n++) {
      await clock.advance(500);
      connection.say(progress(token, n));
    }
    expect(reply.settlements).toBe(0);
    await clock.advance(300);
    connection.say(progress(token, 9));
    await clock.advance(300);
    expect(reply.failure.reason).toBe('timeout');
  });

  it('does not move with progress when told so', async () => {
    const { connection, client, clock } = shared({ requestTimeoutMs: 1000, resetTimeoutOnProgress: false });
    const reply = (await client()).request(call, withToken);
    await clock.advance(600);
    connection.say(progress(connection.last(call)['id'], 1));
    await clock.advance(500);
    expect(reply.failure.reason).toBe('timeout');
  });

  it('of initialize is not sent as a cancellation, and the next client waits on', async () => {
    const { connection, dispatcher, clock } = shared({ requestTimeoutMs: 1000 });
    const result = connection.initializeResult;
    connection.initializeResult = undefined;
    const first = new TestClient(dispatcher).initialize();
    await settled();
    await clock.advance(1100);
    expect(first.failure.reason).toBe('timeout');
    expect(connection.of(cancelled)).toEqual([]);
    const second = new TestClient(dispatcher).initialize();
    await settled();
    connection.answer('initialize', result);
    await settled();
    expect(second.answer).toHaveProperty('result');
  });
});

describe('keep-alives of a request', () => {
  it('show the client headers after a second and a comment every half minute', async () => {
    const { client, clock } = shared({ requestTimeoutMs: 200_000 });
    const alice = await client();
    const [stream, json] = [alice.request(call), alice.request(call, {}, { streams: false })];
    await clock.advance(900);
    expect(stream.keepAlives).toBe(0);
    await clock.advance(200);
    expect(stream.keepAlives).toBe(1);
    await clock.advance(30_000);
    expect(stream.keepAlives).toBe(2);
    expect(json.keepAlives).toBe(0);
  });
});
