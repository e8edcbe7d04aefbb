import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMemoryReplayGuard, createMemoryStateStore, createStateCodec } from '../src/index.js';
import type { StateBinding, StateCodecOptions, StateStore } from '../src/index.js';

const key = (id: string, notAfter?: number) => ({
  id,
  key: randomBytes(32),
  ...(notAfter === undefined ? {} : { notAfter }),
});
const own = key('k1');
const binding: StateBinding = {
  principal: { issuer: 'https://id.example', subject: 'ada' },
  method: 'tools/call',
  params: { name: 'deploy', arguments: { to: 'production', replicas: 2 } },
  audience: 'server',
};
const codec = (options: Partial<StateCodecOptions> = {}) => createStateCodec({ keys: [own], ...options });
const reasonOf = async (token: unknown, changed: Partial<StateBinding> = {}, opener = codec()) => {
  const opened = await opener.open(token, { ...binding, ...changed });
  return opened.kind === 'rejected' ? opened.reason : 'opened';
};

describe('a sealed state', () => {
  it('M01 opens for its request, names its key and shows nothing', async () => {
    const token = await codec().seal({ secret: 'plain words' }, binding);
    expect(token).toMatch(/^thv1\.k1\.[A-Za-z0-9_-]+$/);
    expect(Buffer.from(token.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toContain('plain words');
    expect(await codec().open(token, binding)).toMatchObject({
      kind: 'opened',
      payload: { secret: 'plain words' },
      round: 1,
      keyId: 'k1',
    });
  });

  it.each([
    ['truncated', (token: string) => token.slice(0, -5)],
    ['empty', () => ''],
    ['no base64url', (token: string) => `${token}*`],
    ['a number', () => 7],
    ['nothing', () => undefined],
    ['of a huge length', (token: string) => token.padEnd(100_000, 'A')],
    ['of another version', (token: string) => token.replace('thv1', 'thv2')],
  ])('M03 that is %s is refused and nothing is thrown', async (_, spoil) => {
    const token = await codec().seal(1, binding);
    expect(await reasonOf(spoil(token))).toMatch(/^(?:malformed|tampered)$/);
  });

  it.each([
    ['another subject', { subject: 'bob', issuer: 'https://id.example' }],
    ['another issuer', { subject: 'ada', issuer: 'https://other.example' }],
    ['no issuer', { subject: 'ada' }],
    ['an anonymous caller', undefined],
  ])('M05, M06 does not open for %s', async (_, principal) => {
    expect(await reasonOf(await codec().seal(1, binding), { principal })).toBe('principal');
  });

  it('M05 keeps issuer and subject apart where their texts run together', async () => {
    const token = await codec().seal(1, { ...binding, principal: { issuer: 'a', subject: 'bc' } });
    expect(await reasonOf(token, { principal: { issuer: 'ab', subject: 'c' } })).toBe('principal');
  });

  it('M06 of an anonymous caller does not open for one who is known', async () => {
    const token = await codec().seal(1, { ...binding, principal: undefined });
    expect(await reasonOf(token)).toBe('principal');
    expect(await reasonOf(token, { principal: undefined })).toBe('opened');
  });

  it.each([
    ['another method', { method: 'prompts/get' }, 'method'],
    ['another audience', { audience: 'other' }, 'audience'],
    ['other arguments', { params: { name: 'deploy', arguments: { to: 'staging', replicas: 2 } } }, 'params'],
  ] as const)('does not open for %s', async (_, changed, reason) => {
    expect(await reasonOf(await codec().seal(1, binding), changed)).toBe(reason);
  });

  it('M08 does not mind the order of keys, how a number is written, nor what the protocol adds', async () => {
    const params = JSON.parse(
      '{"requestState":"x","inputResponses":{"a":{}},"_meta":{"progressToken":9},"arguments":{"replicas":2.0,"to":"production"},"name":"deploy"}',
    ) as StateBinding['params'];
    expect(await reasonOf(await codec().seal(1, binding), { params })).toBe('opened');
  });

  it('has a bound on how deep parameters are', async () => {
    let deep: unknown = 1;
    for (let level = 0; level < 20_000; level += 1) deep = [deep];
    const params = { deep } as unknown as StateBinding['params'];
    await expect(codec().seal(1, { ...binding, params })).rejects.toMatchObject({ code: 'ERR_MRTR_ARGUMENT' });
    expect(await reasonOf(await codec().seal(1, binding), { params })).toBe('params');
  });

  it('M10 outlives a rotation until its key is gone', async () => {
    const old = key('old');
    const fresh = key('new');
    const token = await codec({ keys: [old] }).seal(1, binding);
    expect(await reasonOf(token, {}, codec({ keys: [fresh, old] }))).toBe('opened');
    expect(await codec({ keys: [fresh, old] }).seal(1, binding)).toMatch(/^thv1\.new\./);
    expect(await reasonOf(token, {}, codec({ keys: [fresh] }))).toBe('unknown-key');
    expect(await reasonOf(token, {}, codec({ keys: [fresh, { ...old, notAfter: 1 }] }))).toBe('expired-key');
  });

  it('M11 does not open under another key of the ring', async () => {
    const second = key('k2');
    const token = await codec().seal(1, binding);
    expect(await reasonOf(token.replace('.k1.', '.k2.'), {}, codec({ keys: [own, second] }))).toBe('tampered');
    const same = { id: 'k2', key: own.key };
    expect(await reasonOf(token.replace('.k1.', '.k2.'), {}, codec({ keys: [own, same] }))).toBe('tampered');
  });

  it('ends with its round, and with its flow whatever the round', async () => {
    let now = 1000;
    const timed = codec({ now: () => now, ttlMs: 100, flowTtlMs: 150 });
    const token = await timed.seal(1, binding);
    now += 99;
    const opened = await timed.open(token, binding);
    if (opened.kind !== 'opened') throw new Error(opened.reason);
    const next = await timed.seal(2, binding, { ...opened, round: 2 });
    now += 1;
    expect(await reasonOf(token, {}, timed)).toBe('expired');
    expect(await timed.open(next, binding)).toMatchObject({ flow: opened.flow, round: 2 });
    now += 50;
    expect(await reasonOf(next, {}, timed)).toBe('flow-expired');
  });

  it('is refused after any change of a character', async () => {
    const sealer = codec();
    const token = await sealer.seal({ a: 1 }, binding);
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom(...'ABCxyz019_-.'), async (at, character) => {
        const spoiled = token.slice(0, at) + character + token.slice(at + 1);
        if (spoiled !== token) expect(await reasonOf(spoiled, {}, sealer)).not.toBe('opened');
      }),
    );
  });

  it('opens for every order of the same parameters', async () => {
    const sealer = codec();
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), async (params) => {
        const plain = JSON.parse(JSON.stringify(params)) as StateBinding['params'];
        const reversed = Object.fromEntries(Object.entries(plain).toReversed());
        const token = await sealer.seal(1, { ...binding, params: plain });
        expect(await reasonOf(token, { params: reversed }, sealer)).toBe('opened');
      }),
      { numRuns: 50 },
    );
  });
});

