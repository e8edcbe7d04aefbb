import type { Listener } from '@thv/dispatcher';
import { createMessage } from '@thv/transport';
import type { Clock, Message, RequestContext } from '@thv/transport';
import { describe, expect, it } from 'vitest';
import { SessionSubscriptions } from '../src/legacy/subscriptions.js';
import type { ModernServer } from '../src/index.js';

const context = {} as RequestContext;
const news = createMessage({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
const turn = () => new Promise((resolve) => setImmediate(resolve));

function open(refusals = 0) {
  const listeners: Listener[] = [];
  const filters: object[] = [];
  const closed: number[] = [];
  let left = refusals;
  const server = {
    listen: async (filter: object, listener: Listener) => {
      filters.push(filter);
      if (filters.length > 1 && left-- > 0)
        return { reason: 'unavailable', status: 503, code: -32603, message: 'down' };
      const index = listeners.push(listener) - 1;
      return { honoured: filter, close: () => closed.push(index) };
    },
  } as unknown as ModernServer;
  const timers: { delayMs: number; callback: () => void }[] = [];
  const clock: Clock = {
    now: () => 0,
    setTimer: (delayMs, callback) => {
      timers.push({ delayMs, callback });
      return () => undefined;
    },
  };
  const told: Message[] = [];
  const made = new SessionSubscriptions(server, context, (message) => told.push(message), clock);
  return { made, listeners, filters, closed, timers, told };
}

describe('the subscriptions of a session', () => {
  it('are opened again after the server went, and wait longer while it refuses', async () => {
    const { made, listeners, timers, told } = open(2);
    made.start();
    await turn();
    listeners[0]?.end(false);
    const delays: (number | undefined)[] = [];
    for (let round = 0; round < 3; round += 1) {
      const timer = timers.shift();
      delays.push(timer?.delayMs);
      timer?.callback();
      await turn();
    }
    expect(delays).toEqual([500, 1000, 2000]);
    listeners[1]?.send(news);
    expect(told).toEqual([news]);
    made.close();
  });

  it('tell nothing twice while one takes the place of another', async () => {
    const { made, listeners, filters, closed, told } = open();
    made.start();
    await turn();
    expect(await made.subscribe('x:1')).toBeUndefined();
    expect(filters.at(-1)).toMatchObject({ toolsListChanged: true, resourceSubscriptions: ['x:1'] });
    expect(closed).toEqual([0]);
    listeners[0]?.send(news);
    listeners[1]?.send(news);
    expect(told).toEqual([news]);
    await made.unsubscribe('x:1');
    expect(filters.at(-1)).not.toHaveProperty('resourceSubscriptions');
  });

  it('are not opened again after the session is over', async () => {
    const { made, listeners, timers } = open();
    made.start();
    await turn();
    made.close();
    listeners[0]?.end(true);
    expect(timers).toEqual([]);
  });
});
