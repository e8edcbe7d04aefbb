import { describe, expect, it } from 'vitest';
import { message, RecordingReply } from './support/client.js';
import { settled } from './support/clock.js';
import { shared } from './support/shared.js';

const call = 'tools/call';
const changed = (list: string) => ({ jsonrpc: '2.0', method: `notifications/${list}/list_changed` });
const progress = (progressToken: unknown, n: number) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken, progress: n },
});

function resumable(options: Parameters<typeof shared>[0] = {}) {
  let n = 0;
  return shared({ resumability: true, randomId: () => `id${++n}`, ...options });
}

async function running(backend: ReturnType<typeof shared>, protocolVersion = '2025-11-25') {
  const alice = await backend.client({ protocolVersion });
  const reply = alice.request(call, { _meta: { progressToken: 't' } }, { id: 1 });
  await settled();
  const token = backend.connection.last(call)['id'];
  return { alice, reply, tick: (n: number) => backend.connection.say(progress(token, n)) };
}

describe('a resumable request', () => {
  it('opens with an event to resume from, and gives every message an id of its stream', async () => {
    const backend = resumable();
    const { reply, tick } = await running(backend);
    expect(reply.primed).toMatch(/^post-\S+\.0$/);
    tick(1);
    backend.connection.answer(call);
    const stream = reply.primed?.replace(/\.0$/, '');
    expect(reply.eventIds).toEqual([`${stream}.1`, `${stream}.2`]);
    expect(reply.frames.at(-1)).toMatchObject({ id: 1, result: {} });
    expect(reply.outcome).toEqual({ kind: 'cancelled' });
  });

  it('goes on without its client, who gets the rest and nothing twice', async () => {
    const backend = resumable();
    const { alice, reply, tick } = await running(backend);
    tick(1);
    reply.open = false;
    reply.onGone?.();
    tick(2);
    backend.connection.answer(call, { late: true });
    const resumed = alice.stream(reply.eventIds[0]);
    expect(resumed.frames).toEqual([progress('t', 2), { jsonrpc: '2.0', id: 1, result: { late: true } }]);
    expect(resumed.ended).toBe(1);
    expect(reply.frames).toHaveLength(1);
  });

  it('can be resumed before its answer, and from the opening event', async () => {
    const backend = resumable();
    const { alice, reply, tick } = await running(backend);
    reply.onGone?.();
    tick(1);
    const resumed = alice.stream(reply.primed);
    expect(resumed.frames).toEqual([progress('t', 1)]);
    tick(2);
    backend.connection.answer(call);
    expect(resumed.frames.map((frame) => frame['id'] ?? frame['method'])).toEqual([
      'notifications/progress',
      'notifications/progress',
      1,
    ]);
    expect(resumed.ended).toBe(1);
  });

  it('is given to the client that resumed it last', async () => {
    const backend = resumable();
    const { alice, reply } = await running(backend);
    reply.onGone?.();
    const [first, second] = [alice.stream(reply.primed), alice.stream(reply.primed)];
    expect(first.ended).toBe(1);
    backend.connection.answer(call);
    expect([first.frames.length, second.frames.length]).toEqual([0, 1]);
  });

  it('does not disturb the standalone stream when it is resumed', async () => {
    const backend = resumable();
    const { alice, reply } = await running(backend);
    const standalone = alice.stream();
    reply.onGone?.();
    alice.stream(reply.primed);
    expect(standalone.ended).toBe(0);
    backend.connection.say(changed('tools'));
    expect(standalone.methods).toEqual(['notifications/tools/list_changed']);
  });

  it('is not given to another session', async () => {
    const backend = resumable();
    const { reply } = await running(backend);
    const bob = await backend.client();
    reply.onGone?.();
    backend.connection.answer(call, { secret: true });
    const stolen = bob.stream(reply.primed);
    expect(stolen.frames).toEqual([]);
    expect(stolen.ended).toBe(1);
  });

  it('is forgotten after its time, and then answered with an empty stream that ends', async () => {
    const backend = resumable();
    const { alice, reply } = await running(backend);
    reply.onGone?.();
    backend.connection.answer(call);
    await backend.clock.advance(300_100);
    const resumed = alice.stream(reply.primed);
    expect([resumed.frames, resumed.ended]).toEqual([[], 1]);
  });

  it('keeps so many events and bytes, and no more', async () => {
    const backend = resumable({ resumability: { maxEvents: 3 } });
    const { alice, reply, tick } = await running(backend);
    reply.onGone?.();
    for (let n = 1; n <= 5; n++) tick(n);
    const stream = reply.primed?.replace(/\.0$/, '') ?? '';
    expect(alice.stream(`${stream}.1`).frames).toEqual([]);
    expect(alice.stream(`${stream}.2`).frames).toEqual([progress('t', 3), progress('t', 4), progress('t', 5)]);
  });

  it('is gone with a cancellation or the session', async () => {
    const backend = resumable();
    const { alice, reply } = await running(backend);
    alice.notify('notifications/cancelled', { requestId: 1 });
    expect(reply.outcome).toEqual({ kind: 'cancelled' });
    expect(alice.stream(reply.primed).ended).toBe(1);
  });

  it('that is refused at once is not opened', async () => {
    const backend = resumable();
    const { alice } = await running(backend);
    const refused = alice.request(call, {}, { id: 1 });
    await settled();
    expect(refused.failure.reason).toBe('duplicate-id');
    expect(refused.primed).toBeUndefined();
  });

  it('that fails says so on its stream', async () => {
    const backend = resumable();
    const { reply } = await running(backend);
    backend.connection.down({ exitCode: 1 });
    expect(reply.frames).toMatchObject([{ id: 1, error: { code: -32603, data: { exitCode: 1 } } }]);
  });

  it.each([['2025-06-18'], ['2025-03-26']])('is not offered to a client of %s', async (version) => {
    const backend = resumable();
    const { reply } = await running(backend, version);
    expect(reply.primed).toBeUndefined();
    backend.connection.answer(call);
    expect(reply.answer).toHaveProperty('result');
  });

  it('is not offered unless asked for', async () => {
    const backend = shared();
    const { reply } = await running(backend);
    expect(reply.primed).toBeUndefined();
  });

  it('does not pile up: of a thousand finished ones a session keeps 64', async () => {
    const backend = resumable();
    const alice = await backend.client();
    const primes: (string | undefined)[] = [];
    for (let id = 0; id < 1000; id++) {
      const reply = alice.request(call, {}, { id });
      await Promise.resolve();
      backend.connection.answer(call);
      primes.push(reply.primed);
    }
    expect(alice.stream(primes[0]).frames).toEqual([]);
    expect(alice.stream(primes[999]).frames).toMatchObject([{ id: 999 }]);
    expect(alice.session?.log?.size).toBeLessThanOrEqual(65);
  });
});

