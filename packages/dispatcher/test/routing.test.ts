import { describe, expect, it } from 'vitest';
import { settled } from './support/clock.js';
import { shared } from './support/shared.js';

const note = (method: string, params?: Record<string, unknown>) => ({
  jsonrpc: '2.0',
  method,
  ...(params === undefined ? {} : { params }),
});

describe('a notification of a shared server', () => {
  it.each(['tools', 'resources', 'prompts'])('about the list of %s reaches every session once', async (list) => {
    const { connection, client } = shared();
    const streams = [(await client()).stream(), (await client()).stream()];
    await client();
    connection.say(note(`notifications/${list}/list_changed`));
    expect(streams.map((stream) => stream.frames)).toEqual([
      [note(`notifications/${list}/list_changed`)],
      [note(`notifications/${list}/list_changed`)],
    ]);
  });

  it.each([
    ['notifications/message', 'unattributed-log'],
    ['notifications/cancelled', 'unattributed-notification'],
    ['notifications/elicitation/complete', 'unattributed-notification'],
    ['notifications/tasks/status', 'unattributed-notification'],
    ['vendor/secret', 'unattributed-notification'],
  ])('with the method %s reaches nobody', async (method, reason) => {
    const { connection, client, drops } = shared();
    const alice = await client();
    const stream = alice.stream();
    const reply = alice.request('tools/call');
    connection.say(note(method, { level: 'info', data: 'secret' }));
    expect(stream.frames).toEqual([]);
    expect(reply.frames).toEqual([]);
    expect(drops).toMatchObject([{ reason, suppressed: 0 }]);
  });

  it('that says for which request it is reaches that request', async () => {
    const { connection, client } = shared();
    const [alice, bob] = [await client(), await client()];
    const [ofAlice, ofBob] = [alice.request('tools/call'), bob.request('tools/call')];
    const origin = String(connection.of('tools/call')[1]?.['id']);
    connection.say(note('notifications/message', { level: 'info', data: 'for bob' }), origin);
    expect(ofAlice.frames).toEqual([]);
    expect(ofBob.frames).toEqual([note('notifications/message', { level: 'info', data: 'for bob' })]);
  });

  it('is filtered by the level of its session where it is attributed', async () => {
    const { connection, client } = shared();
    const alice = await client();
    alice.request('logging/setLevel', { level: 'error' });
    const reply = alice.request('tools/call');
    const origin = String(connection.last('tools/call')['id']);
    connection.say(note('notifications/message', { level: 'debug', data: 1 }), origin);
    connection.say(note('notifications/message', { level: 'error', data: 2 }), origin);
    expect(reply.frames).toEqual([note('notifications/message', { level: 'error', data: 2 })]);
  });

  it('is reported at most 100 times a second', async () => {
    const { connection, client, drops, clock, dispatcher } = shared();
    await client();
    for (let n = 0; n < 250; n++) connection.say(note('notifications/message', { level: 'info', data: n }));
    expect(drops).toHaveLength(100);
    await clock.advance(1000);
    connection.say(note('notifications/message', { level: 'info', data: 'last' }));
    expect(drops.at(-1)).toMatchObject({ suppressed: 150 });
    expect(dispatcher.stats().drops['unattributed-log']).toBe(251);
  });
});

describe('an observer of drops', () => {
  it('that throws harms nobody', async () => {
    const { connection, client } = shared({
      onDropped: () => {
        throw new Error('observer');
      },
    });
    const reply = (await client()).request('tools/call');
    connection.say(note('notifications/message', { level: 'info', data: 1 }));
    connection.answer('tools/call');
    expect(reply.answer).toHaveProperty('result');
  });
});

describe('a request of a shared server', () => {
  it.each(['sampling/createMessage', 'elicitation/create', 'roots/list', 'vendor/ask'])(
    '%s is refused',
    async (method) => {
      const { connection, client } = shared();
      const alice = await client({ capabilities: { sampling: {}, elicitation: {}, roots: {} } });
      const stream = alice.stream();
      const reply = alice.request('tools/call');
      connection.say({ jsonrpc: '2.0', id: 'server-1', method, params: {} });
      expect(connection.sent.at(-1)).toEqual({
        jsonrpc: '2.0',
        id: 'server-1',
        error: {
          code: -32601,
          message: `server-initiated ${method} is not supported by the shared streamable proxy; requires a per-session backend deployment`,
        },
      });
      expect([stream.frames, reply.frames]).toEqual([[], []]);
    },
  );

  it('ping is answered', async () => {
    const { connection, client } = shared();
    await client();
    connection.say({ jsonrpc: '2.0', id: 0, method: 'ping' });
    expect(connection.sent.at(-1)).toEqual({ jsonrpc: '2.0', id: 0, result: {} });
  });

  it('that says for which request it asks reaches that client, and the answer comes back', async () => {
    const { connection, client } = shared();
    const [alice, bob] = [await client({ capabilities: { roots: {} } }), await client({ capabilities: { roots: {} } })];
    const [ofAlice, ofBob] = [alice.request('tools/call'), bob.request('tools/call')];
    const origin = String(connection.of('tools/call')[1]?.['id']);
    connection.say({ jsonrpc: '2.0', id: 's1', method: 'roots/list' }, origin);
    expect(ofAlice.frames).toEqual([]);
    expect(ofBob.frames).toEqual([{ jsonrpc: '2.0', id: 's1', method: 'roots/list' }]);
    alice.respond({ id: 's1', result: { roots: ['evil'] } });
    expect(connection.sent.at(-1)).not.toHaveProperty('result');
    bob.respond({ id: 's1', result: { roots: [] } });
    expect(connection.sent.at(-1)).toEqual({ jsonrpc: '2.0', id: 's1', result: { roots: [] } });
  });
});

describe('what a client sends without waiting for an answer', () => {
  it.each(['notifications/initialized', 'notifications/roots/list_changed'])('%s stays here', async (method) => {
    const { connection, client } = shared();
    const alice = await client();
    const before = connection.of(method).length;
    expect(alice.notify(method)).toBe('taken');
    expect(connection.of(method)).toHaveLength(before);
  });

  it('is otherwise handed on', async () => {
    const { connection, client } = shared();
    expect((await client()).notify('vendor/note', { a: 1 })).toBe('taken');
    expect(connection.last('vendor/note')['params']).toEqual({ a: 1 });
  });

  it('is an answer that nobody asked for, and is dropped', async () => {
    const { connection, client, drops } = shared();
    const alice = await client();
    const before = connection.sent.length;
    expect(alice.respond({ id: 1, result: { forged: true } })).toBe('taken');
    await settled();
    expect(connection.sent).toHaveLength(before);
    expect(drops.map(({ reason }) => reason)).toEqual(['client-response']);
  });
});
