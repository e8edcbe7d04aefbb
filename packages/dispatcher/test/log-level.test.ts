import { describe, expect, it } from 'vitest';
import { TestClient } from './support/client.js';
import { settled } from './support/clock.js';
import { shared } from './support/shared.js';

const setLevel = 'logging/setLevel';
const levels = (backend: ReturnType<typeof shared>) =>
  backend.connection.of(setLevel).map((json) => (json['params'] as { level: string }).level);

describe('the log level', () => {
  it('is answered at once and is the most verbose of all sessions', async () => {
    const backend = shared();
    const [alice, bob] = [await backend.client(), await backend.client()];
    expect(alice.request(setLevel, { level: 'warning' }).answer).toMatchObject({ result: {} });
    backend.connection.answer(setLevel);
    await settled();
    bob.request(setLevel, { level: 'debug' });
    backend.connection.answer(setLevel);
    await settled();
    alice.request(setLevel, { level: 'error' });
    await settled();
    expect(levels(backend)).toEqual(['warning', 'debug']);
  });

  it('runs one call at a time, and the latest wish wins', async () => {
    const backend = shared();
    const alice = await backend.client();
    for (const level of ['error', 'info', 'warning', 'debug']) alice.request(setLevel, { level });
    await settled();
    expect(levels(backend)).toEqual(['error']);
    backend.connection.answer(setLevel);
    await settled();
    expect(levels(backend)).toEqual(['error', 'debug']);
  });

  it('can go down when the only session wishes so', async () => {
    const backend = shared();
    const alice = await backend.client();
    alice.request(setLevel, { level: 'debug' });
    backend.connection.answer(setLevel);
    await settled();
    alice.request(setLevel, { level: 'error' });
    expect(levels(backend)).toEqual(['debug', 'error']);
  });

  it.each([['loud'], [''], [3], [undefined]])('refuses %j', async (level) => {
    const backend = shared();
    const reply = (await backend.client()).request(setLevel, level === undefined ? {} : { level });
    expect(reply.answer).toMatchObject({ error: { code: -32602 } });
    expect(levels(backend)).toEqual([]);
  });

  it('is refused when the server does not log', async () => {
    const backend = shared();
    backend.connection.initializeResult = { protocolVersion: '2025-11-25', capabilities: {} };
    const reply = (await backend.client()).request(setLevel, { level: 'info' });
    expect(reply.answer).toMatchObject({ error: { code: -32601 } });
  });

  it('without a session is the business of the server', async () => {
    const backend = shared();
    new TestClient(backend.dispatcher).request(setLevel, { level: 'info' });
    await settled();
    expect(levels(backend)).toEqual(['info']);
  });
});
