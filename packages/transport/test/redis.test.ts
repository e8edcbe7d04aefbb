import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSessionManager, findFreePort } from '../src/index.js';
import { openRedisSessionStore } from '../src/redis/index.js';
import { openServer } from './support/server.js';

const isThere = spawnSync('redis-server', ['--version']).status === 0;
const isRequired = process.env['THV_TEST_SERVICES'] === 'required';

describe('a store of sessions in Redis', () => {
  it.each([
    [{ url: 'http://x' }, 'url'],
    [{ url: 'redis://x', keyPrefix: 'a' }, 'keyPrefix'],
    [{ url: 'redis://x', ttlMs: 0 }, 'ttlMs'],
    [{ url: 'redis://x', timeoutMs: 1.5 }, 'timeoutMs'],
  ])('refuses %j', async (options, name) => {
    await expect(openRedisSessionStore(options)).rejects.toMatchObject({
      code: 'ERR_TRANSPORT_ARGUMENT',
      message: expect.stringContaining(name) as string,
    });
  });

  it('tells when nobody is there, and when who is there is no Redis', async () => {
    const port = await findFreePort();
    const gone = {
      code: 'ERR_TRANSPORT_SESSION_STORE',
      message: expect.stringContaining(`127.0.0.1:${port}`) as string,
    };
    await expect(
      openRedisSessionStore({ url: `redis://:secret@127.0.0.1:${port}`, timeoutMs: 300 }),
    ).rejects.toMatchObject(gone);
    await using server = await openServer((_, response) => response.end());
    await expect(
      openRedisSessionStore({ url: `redis://127.0.0.1:${server.port}`, timeoutMs: 300 }),
    ).rejects.toMatchObject({
      code: 'ERR_TRANSPORT_SESSION_STORE',
    });
  });
});

describe.skipIf(!isThere && !isRequired)('sessions in a real Redis', () => {
  let redis: ChildProcess;
  let url: string;
  let port: number;

  const start = async (): Promise<void> => {
    redis = spawn(
      'redis-server',
      ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--requirepass', 'geheim'],
      {
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    for await (const chunk of redis.stdout ?? []) if (String(chunk).includes('Ready to accept')) break;
  };
  const stop = async (): Promise<void> => {
    redis.kill('SIGKILL');
    await once(redis, 'exit');
  };

  beforeAll(async () => {
    port = await findFreePort();
    url = `redis://127.0.0.1:${port}/0`;
    await start();
  });
  afterAll(stop);

  const open = (more: object = {}) => openRedisSessionStore({ url, password: 'geheim', timeoutMs: 1000, ...more });

  it('are seen by another proxy, by their owner alone, until they are deleted', async () => {
    const one = createSessionManager({ store: await open() });
    const two = createSessionManager({ store: await open() });
    const anna = { subject: 'anna', issuer: 'https://i' };
    const made = await one.create({ type: 'mcp', principal: anna, metadata: { init_body: '{"ż":1}' } });
    expect(await two.find(made.id, anna)).toEqual({ kind: 'found', session: made });
    expect(await two.find(made.id, { subject: 'bob' })).toEqual({ kind: 'not-found' });
    expect(await two.find(made.id, undefined)).toEqual({ kind: 'not-found' });
    const changed = await two.update(made, { backend_sid: 'b' });
    expect(await one.find(made.id, anna)).toEqual({ kind: 'found', session: changed });
    await expect(one.create({ type: 'mcp', id: made.id })).rejects.toMatchObject({ code: 'ERR_TRANSPORT_ARGUMENT' });
    expect([one.count, two.count]).toEqual([1, 1]);
    await two.delete(made.id);
    expect(await one.find(made.id, anna)).toEqual({ kind: 'not-found' });
    expect(await one.update(made, {})).toBeUndefined();
    await one.close();
    await two.close();
    await two.close();
  });

  it('are over when nobody used them, and live on while their owner does', async () => {
    const store = await open({ ttlMs: 300, keyPrefix: 'short:' });
    const manager = createSessionManager({ store });
    const { id } = await manager.create({ type: 'sse', principal: { subject: 'anna' } });
    for (let turn = 0; turn < 3; turn += 1) {
      await sleep(150);
      expect((await manager.find(id, { subject: 'anna' })).kind).toBe('found');
    }
    await sleep(200);
    // Somebody else's question does not keep it alive.
    expect((await manager.find(id, { subject: 'bob' })).kind).toBe('not-found');
    await sleep(150);
    expect((await manager.find(id, { subject: 'anna' })).kind).toBe('not-found');
    expect(manager.count).toBe(0);
    await manager.close();
  });

  it('are unavailable, not gone, while Redis is away', async () => {
    const errors: Error[] = [];
    const manager = createSessionManager({ store: await open({ onError: (error: Error) => errors.push(error) }) });
    const { id } = await manager.create({ type: 'mcp' });
    await stop();
    await expect.poll(async () => (await manager.find(id, undefined)).kind).toBe('unavailable');
    await start();
    await expect.poll(async () => (await manager.find(id, undefined)).kind, { timeout: 10_000 }).toBe('not-found');
    expect(errors.length).toBeGreaterThan(0);
    await manager.close();
  });

  it('cannot be opened with a wrong password', async () => {
    await expect(open({ password: 'falsch' })).rejects.toMatchObject({ code: 'ERR_TRANSPORT_SESSION_STORE' });
  });
});
