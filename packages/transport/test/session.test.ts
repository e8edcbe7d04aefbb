import { describe, expect, it } from 'vitest';
import { createMemorySessionStore, createSessionManager } from '../src/index.js';
import type { SessionManagerOptions, SessionStore } from '../src/index.js';

const HOUR = 60 * 60 * 1_000;
const anna = { issuer: 'https://id.example', subject: 'anna' };

function open(options: SessionManagerOptions = {}) {
  let now = 0;
  let timers: { at: number; callback: () => void }[] = [];
  const clock = {
    now: () => now,
    setTimer(delayMs: number, callback: () => void) {
      const timer = { at: now + delayMs, callback };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
  };
  const expired: string[] = [];
  const manager = createSessionManager({
    clock,
    now: () => 1_000 + now,
    onExpired: (ids) => expired.push(...ids),
    ...options,
  });
  return {
    manager,
    clock,
    expired,
    timers: () => timers.length,
    pass(ms: number) {
      now += ms;
    },
    /** Fires what is due, and lets it finish. */
    async fire() {
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter((timer) => !due.includes(timer));
      for (const { callback } of due) callback();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('a session', () => {
  it('is found by its owner alone', async () => {
    const { manager } = open();
    const session = await manager.create({ type: 'streamable', principal: anna, metadata: { agent: 'x' } });
    expect(session).toMatchObject({ type: 'streamable', createdAt: 1_000, metadata: { agent: 'x' } });
    expect(await manager.find(session.id, { ...anna })).toEqual({ kind: 'found', session });
    for (const other of [undefined, { subject: 'anna' }, { ...anna, subject: 'bob' }]) {
      expect(await manager.find(session.id, other)).toEqual({ kind: 'not-found' });
    }
    expect(await manager.find('unknown', anna)).toEqual({ kind: 'not-found' });
    await manager.close();
  });

  it('is over exactly when its time is, whether or not a sweep came by', async () => {
    const { manager, pass } = open({ ttlMs: HOUR });
    const { id } = await manager.create({ type: 'mcp' });
    pass(HOUR - 1);
    expect((await manager.find(id, undefined)).kind).toBe('found');
    pass(HOUR - 1);
    expect((await manager.find(id, undefined)).kind).toBe('found');
    pass(HOUR);
    expect(manager.count).toBe(0);
    expect((await manager.find(id, undefined)).kind).toBe('not-found');
    await manager.close();
  });

  it('is not kept alive by somebody else', async () => {
    const { manager, pass } = open({ ttlMs: HOUR });
    const { id } = await manager.create({ type: 'mcp', principal: anna });
    pass(HOUR - 1);
    await manager.find(id, undefined);
    pass(1);
    expect((await manager.find(id, anna)).kind).toBe('not-found');
    await manager.close();
  });

  it('is swept twice in its time, and the owner is told once', async () => {
    const { manager, pass, fire, expired, timers } = open({ ttlMs: HOUR });
    const old = await manager.create({ type: 'mcp' });
    pass(HOUR / 2);
    const fresh = await manager.create({ type: 'mcp' });
    await fire();
    expect(expired).toEqual([]);
    pass(HOUR / 2);
    await fire();
    expect(expired).toEqual([old.id]);
    expect(manager.count).toBe(1);
    await manager.delete(fresh.id);
    await manager.delete(fresh.id);
    expect(manager.count).toBe(0);
    await manager.close();
    await manager.close();
    expect(timers()).toBe(0);
  });

  it('takes other metadata while it lives', async () => {
    const { manager, pass } = open({ ttlMs: HOUR });
    const session = await manager.create({ type: 'mcp', principal: anna });
    pass(10);
    const changed = await manager.update(session, { backend: 'b' });
    expect(changed).toMatchObject({ id: session.id, createdAt: 1_000, updatedAt: 1_010, metadata: { backend: 'b' } });
    expect(await manager.find(session.id, anna)).toEqual({ kind: 'found', session: changed });
    await manager.delete(session.id);
    expect(await manager.update(session, {})).toBeUndefined();
    expect(manager.count).toBe(0);
    await manager.close();
  });

  it('may bring its own id, which must be a UUID and free', async () => {
    const { manager } = open();
    const id = '7f0e5f6c-4c57-4d8e-9d2b-7b9f3f1f2a10';
    await manager.create({ type: 'mcp', id });
    for (const wrong of [id, 'x', '']) {
      await expect(manager.create({ type: 'mcp', id: wrong })).rejects.toMatchObject({
        code: 'ERR_TRANSPORT_ARGUMENT',
      });
    }
    await manager.close();
  });
});

describe('a store that fails', () => {
  const broken: SessionStore = {
    ...createMemorySessionStore(),
    load: () => Promise.reject(new Error('no route')),
    deleteExpired: () => Promise.reject(new Error('no route')),
  };

  it('is told as unavailable, not as a session that is over', async () => {
    const { manager } = open({ store: broken });
    expect(await manager.find('x', undefined)).toMatchObject({ kind: 'unavailable', error: { message: 'no route' } });
    await manager.close();
  });

  it('is swept again later', async () => {
    const errors: unknown[] = [];
    const { manager, pass, fire } = open({ store: broken, ttlMs: HOUR, onError: (error) => errors.push(error) });
    for (let round = 1; round <= 2; round += 1) {
      pass(HOUR);
      await fire();
      expect(errors).toHaveLength(round);
    }
    await manager.close();
  });
});

it.each([0, -1, 1.5, Number.NaN])('refuses a time to live of %d', (ttlMs) => {
  expect(() => createSessionManager({ ttlMs })).toThrow(/`ttlMs` to be a positive integer/);
  expect(() => createMemorySessionStore({ ttlMs })).toThrow(/`ttlMs` to be a positive integer/);
});
