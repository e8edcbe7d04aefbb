import { describe, expect, it } from 'vitest';
import { TestClient } from './support/client.js';
import { settled } from './support/clock.js';
import { shared } from './support/shared.js';

const call = 'tools/call';

describe('correlation', () => {
  it('gives each client the answer to its own request although their ids are equal', async () => {
    const { connection, client } = shared();
    const [alice, bob] = [await client(), await client()];
    const first = alice.request(call, { who: 'alice' }, { id: 7 });
    const second = bob.request(call, { who: 'bob' }, { id: 7 });
    const [one, two] = connection.of(call);
    expect(one?.['id']).not.toBe(two?.['id']);
    connection.say({ jsonrpc: '2.0', id: two?.['id'], result: { for: 'bob' } });
    connection.say({ jsonrpc: '2.0', id: one?.['id'], result: { for: 'alice' } });
    expect(first.answer).toEqual({ jsonrpc: '2.0', id: 7, result: { for: 'alice' } });
    expect(second.answer).toEqual({ jsonrpc: '2.0', id: 7, result: { for: 'bob' } });
  });

  it.each([[0], ['0'], ['a'], [9007199254740991], ['p1|2']])('restores the id %j with its type', async (id) => {
    const { connection, client } = shared();
    const reply = (await client()).request(call, {}, { id });
    connection.answer(call);
    expect(reply.answer['id']).toBe(id);
  });

  it('uses numbers on the wire', async () => {
    const { connection, client } = shared();
    (await client()).request(call, {}, { id: 'text' });
    expect(typeof connection.last(call)['id']).toBe('number');
  });

  it('keeps 1 and "1" of one session apart', async () => {
    const { connection, client } = shared();
    const alice = await client();
    const number = alice.request(call, {}, { id: 1 });
    const text = alice.request(call, {}, { id: '1' });
    const [one, two] = connection.of(call);
    connection.say({ jsonrpc: '2.0', id: two?.['id'], result: { n: 2 } });
    connection.say({ jsonrpc: '2.0', id: one?.['id'], result: { n: 1 } });
    expect(number.answer).toMatchObject({ id: 1, result: { n: 1 } });
    expect(text.answer).toMatchObject({ id: '1', result: { n: 2 } });
  });

  it('refuses an id that is on its way in the session, and leaves the first request alone', async () => {
    const { connection, client } = shared();
    const alice = await client();
    const first = alice.request(call, {}, { id: 5 });
    const second = alice.request(call, {}, { id: 5 });
    expect(second.failure).toMatchObject({ status: 400, code: -32600, reason: 'duplicate-id' });
    connection.answer(call);
    expect(first.answer).toMatchObject({ id: 5 });
    expect(connection.of(call)).toHaveLength(1);
  });

  it('takes an id again once its request is answered', async () => {
    const { connection, client } = shared();
    const alice = await client();
    alice.request(call, {}, { id: 5 });
    connection.answer(call);
    const again = alice.request(call, {}, { id: 5 });
    connection.answer(call, { again: true });
    expect(again.answer).toMatchObject({ result: { again: true } });
  });

  it('never mixes up requests without a session, whatever their ids', async () => {
    const { connection, dispatcher } = shared();
    const replies = [1, 1, 1].map((id) => new TestClient(dispatcher).request(call, {}, { id }));
    await settled();
    connection.of(call).forEach((sent, index) => connection.say({ jsonrpc: '2.0', id: sent['id'], result: { index } }));
    expect(replies.map((reply) => reply.answer['result'])).toEqual([{ index: 0 }, { index: 1 }, { index: 2 }]);
  });

  it.each([[999_999], ['1'], ['nobody'], [-1], [1.5]])(
    'drops a response with the id %j, which it never gave',
    async (id) => {
      const { connection, client, drops } = shared();
      const reply = (await client()).request(call);
      connection.say(`{"jsonrpc":"2.0","id":${JSON.stringify(id === 1.5 ? 15 : id)},"result":{}}`);
      if (id === '1') expect(reply.outcome).toBeUndefined();
      expect(reply.settlements).toBe(0);
      expect(drops.map(({ reason }) => reason)).toEqual(['unknown-response']);
    },
  );

  it('drops the second of two responses', async () => {
    const { connection, client, drops } = shared();
    const reply = (await client()).request(call);
    connection.answer(call, { n: 1 });
    connection.answer(call, { n: 2 });
    expect(reply.settlements).toBe(1);
    expect(reply.answer['result']).toEqual({ n: 1 });
    expect(drops.map(({ reason }) => reason)).toEqual(['unknown-response']);
  });

  it('hands errors of the backend through', async () => {
    const { connection, client } = shared();
    const reply = (await client()).request(call, {}, { id: 'e' });
    connection.say({
      jsonrpc: '2.0',
      id: connection.last(call)['id'],
      error: { code: -32602, message: 'no', data: [1] },
    });
    expect(reply.answer).toEqual({ jsonrpc: '2.0', id: 'e', error: { code: -32602, message: 'no', data: [1] } });
  });

  it('answers a request whose response was too large to read', async () => {
    const { connection, client } = shared();
    const reply = (await client()).request(call);
    connection.oversize(String(connection.last(call)['id']), 70_000_000);
    expect(reply.failure).toMatchObject({ code: -32603, message: 'Response too large', data: { bytes: 70_000_000 } });
  });
});
