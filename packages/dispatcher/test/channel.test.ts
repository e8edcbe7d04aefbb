import { createMemoryConnection, createMessage } from '@thv/transport';
import type { Message } from '@thv/transport';
import { describe, expect, it } from 'vitest';
import { createChannel, createChannelLane } from '../src/index.js';
import type { Outcome, Reply } from '../src/index.js';
import { ManualClock } from './support/clock.js';

async function open(options: Parameters<typeof createChannel>[1] = {}) {
  const { connection, peer } = createMemoryConnection();
  const seen: Message[] = [];
  peer.onMessage = (message) => seen.push(message);
  const told: Message[] = [];
  const channel = createChannel(connection, options, { onMessage: (message) => told.push(message) });
  await channel.start();
  return { channel, peer, seen, told };
}

function reply(streams = true) {
  const outcomes: Outcome[] = [];
  const sent: Message[] = [];
  const made: Reply = {
    streams,
    open: true,
    bufferedBytes: 0,
    send: (message) => sent.push(message) > 0,
    keepAlive: () => undefined,
    settle: (outcome) => outcomes.push(outcome),
  };
  return { made, outcomes, sent };
}

const call = (id: unknown, meta?: object): Message =>
  createMessage({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'a', ...(meta && { _meta: meta }) } });

describe('a channel', () => {
  it('gives equal ids and tokens of several requests back to the right one', async () => {
    const { channel, peer, seen } = await open();
    const [one, two] = [reply(), reply()];
    channel.request(call('x', { progressToken: 'p' }), one.made);
    channel.request(call('x', { progressToken: 'p' }), two.made);
    const ids = seen.map(({ idText }) => Number(idText));
    expect(new Set(ids).size).toBe(2);
    const params = { progressToken: ids[1], progress: 1 };
    peer.send(createMessage({ jsonrpc: '2.0', method: 'notifications/progress', params }));
    peer.send(createMessage({ jsonrpc: '2.0', id: ids[1], result: { n: 2 } }));
    peer.send(createMessage({ jsonrpc: '2.0', id: ids[0], result: { n: 1 } }));
    expect(two.sent.map((message) => message.json())).toMatchObject([{ params: { progressToken: 'p' } }]);
    expect(one.sent).toEqual([]);
    const results = [one, two].map(({ outcomes: [outcome] }) =>
      outcome?.kind === 'answer' ? outcome.message.json() : outcome,
    );
    expect(results).toMatchObject([
      { id: 'x', result: { n: 1 } },
      { id: 'x', result: { n: 2 } },
    ]);
  });

  it('refuses an id twice in one lane', async () => {
    const { channel } = await open();
    const lane = createChannelLane();
    const again = reply();
    expect(channel.request(call(1), reply().made, { lane })).toBeDefined();
    expect(channel.request(call(1), again.made, { lane })).toBeUndefined();
    expect(again.outcomes).toMatchObject([{ kind: 'failure', failure: { reason: 'duplicate-id' } }]);
  });

  it('tells the backend of a cancelled request, and settles it as cancelled', async () => {
    const { channel, seen } = await open();
    const one = reply();
    const exchange = channel.request(call(1), one.made);
    exchange?.cancel({ reason: 'enough' });
    expect(exchange?.done).toBe(true);
    expect(one.outcomes).toEqual([{ kind: 'cancelled' }]);
    expect(seen.at(-1)?.json()).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: exchange?.wireId, reason: 'enough' },
    });
  });

  it('lets the deadline of a parked request stand still', async () => {
    const clock = new ManualClock();
    const { channel } = await open({ clock, requestTimeoutMs: 1000 });
    const one = reply();
    const exchange = channel.request(call(1), one.made);
    exchange?.park();
    await clock.advance(5000);
    expect(one.outcomes).toEqual([]);
    exchange?.unpark();
    await clock.advance(1500);
    expect(one.outcomes).toMatchObject([{ kind: 'failure', failure: { reason: 'timeout' } }]);
  });

  it('hands over what the backend asks and tells, and fails everything when it goes', async () => {
    const { channel, peer, told } = await open();
    const one = reply();
    channel.request(call(1), one.made);
    const asked = createMessage({ jsonrpc: '2.0', id: 9, method: 'roots/list' });
    peer.send(asked);
    expect(told).toEqual([asked]);
    peer.fail({ stderrTail: ['bad luck'] });
    expect(one.outcomes).toMatchObject([{ kind: 'failure', failure: { reason: 'backend-exited' } }]);
    expect(channel.stderrTail).toEqual(['bad luck']);
    expect(channel.refusal()).toMatchObject({ reason: 'backend-exited' });
    await channel.close();
    await channel.close();
  });
});
