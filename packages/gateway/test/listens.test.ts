import { createChannel } from '@thv/dispatcher';
import { createMemoryConnection } from '@thv/transport';
import type { Clock, Message } from '@thv/transport';
import { expect, it } from 'vitest';
import { RelayListens } from '../src/relay/listens.js';

it('a subscription that the server does not acknowledge is given up', async () => {
  const due: (() => void)[] = [];
  const clock: Clock = { now: () => 0, setTimer: (_, callback) => (due.push(callback), () => undefined) };
  const { connection, peer } = createMemoryConnection();
  const seen: Message[] = [];
  peer.onMessage = (message) => seen.push(message);
  const channel = createChannel(connection, {}, { onMessage: () => undefined });
  await channel.start();
  const listens = new RelayListens(channel, { name: 'c', version: '1' }, clock);
  const opened = listens.open({ toolsListChanged: true }, { send: () => undefined, end: () => undefined });
  expect(channel.inFlight).toBe(1);
  for (const callback of due) callback();
  expect(await opened).toMatchObject({ reason: 'refused', status: 504 });
  expect(channel.inFlight).toBe(0);
  expect(seen.at(-1)?.method).toBe('notifications/cancelled');
  await channel.close();
});