describe('a large state', () => {
  const large = 'x'.repeat(6000);

  it('M13 stays in the store, and another process that shares it opens it', async () => {
    const store = createMemoryStateStore();
    const token = await codec({ store }).seal(large, binding);
    expect(token.length).toBeLessThan(1000);
    expect(await codec({ store }).open(token, binding)).toMatchObject({ payload: large });
    expect(await reasonOf(token, {}, codec({ store: createMemoryStateStore() }))).toBe('missing');
  });

  it('is not looked for by another caller', async () => {
    const store = createMemoryStateStore();
    const token = await codec({ store }).seal(large, binding);
    expect(await reasonOf(token, { principal: undefined }, codec({ store: brokenStore }))).toBe('principal');
  });

  it('is refused where there is no store and it is too large to travel', async () => {
    await expect(codec().seal('x'.repeat(20_000), binding)).rejects.toMatchObject({ code: 'ERR_MRTR_STATE_SIZE' });
  });

  it('M15 never travels in the clear when the store fails', async () => {
    const token = await codec({ store: createMemoryStateStore() }).seal(large, binding);
    await expect(codec({ store: brokenStore }).seal(large, binding)).rejects.toMatchObject({ code: 'ERR_MRTR_STORE' });
    await expect(codec({ store: brokenStore }).open(token, binding)).rejects.toMatchObject({ code: 'ERR_MRTR_STORE' });
  });
});

const brokenStore: StateStore = {
  put: () => Promise.reject(new Error('disk full')),
  get: () => Promise.reject(new Error('disk full')),
  delete: () => Promise.reject(new Error('disk full')),
};

describe('the memory of this process', () => {
  it('forgets with time and when there is too much', async () => {
    let now = 0;
    const store = createMemoryStateStore({ maxEntries: 2, now: () => now });
    await store.put('a', '1', 10);
    await store.put('b', '2', 10);
    await store.put('c', '3', 20);
    expect([await store.get('a'), await store.get('b')]).toEqual([undefined, '2']);
    now = 10;
    expect([await store.get('b'), await store.get('c')]).toEqual([undefined, '3']);
    await store.delete('c');
    expect(await store.get('c')).toBeUndefined();
  });

  it('lets each id through once', async () => {
    let now = 0;
    const guard = createMemoryReplayGuard({ now: () => now });
    expect([await guard.claim('a', 10), await guard.claim('a', 10), await guard.claim('b', 10)]).toEqual([
      'first',
      'seen',
      'first',
    ]);
    now = 10;
    expect(await guard.claim('a', 10)).toBe('first');
  });
});

describe('the options of a codec', () => {
  it.each([
    [{ keys: [] }, 'to have 1 to 16 keys'],
    [{ keys: [{ id: 'a', key: randomBytes(16) }] }, 'to be 32 bytes, got 16'],
    [{ keys: [{ id: 'a b', key: randomBytes(32) }] }, 'got `a b`'],
    [{ keys: [own, own] }, 'to be unique'],
    [{ keys: [own], ttlMs: 0 }, '`ttlMs` to be a positive integer, got `0`'],
  ])('are checked: %#', (options, message) => {
    expect(() => createStateCodec(options)).toThrow(expect.objectContaining({ code: 'ERR_MRTR_ARGUMENT' }));
    expect(() => createStateCodec(options)).toThrow(message);
  });
});
