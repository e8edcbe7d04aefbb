import { describe, expect, it } from 'vitest';
import { settled } from './support/clock.js';
import { shared } from './support/shared.js';

const changed = (list: string) => ({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` });
const updated = (uri: string, n = 0) => ({
  jsonrpc: '2.0',
  method: 'notifications/resources/updated',
  params: { uri, n },
});

describe('the standalone stream', () => {
  it('is one for each session: a new one ends the old one, whose late end harms nobody', async () => {
    const { connection, client, dispatcher } = shared();
    const alice = await client();
    const [first, second] = [alice.stream(), alice.stream()];
    expect([first.ended, second.ended]).toEqual([1, 0]);
    first.onGone?.();
    connection.say(changed('tools'));
    expect([first.frames, second.frames]).toEqual([[], [changed('tools')]]);
    expect(dispatcher.stats().streams).toBe(1);
  });

  it('survives a thousand reconnects with one stream left', async () => {
    const { client, dispatcher } = shared();
    const alice = await client();
    const streams = Array.from({ length: 1000 }, () => alice.stream());
    expect(streams.filter(({ open }) => open)).toHaveLength(1);
    expect(dispatcher.stats().streams).toBe(1);
  });

  it('gets a comment every half minute and none after its end', async () => {
    const { client, clock, dispatcher } = shared();
    const alice = await client();
    const stream = alice.stream();
    await clock.advance(61_000);
    expect(stream.keepAlives).toBe(2);
    if (alice.session !== undefined) dispatcher.endSession(alice.session);
    await clock.advance(61_000);
    expect([stream.keepAlives, stream.ended]).toEqual([2, 1]);
  });

  it('keeps the newest list change and the newest update of each URI while its client does not read', async () => {
    const { connection, client, drops } = shared();
    const alice = await client();
    for (const uri of ['a', 'b']) {
      alice.request('resources/subscribe', { uri });
      await settled();
      connection.answer('resources/subscribe');
      await settled();
    }
    const stream = alice.stream();
    stream.accepting = false;
    connection.say(changed('prompts'));
    for (let n = 1; n <= 300; n++) {
      connection.say(changed('tools'));
      connection.say(updated('a', n));
      connection.say(updated('b', n));
    }
    expect(stream.frames).toEqual([changed('prompts')]);
    stream.accepting = true;
    stream.onDrain?.();
    expect(stream.frames).toEqual([changed('prompts'), changed('tools'), updated('a', 300), updated('b', 300)]);
    expect(drops).toEqual([]);
  });

  it('drops the oldest above its queue, and counts it', async () => {
    const { connection, client, drops, dispatcher } = shared({ streamQueueSize: 3 });
    const alice = await client();
    const uris = ['a', 'b', 'c', 'd', 'e'];
    for (const uri of uris) {
      alice.request('resources/subscribe', { uri });
      await settled();
      connection.answer('resources/subscribe');
      await settled();
    }
    const stream = alice.stream();
    stream.accepting = false;
    connection.say(changed('tools'));
    for (const uri of uris) connection.say(updated(uri));
    stream.accepting = true;
    stream.onDrain?.();
    expect(stream.frames.slice(1)).toEqual(['c', 'd', 'e'].map((uri) => updated(uri)));
    expect(drops.map(({ reason }) => reason)).toEqual(['stream-full', 'stream-full']);
    expect(dispatcher.stats().drops).toEqual({ 'stream-full': 2 });
  });

  it('of one slow client does not hold up the others', async () => {
    const { connection, client } = shared();
    const [slow, quick] = [(await client()).stream(), (await client()).stream()];
    slow.accepting = false;
    connection.say(changed('tools'));
    connection.say(changed('prompts'));
    expect(quick.frames).toHaveLength(2);
    expect(connection.paused).toBe(false);
  });
});

describe('sessions', () => {
  it('end after their time without a request, and not before', async () => {
    const { client, clock, dispatcher } = shared({ sessionTtlMs: 10_000 });
    const alice = await client();
    const id = alice.session?.id ?? '';
    await clock.advance(9000);
    expect(dispatcher.session(id)).toBeDefined();
    await clock.advance(9000);
    expect(dispatcher.session(id)).toBeDefined();
    await clock.advance(10_000);
    expect(dispatcher.session(id)).toBeUndefined();
  });

  it('are not revived by a look between their end and the sweep', async () => {
    const { client, clock, dispatcher } = shared({ sessionTtlMs: 10_000 });
    const alice = await client();
    await clock.advance(4000);
    dispatcher.session(alice.session?.id ?? '');
    await clock.advance(10_500);
    expect(dispatcher.session(alice.session?.id ?? '')).toBeUndefined();
  });

  it('live on while a stream is open or a request is on its way', async () => {
    const { client, clock, connection, dispatcher } = shared({ sessionTtlMs: 10_000, requestTimeoutMs: 50_000 });
    const [streaming, calling] = [await client(), await client()];
    const stream = streaming.stream();
    calling.request('tools/call');
    await clock.advance(45_000);
    expect(dispatcher.stats().sessions).toBe(2);
    stream.open = false;
    connection.answer('tools/call');
    await clock.advance(16_000);
    expect(dispatcher.stats().sessions).toBe(0);
  });

  it('belong to who opened them', async () => {
    const { client, dispatcher } = shared();
    const alice = await client({}, { subject: 'alice' });
    const id = alice.session?.id ?? '';
    expect(dispatcher.session(id, { subject: 'alice' })).toBe(alice.session);
    for (const other of [undefined, { subject: 'bob' }, { subject: 'alice', issuer: 'elsewhere' }]) {
      expect(dispatcher.session(id, other)).toBeUndefined();
    }
  });

  it('have a limit', async () => {
    const { client, dispatcher } = shared({ maxSessions: 2 });
    await client();
    await client();
    const { TestClient } = await import('./support/client.js');
    const reply = new TestClient(dispatcher).initialize();
    await settled();
    expect(reply.failure).toMatchObject({ status: 503, reason: 'too-many-sessions', retryAfterMs: 5000 });
  });
});