describe('a resumable standalone stream', () => {
  it('gives the client what came while it was away', async () => {
    const backend = resumable();
    const alice = await backend.client();
    const first = alice.stream();
    expect(first.primed).toMatch(/^get-\S+\.0$/);
    backend.connection.say(changed('tools'));
    first.open = false;
    first.onGone?.();
    backend.connection.say(changed('prompts'));
    const second = alice.stream(first.eventIds[0]);
    expect(second.methods).toEqual(['notifications/prompts/list_changed']);
    backend.connection.say(changed('resources'));
    expect(second.methods).toHaveLength(2);
    expect(second.eventIds[1]).not.toBe(second.eventIds[0]);
  });

  it('is a new one when it is gone or the id makes no sense', async () => {
    const backend = resumable();
    const alice = await backend.client();
    for (const id of ['get-elsewhere.3', 'nonsense', '', 'post', 'get-1', `get-${'x'.repeat(10_000)}.1`]) {
      const stream = alice.stream(id);
      expect([stream.ended, stream.primed?.startsWith('get-')]).toEqual([0, true]);
    }
  });
});

describe('bytes', () => {
  it('of a resumed message are those of the first time', async () => {
    const backend = resumable();
    const alice = await backend.client();
    const reply = new RecordingReply(true);
    backend.dispatcher.request(
      message('{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call"}'),
      reply,
      alice.origin,
    );
    await settled();
    reply.onGone?.();
    const { id } = backend.connection.last(call);
    backend.connection.say(`{"result":{"b":12345678901234567890,"a":"\u2028"},"id":${String(id)},"jsonrpc":"2.0"}`);
    const texts: string[] = [];
    const sink = {
      open: true,
      bufferedBytes: 0,
      send: (frame: { bytes: Buffer }) => texts.push(frame.bytes.toString()) > 0,
      keepAlive: () => undefined,
      end: () => undefined,
    };
    if (alice.session !== undefined) backend.dispatcher.openStream(alice.session, sink, { lastEventId: reply.primed });
    expect(texts).toEqual(['{"result":{"b":12345678901234567890,"a":"\u2028"},"id":9007199254740993,"jsonrpc":"2.0"}']);
  });
});
