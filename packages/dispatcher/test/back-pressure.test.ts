import { describe, expect, it } from 'vitest';
import { FlowGuard } from '../src/flow-guard.js';
import { ManualClock, settled } from './support/clock.js';
import { shared } from './support/shared.js';

const call = 'tools/call';

describe('back-pressure towards the server', () => {
  it('queues what the pipe does not take, serves sessions in turn, and refuses above the queue', async () => {
    const { connection, client, dispatcher } = shared({ maxQueuedMessages: 5 });
    const [alice, bob] = [await client(), await client()];
    connection.full = true;
    alice.request(call, {}, { id: 'fills the pipe' });
    const before = connection.of(call).length;
    const waiting = [1, 2, 3].map((n) => alice.request(call, { n: `alice ${n}` }));
    const behind = [1, 2].map((n) => bob.request(call, { n: `bob ${n}` }));
    expect(connection.of(call)).toHaveLength(before);
    expect(dispatcher.stats().queued).toBe(5);
    const refused = bob.request(call);
    expect(refused.failure).toMatchObject({ status: 503, code: -32603, retryAfterMs: 1000, reason: 'busy' });
    expect(bob.notify('vendor/note')).toBe('busy');
    connection.drain();
    await settled();
    const order = connection.of(call).slice(before);
    expect(order.map((json) => (json['params'] as { n: string }).n)).toEqual([
      'alice 1',
      'bob 1',
      'alice 2',
      'bob 2',
      'alice 3',
    ]);
    expect([...waiting, ...behind].map(({ settlements }) => settlements)).toEqual([0, 0, 0, 0, 0]);
  });

  it('bounds the queue in bytes as well', async () => {
    const { connection, client } = shared({ maxQueuedBytes: 1000 });
    const alice = await client();
    connection.full = true;
    alice.request(call);
    alice.request(call, { text: 'x'.repeat(800) });
    expect(alice.request(call, { text: 'x'.repeat(800) }).failure.reason).toBe('busy');
  });

  it('lets one session have so many requests on their way, and no more', async () => {
    const { connection, client } = shared({ maxInFlightPerSession: 2 });
    const [alice, bob] = [await client(), await client()];
    const replies = [1, 2, 3, 4].map((n) => alice.request(call, { n }));
    expect(connection.of(call)).toHaveLength(2);
    bob.request(call, { n: 'bob' });
    expect(connection.of(call)).toHaveLength(3);
    connection.say({ jsonrpc: '2.0', id: connection.of(call)[0]?.['id'], result: {} });
    expect(connection.of(call).map((json) => (json['params'] as { n: unknown }).n)).toEqual([1, 2, 'bob', 3]);
    expect(replies[0]?.settlements).toBe(1);
  });

  it('keeps the order of one session', async () => {
    const { connection, client } = shared();
    const alice = await client();
    connection.full = true;
    alice.request(call);
    alice.notify('vendor/one');
    alice.request(call, { n: 2 });
    alice.notify('vendor/three');
    connection.drain();
    await settled();
    expect(connection.sent.slice(-3).map(({ method }) => method)).toEqual(['vendor/one', call, 'vendor/three']);
  });

  it('forgets the queue when the server dies, and answers what was in it', async () => {
    const { connection, client, dispatcher } = shared();
    const alice = await client();
    connection.full = true;
    alice.request(call);
    const waiting = alice.request(call);
    alice.notify('vendor/note');
    connection.down({ retryAfterMs: 1 });
    expect(waiting.failure.reason).toBe('backend-exited');
    expect(dispatcher.stats()).toMatchObject({ queued: 0, inFlight: 0 });
    connection.full = false;
    connection.up();
    await settled();
    const after = alice.request(call);
    await settled();
    connection.answer(call);
    expect(after.answer).toHaveProperty('result');
  });
});

describe('back-pressure towards the clients', () => {
  function guard() {
    const clock = new ManualClock();
    const states: boolean[] = [];
    const flow = new FlowGuard({
      clock,
      maxSinkBytes: 100,
      stallMs: 60_000,
      pauseAboveBytes: 1000,
      setPaused: (paused) => states.push(paused),
    });
    const receiver = (bufferedBytes: number) => {
      const watched = {
        bufferedBytes,
        destroyed: false,
        destroy: () => {
          watched.destroyed = true;
          watched.bufferedBytes = 0;
        },
      };
      flow.watch(watched);
      return watched;
    };
    return { clock, flow, states, receiver };
  }

  it('cuts off a receiver that takes nothing for a minute, not one that is slow', async () => {
    const { clock, flow, receiver } = guard();
    const [stuck, slow] = [receiver(50), receiver(500)];
    for (let n = 0; n < 70; n++) {
      await clock.advance(1000);
      slow.bufferedBytes--;
    }
    expect([stuck.destroyed, slow.destroyed]).toEqual([true, false]);
    expect(flow.size).toBe(1);
  });

  it('does not cut off a response that waits behind another one', async () => {
    const { clock, flow } = guard();
    const waiting = { bufferedBytes: 50, waitsItsTurn: true, destroyed: 0, destroy: () => void waiting.destroyed++ };
    flow.watch(waiting);
    await clock.advance(120_000);
    expect(waiting.destroyed).toBe(0);
    waiting.waitsItsTurn = false;
    await clock.advance(62_000);
    expect(waiting.destroyed).toBe(1);
  });

  it('pauses the server only above the total, and goes on at half of it', async () => {
    const { clock, flow, states, receiver } = guard();
    const first = receiver(900);
    expect(states).toEqual([]);
    const second = receiver(200);
    expect(states).toEqual([true]);
    second.bufferedBytes = 0;
    await clock.advance(1000);
    expect(states).toEqual([true]);
    first.bufferedBytes = 400;
    await clock.advance(1000);
    expect(states).toEqual([true, false]);
    flow.unwatch(first);
    expect(flow.size).toBe(0);
  });

  it('reaches the connection', async () => {
    const { connection, client, dispatcher } = shared({ pauseAboveBytes: 10 });
    await client();
    const receiver = { bufferedBytes: 11, destroy: () => undefined };
    dispatcher.flow.watch(receiver);
    expect(connection.paused).toBe(true);
    dispatcher.flow.unwatch(receiver);
    expect(connection.paused).toBe(false);
  });
});
