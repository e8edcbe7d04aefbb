import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MrtrError, createMemoryReplayGuard, createMemoryStateStore, createStateCodec } from '@thv/mrtr';
import type { StateBinding, StateCodecOptions, StateKey, StateStore } from '@thv/mrtr';

const key = (id: string, fill: number, notAfter?: number): StateKey => ({
  id,
  key: new Uint8Array(32).fill(fill),
  ...(notAfter === undefined ? {} : { notAfter }),
});
const k1 = key('k1', 1);
const k2 = key('k2', 2);
const codec = (options: Partial<StateCodecOptions> = {}) => createStateCodec({ keys: [k1], ...options });
const binding: StateBinding = {
  principal: { issuer: 'a', subject: 'bc' },
  method: 'tools/call',
  params: { name: 'deploy', arguments: { a: 1, b: [true, 'x'] } },
  audience: 'workload',
};
const refused = (reason: string) => ({ kind: 'rejected', reason });

describe('state codec', () => {
  it('M01 opens what it sealed, and shows no plaintext', async () => {
    const token = await codec().seal({ secret: 'plaintext' }, binding);
    expect(token).toMatch(/^thv1\.k1\.[A-Za-z0-9_-]+$/);
    expect(Buffer.from(token.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toContain('plaintext');
    expect(await codec().open(token, binding)).toMatchObject({
      kind: 'opened',
      payload: { secret: 'plaintext' },
      round: 1,
      keyId: 'k1',
    });
  });

  it('rejects a token with any bit flipped', async () => {
    const token = await codec().seal({ step: 1 }, binding);
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.nat(6), async (at, bit) => {
        const changed = String.fromCharCode(token.charCodeAt(at) ^ (1 << bit));
        const opened = await codec().open(token.slice(0, at) + changed + token.slice(at + 1), binding);
        expect(opened.kind).toBe('rejected');
      }),
    );
  });

  it('M03 rejects what is no token, without an exception', async () => {
    const token = await codec().seal(1, binding);
    for (const bad of ['', 7, null, undefined, {}, 'thv1.k1.', 'thv1.k1.***', `${token}=`, 'x'.repeat(70_000)]) {
      expect(await codec().open(bad, binding)).toEqual(refused('malformed'));
    }
    for (const length of [5, 20, token.length - 4]) {
      expect((await codec().open(token.slice(0, length), binding)).kind).toBe('rejected');
    }
  });

  it('ends a round and a flow at their deadlines', async () => {
    let now = 1000;
    const timed = codec({ ttlMs: 100, flowTtlMs: 150, now: () => now });
    const first = await timed.seal(1, binding);
    now = 1099;
    const opened = await timed.open(first, binding);
    if (opened.kind !== 'opened') throw new Error(opened.reason);
    const second = await timed.seal(2, binding, { ...opened, round: 2 });
    now = 1100;
    expect(await timed.open(first, binding)).toEqual(refused('expired'));
    expect(await timed.open(second, binding)).toMatchObject({ kind: 'opened', round: 2, expiresAt: 1150 });
    now = 1150;
    expect(await timed.open(second, binding)).toEqual(refused('flow-expired'));
  });

  it.each([
    ['M05 another subject', { principal: { issuer: 'a', subject: 'bd' } }, 'principal'],
    ['M05 another issuer', { principal: { issuer: 'x', subject: 'bc' } }, 'principal'],
    ['M05 the border between issuer and subject moved', { principal: { issuer: 'ab', subject: 'c' } }, 'principal'],
    ['M06 nobody', { principal: undefined }, 'principal'],
    ['other arguments', { params: { name: 'deploy', arguments: { a: 2, b: [true, 'x'] } } }, 'params'],
    ['another method', { method: 'prompts/get' }, 'method'],
    ['another audience', { audience: 'other' }, 'audience'],
  ])('%s is rejected', async (_title, change, reason) => {
    const token = await codec().seal(1, binding);
    expect(await codec().open(token, { ...binding, ...change })).toEqual(refused(reason));
  });

  it('M06 rejects an anonymous state from an authenticated caller', async () => {
    const token = await codec().seal(1, { ...binding, principal: undefined });
    expect(await codec().open(token, binding)).toEqual(refused('principal'));
  });

  it('M08 ignores the order of keys, the spelling of numbers and what a retry adds', async () => {
    const token = await codec().seal(1, binding);
    const params = JSON.parse(
      '{"requestState":"s","inputResponses":{},"_meta":{"x":1},"arguments":{"b":[true,"x"],"a":1.0},"name":"deploy"}',
    ) as StateBinding['params'];
    expect((await codec().open(token, { ...binding, params })).kind).toBe('opened');
  });

  it('M10 rotates keys, and ends a key at its time', async () => {
    const token = await codec().seal(1, binding);
    const rotated = codec({ keys: [k2, k1] });
    expect((await rotated.open(token, binding)).kind).toBe('opened');
    expect(await rotated.seal(1, binding)).toContain('thv1.k2.');
    expect(await codec({ keys: [k2] }).open(token, binding)).toEqual(refused('unknown-key'));
    expect(await codec({ keys: [key('k1', 1, 5)], now: () => 6 }).open(token, binding)).toEqual(refused('expired-key'));
  });

  it('M11 rejects a token under the id of another key', async () => {
    const token = await codec().seal(1, binding);
    const swapped = token.replace('thv1.k1.', 'thv1.k2.');
    expect(await codec({ keys: [k1, k2] }).open(swapped, binding)).toEqual(refused('tampered'));
    expect(await codec({ keys: [k1, key('k2', 1)] }).open(swapped, binding)).toEqual(refused('tampered'));
  });

  it('M13 keeps a large state in a store that a second instance shares', async () => {
    const store = createMemoryStateStore();
    const payload = 'x'.repeat(20_000);
    const token = await codec({ store }).seal(payload, binding);
    expect(token.length).toBeLessThan(1000);
    expect(await codec({ store }).open(token, binding)).toMatchObject({ kind: 'opened', payload });
    expect(await codec({ store: createMemoryStateStore() }).open(token, binding)).toEqual(refused('missing'));
  });

  it('refuses a state beyond the hard limit without a store', async () => {
    await expect(codec().seal('x'.repeat(20_000), binding)).rejects.toMatchObject({ code: 'ERR_MRTR_STATE_SIZE' });
  });

  it('fails when the store fails, on write and on read', async () => {
    const fail = () => Promise.reject(new Error('down'));
    const memory = createMemoryStateStore();
    const down = (part: Partial<StateStore>): StateStore => ({ ...memory, ...part });
    const payload = 'x'.repeat(5000);
    const write = codec({ store: down({ put: fail }) }).seal(payload, binding);
    await expect(write).rejects.toSatisfy((error) => MrtrError.is(error, 'ERR_MRTR_STORE'));
    const token = await codec({ store: memory }).seal(payload, binding);
    const read = codec({ store: down({ get: fail }) }).open(token, binding);
    await expect(read).rejects.toMatchObject({ code: 'ERR_MRTR_STORE' });
  });

  it('opens the same token twice; a guard lets one effect happen', async () => {
    const token = await codec().seal(1, binding);
    const first = await codec().open(token, binding);
    expect(await codec().open(token, binding)).toEqual(first);
    if (first.kind !== 'opened') throw new Error(first.reason);
    const guard = createMemoryReplayGuard();
    expect([await guard.claim(first.id, 1000), await guard.claim(first.id, 1000)]).toEqual(['first', 'seen']);
  });

  it('refuses keys and limits of the wrong kind', () => {
    const wrong: Partial<StateCodecOptions>[] = [
      { keys: [] },
      { keys: [k1, k1] },
      { keys: [key('!', 1)] },
      { ttlMs: 0 },
    ];
    for (const options of wrong) expect(() => codec(options)).toThrow(/^Expected/);
  });
});
