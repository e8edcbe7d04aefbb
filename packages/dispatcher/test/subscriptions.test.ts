import { describe, expect, it } from 'vitest';
import { TestClient } from './support/client.js';
import { settled } from './support/clock.js';
import { shared } from './support/shared.js';

const subscribe = 'resources/subscribe';
const unsubscribe = 'resources/unsubscribe';
const updated = (uri: string) => ({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri } });
const uri = 'test://one';

async function subscribed(backend: ReturnType<typeof shared>, client: TestClient, to = uri) {
  const reply = client.request(subscribe, { uri: to });
  await settled();
  if (reply.outcome === undefined) backend.connection.answer(subscribe);
  await settled();
  return reply;
}

describe('subscriptions', () => {
  it('reach the server once for each URI, and updates reach the subscribers alone', async () => {
    const backend = shared();
    const [alice, bob, carol] = [await backend.client(), await backend.client(), await backend.client()];
    const streams = [alice, bob, carol].map((client) => client.stream());
    expect((await subscribed(backend, alice)).answer).toMatchObject({ result: {} });
    expect((await subscribed(backend, bob)).answer).toMatchObject({ result: {} });
    expect(backend.connection.of(subscribe)).toHaveLength(1);
    backend.connection.say(updated(uri));
    expect(streams.map((stream) => stream.frames)).toEqual([[updated(uri)], [updated(uri)], []]);
  });

  it('count an update that stands right behind the answer', async () => {
    const backend = shared();
    const alice = await backend.client();
    const stream = alice.stream();
    alice.request(subscribe, { uri });
    await settled();
    backend.connection.answer(subscribe);
    backend.connection.say(updated(uri));
    expect(stream.frames).toEqual([updated(uri)]);
  });

  it('leave no trace when the server refuses, so that the next one asks again', async () => {
    const backend = shared();
    const [alice, bob] = [await backend.client(), await backend.client()];
    const refused = alice.request(subscribe, { uri });
    await settled();
    const { id } = backend.connection.last(subscribe);
    backend.connection.say({ jsonrpc: '2.0', id, error: { code: -32002, message: 'no such resource' } });
    expect(refused.answer).toMatchObject({ error: { code: -32002 } });
    await settled();
    bob.request(subscribe, { uri });
    await settled();
    expect(backend.connection.of(subscribe)).toHaveLength(2);
  });

  it('let those who come meanwhile wait for the first, in order', async () => {
    const backend = shared();
    const [alice, bob] = [await backend.client(), await backend.client()];
    const replies = [alice.request(subscribe, { uri }), bob.request(subscribe, { uri })];
    const elsewhere = alice.request(subscribe, { uri: 'test://two' });
    await settled();
    expect(backend.connection.of(subscribe)).toHaveLength(2);
    backend.connection.answer(subscribe);
    await settled();
    expect(elsewhere.settlements).toBe(1);
    expect(replies.map(({ settlements }) => settlements)).toEqual([0, 0]);
    backend.connection.say({ jsonrpc: '2.0', id: backend.connection.of(subscribe)[0]?.['id'], result: {} });
    await settled();
    expect(replies.map(({ settlements }) => settlements)).toEqual([1, 1]);
    expect(backend.connection.of(subscribe)).toHaveLength(2);
  });

  it('end at the server when the last one leaves', async () => {
    const backend = shared();
    const [alice, bob] = [await backend.client(), await backend.client()];
    await subscribed(backend, alice);
    await subscribed(backend, bob);
    const first = alice.request(unsubscribe, { uri });
    await settled();
    expect(first.answer).toMatchObject({ result: {} });
    expect(backend.connection.of(unsubscribe)).toEqual([]);
    const last = bob.request(unsubscribe, { uri });
    await settled();
    expect(last.outcome).toBeUndefined();
    backend.connection.answer(unsubscribe, { from: 'server' });
    expect(last.answer).toMatchObject({ result: { from: 'server' } });
  });

  it('that never were are left without asking the server', async () => {
    const backend = shared();
    const alice = await backend.client();
    const reply = alice.request(unsubscribe, { uri });
    await settled();
    expect(reply.answer).toMatchObject({ result: {} });
    expect(backend.connection.of(unsubscribe)).toEqual([]);
  });

  it.each(['DELETE', 'the reaper'])('of a session that %s ends are left at the server', async (how) => {
    const backend = shared({ sessionTtlMs: 10_000 });
    const alice = await backend.client();
    await subscribed(backend, alice);
    if (how === 'DELETE' && alice.session !== undefined) backend.dispatcher.endSession(alice.session);
    else await backend.clock.advance(16_000);
    await settled();
    expect(backend.connection.last(unsubscribe)).toMatchObject({ params: { uri } });
  });

  it('are not recorded after a timeout, and taken back when the server agrees late', async () => {
    const backend = shared({ requestTimeoutMs: 1000 });
    const alice = await backend.client();
    const stream = alice.stream();
    const reply = alice.request(subscribe, { uri });
    await settled();
    await backend.clock.advance(1100);
    expect(reply.failure.reason).toBe('timeout');
    backend.connection.answer(subscribe);
    await settled();
    expect(backend.connection.last(unsubscribe)).toMatchObject({ params: { uri } });
    backend.connection.say(updated(uri));
    expect(stream.frames).toEqual([]);
  });

  it('are taken back when the session ended before the server agreed', async () => {
    const backend = shared();
    const alice = await backend.client();
    alice.request(subscribe, { uri });
    await settled();
    if (alice.session !== undefined) backend.dispatcher.endSession(alice.session);
    backend.connection.answer(subscribe);
    await settled();
    expect(backend.connection.last(unsubscribe)).toMatchObject({ params: { uri } });
  });

  it('can be cancelled while they wait', async () => {
    const backend = shared();
    const [alice, bob] = [await backend.client(), await backend.client()];
    alice.request(subscribe, { uri }, { id: 'a' });
    const waiting = bob.request(subscribe, { uri }, { id: 'b' });
    await settled();
    bob.notify('notifications/cancelled', { requestId: 'b' });
    expect(waiting.outcome).toEqual({ kind: 'cancelled' });
    backend.connection.answer(subscribe);
    await settled();
    expect(waiting.settlements).toBe(1);
    const stream = bob.stream();
    backend.connection.say(updated(uri));
    expect(stream.frames).toEqual([]);
  });

  it('all reach the server when they are not to be deduplicated', async () => {
    const backend = shared({ dedupeSubscriptions: false });
    const [alice, bob] = [await backend.client(), await backend.client()];
    await subscribed(backend, alice);
    await subscribed(backend, bob);
    expect(backend.connection.of(subscribe)).toHaveLength(2);
    alice.request(unsubscribe, { uri });
    await settled();
    expect(backend.connection.of(unsubscribe)).toEqual([]);
  });

  it.each([[{}], [{ uri: '' }], [{ uri: 7 }]])('with the params %j are the business of the server', async (params) => {
    const backend = shared();
    const reply = (await backend.client()).request(subscribe, params);
    await settled();
    expect(backend.connection.last(subscribe)['params']).toEqual(params);
    backend.connection.answer(subscribe, { asked: true });
    expect(reply.answer).toMatchObject({ result: { asked: true } });
  });

  it('without a session go straight through', async () => {
    const backend = shared();
    const reply = new TestClient(backend.dispatcher).request(subscribe, { uri });
    await settled();
    backend.connection.answer(subscribe);
    expect(reply.answer).toMatchObject({ result: {} });
    backend.connection.say(updated(uri));
    expect(backend.drops.map(({ reason }) => reason)).toEqual(['no-subscriber']);
  });
});
