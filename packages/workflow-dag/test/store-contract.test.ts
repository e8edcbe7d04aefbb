import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NIL_MAP } from '@thv/go-template';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createMemoryStore, type Change, type Lease, type NewRun, type StepRecord, type Store } from '../src/index.js';
import { openSqliteStore } from '../src/sqlite.js';
import { FixedClock } from './support/clock.js';

const directory = mkdtempSync(join(tmpdir(), 'workflow-store-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
let files = 0;

const stores: readonly [string, (clock: FixedClock) => Promise<Store>][] = [
  ['memory', async (clock) => createMemoryStore({ clock })],
  ['sqlite', (clock) => openSqliteStore(join(directory, `store-${(files += 1)}.db`), { clock })],
];

function newRun(id: string, rest: Partial<NewRun> = {}): NewRun {
  return {
    id,
    name: 'sample',
    definition: { name: 'sample', steps: [{ id: 'a' }] },
    schemaVersion: 1,
    inputHash: 'h',
    params: { n: 1 },
    vars: { v: 'x' },
    options: { scheduling: 'levels' },
    principal: '',
    tenant: '',
    idempotencyKey: undefined,
    createdAt: 1000,
    deadlineAt: 2_000_000_000_000,
    ...rest,
  };
}

function step(stepId: string, rest: Partial<StepRecord> = {}): Change {
  return {
    kind: 'step',
    step: {
      stepId,
      iteration: -1,
      status: 'running',
      attempt: 1,
      decided: undefined,
      output: undefined,
      content: undefined,
      error: undefined,
      retryCount: 0,
      fromCache: false,
      startedAt: 5,
      endedAt: undefined,
      leaseEpoch: 1,
      ...rest,
    },
  };
}

const question = {
  stepId: 'ask',
  state: 'pending',
  message: 'Sure?',
  schema: { type: 'object' },
  createdAt: 1,
  respondedAt: undefined,
  action: undefined,
  content: undefined,
} as const;

describe.each(stores)('the %s store', (_name, open) => {
  let clock: FixedClock;
  let store: Store;
  const claim = { owner: 'one', ttlMs: 1000 };

  beforeEach(async () => {
    clock = new FixedClock();
    store = await open(clock);
    return () => store.close();
  });

  async function create(id: string, rest: Partial<NewRun> = {}): Promise<Lease> {
    const created = await store.createRun(newRun(id, rest), claim);
    if (created.kind !== 'created') throw new Error('exists');
    return created.lease;
  }

  async function end(id: string, rest: Partial<NewRun> = {}): Promise<void> {
    await store.commit(await create(id, rest), [
      { kind: 'run', status: 'completed', at: clock.now(), output: { ok: true } },
    ]);
  }

  it('keeps a run as it was given', async () => {
    const lease = await create('r');
    expect(lease).toEqual({ runId: 'r', owner: 'one', epoch: 1, expiresAt: clock.now() + 1000 });
    expect(await store.getRun('r')).toMatchObject({
      ...newRun('r'),
      status: 'pending',
      leaseOwner: 'one',
      leaseEpoch: 1,
      recoveries: 0,
      version: 1,
    });
    expect(await store.getRun('other')).toBeUndefined();
    await expect(store.createRun(newRun('r'), claim)).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_STORE' });
  });

  it('answers the first run of an idempotency key', async () => {
    await create('r', { idempotencyKey: 'k' });
    expect(await store.createRun(newRun('s', { idempotencyKey: 'k' }), claim)).toMatchObject({
      kind: 'exists',
      run: { id: 'r' },
    });
    expect((await store.createRun(newRun('t', { idempotencyKey: 'k', tenant: 'x' }), claim)).kind).toBe('created');
    expect((await store.createRun(newRun('u', { idempotencyKey: 'k', name: 'y' }), claim)).kind).toBe('created');
    expect(await store.getRun('s')).toBeUndefined();
  });

  it('keeps steps in the order of their first write, with values of every kind', async () => {
    const lease = await create('r');
    const odd = {
      int: 3n,
      nil: NIL_MAP,
      zero: -0,
      list: [1.5, null, { $int: '7' }, { $esc: 1, more: true }],
      text: '\u0000\ud800"',
      __proto: 1,
    };
    const proto = JSON.parse('{"__proto__":{"a":1}}') as unknown;
    await store.commit(lease, [step('b'), step('a'), step('a', { iteration: 0 })]);
    await store.commit(lease, [
      step('b', {
        status: 'completed',
        output: odd,
        content: proto,
        endedAt: 9,
        retryCount: 2,
        fromCache: true,
        attempt: 3,
        decided: { handled: true },
      }),
      step('a', { status: 'failed', error: { code: 'ERR_WORKFLOW_DAG_TOOL', message: 'm' } }),
    ]);
    const steps = await store.getSteps('r');
    expect(steps.map(({ stepId, iteration, status }) => [stepId, iteration, status])).toEqual([
      ['b', -1, 'completed'],
      ['a', -1, 'failed'],
      ['a', 0, 'running'],
    ]);
    expect(steps[0]).toEqual({
      stepId: 'b',
      iteration: -1,
      status: 'completed',
      attempt: 3,
      decided: { handled: true },
      output: odd,
      content: proto,
      error: undefined,
      retryCount: 2,
      fromCache: true,
      startedAt: 5,
      endedAt: 9,
      leaseEpoch: 1,
    });
    const first = steps[0] as StepRecord;
    expect(Object.is((first.output as typeof odd).zero, -0)).toBe(true);
    expect(Object.keys(first.content as object)).toEqual(['__proto__']);
    expect(steps[1]?.error).toEqual({ code: 'ERR_WORKFLOW_DAG_TOOL', message: 'm' });
  });

  it('moves a run through its statuses and writes the last one once', async () => {
    const lease = await create('r');
    await store.commit(lease, [{ kind: 'run', status: 'running', at: 10 }]);
    await store.commit(lease, [{ kind: 'run', status: 'waiting_for_elicitation', at: 20 }]);
    expect(await store.getRun('r')).toMatchObject({
      status: 'waiting_for_elicitation',
      startedAt: 10,
      endedAt: undefined,
    });
    await store.commit(lease, [
      { kind: 'run', status: 'failed', at: 30, error: { code: 'c', message: 'm' }, meta: { skippedBy: 'x' } },
      { kind: 'run', status: 'completed', at: 40 },
    ]);
    expect(await store.getRun('r')).toMatchObject({
      status: 'failed',
      startedAt: 10,
      endedAt: 30,
      error: { code: 'c', message: 'm' },
      meta: { skippedBy: 'x' },
      leaseOwner: undefined,
    });
    await expect(store.commit(lease, [{ kind: 'run', status: 'running', at: 50 }])).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_LEASE_LOST',
    });
  });

  it('gives a run to another owner only when its lease is over', async () => {
    const lease = await create('r');
    const other = { owner: 'two', ttlMs: 1000, limit: 10 };
    expect(await store.claim(other)).toEqual([]);
    clock.jump(999);
    expect(await store.heartbeat(lease, 1000)).toEqual({ ok: true, cancelRequested: false, cancelReason: undefined });
    clock.jump(999);
    expect(await store.claim(other)).toEqual([]);
    clock.jump(1);
    const [taken] = await store.claim(other);
    expect(taken).toEqual({ runId: 'r', owner: 'two', epoch: 2, expiresAt: clock.now() + 1000 });
    expect((await store.getRun('r'))?.recoveries).toBe(1);
    expect(await store.claim({ ...other, owner: 'three' })).toEqual([]);
  });

  it('fences an owner that has lost its lease', async () => {
    const lease = await create('r');
    clock.jump(2000);
    const [taken] = await store.claim({ owner: 'two', ttlMs: 1000, limit: 1, runId: 'r' });
    await expect(store.commit(lease, [step('a')])).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_LEASE_LOST' });
    expect((await store.heartbeat(lease, 1000)).ok).toBe(false);
    await store.release(lease);
    expect((await store.getRun('r'))?.leaseOwner).toBe('two');
    expect(await store.getSteps('r')).toEqual([]);
    await store.commit(taken as Lease, [step('a')]);
    expect(await store.getSteps('r')).toHaveLength(1);
  });

  it('takes over from an owner that is known to be dead, and a run that was given back', async () => {
    const lease = await create('r');
    const other = { owner: 'two', ttlMs: 1000, limit: 10 };
    expect(await store.claim({ ...other, deadOwners: ['nobody'] })).toEqual([]);
    const [taken] = await store.claim({ ...other, deadOwners: ['one'] });
    expect(taken?.epoch).toBe(2);
    await store.release(lease);
    await store.release(taken as Lease);
    const [again] = await store.claim({ ...other, owner: 'three' });
    expect(again?.epoch).toBe(3);
    expect((await store.getRun('r'))?.recoveries).toBe(1);
  });

  it('tells who has a lease on a run that is not over', async () => {
    await create('a');
    await create('b');
    await end('c');
    const lease = await create('d');
    await store.release(lease);
    expect(await store.leaseOwners()).toEqual(['one']);
    clock.jump(5000);
    await store.claim({ owner: 'two', ttlMs: 1000, limit: 1, runId: 'b' });
    expect([...(await store.leaseOwners())].sort()).toEqual(['one', 'two']);
  });

  it('claims no more than asked, the named run alone, and never one that is over', async () => {
    await create('a', { createdAt: 1 });
    await create('b', { createdAt: 2 });
    await end('c');
    clock.jump(5000);
    expect(await store.claim({ owner: 'two', ttlMs: 1000, limit: 10, runId: 'b' })).toMatchObject([{ runId: 'b' }]);
    expect(await store.claim({ owner: 'two', ttlMs: 1000, limit: 10, runId: 'c' })).toEqual([]);
    expect(await store.claim({ owner: 'two', ttlMs: 1000, limit: 1 })).toMatchObject([{ runId: 'a' }]);
    expect(await store.claim({ owner: 'two', ttlMs: 1000, limit: 10, runId: 'missing' })).toEqual([]);
  });

  it('writes commits that come together, and of each all or nothing', async () => {
    const leases = await Promise.all(Array.from({ length: 20 }, (_, index) => create(`r${index}`)));
    clock.jump(2000);
    await store.claim({ owner: 'two', ttlMs: 1000, limit: 1, runId: 'r7' });
    const outcomes = await Promise.allSettled(leases.map((lease) => store.commit(lease, [step('a'), step('b')])));
    expect(
      outcomes.map(({ status }, index) => (status === 'rejected' ? index : -1)).filter((index) => index >= 0),
    ).toEqual([7]);
    for (const [index] of leases.entries()) expect(await store.getSteps(`r${index}`)).toHaveLength(index === 7 ? 0 : 2);
  });

  it('keeps questions, and lets each be answered once', async () => {
    const lease = await create('r');
    const expiresAt = clock.now() + 100;
    await store.commit(lease, [{ kind: 'elicitation', elicitation: { ...question, expiresAt } }]);
    expect(await store.getElicitations('r')).toEqual([{ ...question, expiresAt }]);
    const answer = { action: 'accept', content: { ok: true }, at: clock.now() } as const;
    expect(await store.answerElicitation('r', 'other', answer)).toBe('missing');
    expect(await store.answerElicitation('r', 'ask', answer)).toBe('answered');
    expect(await store.answerElicitation('r', 'ask', answer)).toBe('already');
    await store.commit(lease, [{ kind: 'elicitation', elicitation: { ...question, expiresAt } }]);
    expect(await store.getElicitations('r')).toMatchObject([
      { state: 'answered', action: 'accept', content: { ok: true } },
    ]);
  });

  it('takes no answer after the time of a question or of its run', async () => {
    const lease = await create('r');
    await store.commit(lease, [{ kind: 'elicitation', elicitation: { ...question, expiresAt: 50 } }]);
    expect(await store.answerElicitation('r', 'ask', { action: 'decline', content: undefined, at: 50 })).toBe(
      'expired',
    );
    const other = await create('s');
    await store.commit(other, [
      { kind: 'elicitation', elicitation: { ...question, expiresAt: 5000 } },
      { kind: 'run', status: 'cancelled', at: 1 },
    ]);
    expect(await store.answerElicitation('s', 'ask', { action: 'decline', content: undefined, at: 10 })).toBe(
      'expired',
    );
  });

  it('leaves word that a run is to be cancelled', async () => {
    const lease = await create('r');
    expect(await store.requestCancel('r', 'why')).toEqual({ kind: 'requested' });
    expect(await store.requestCancel('r', 'again')).toEqual({ kind: 'requested' });
    expect(await store.heartbeat(lease, 10)).toEqual({ ok: true, cancelRequested: true, cancelReason: 'why' });
    expect(await store.requestCancel('missing', '')).toEqual({ kind: 'missing' });
    await end('done');
    expect(await store.requestCancel('done', '')).toEqual({ kind: 'final', status: 'completed' });
  });

  it('opens a failed run again without the steps that are to be repeated', async () => {
    const lease = await create('r');
    await store.commit(lease, [
      step('a', { status: 'completed' }),
      step('b', { status: 'failed' }),
      { kind: 'run', status: 'failed', at: 1, error: { code: 'c', message: 'm' } },
    ]);
    const options = { owner: 'two', ttlMs: 1000, forgetSteps: ['b'], deadlineAt: 77 };
    const reopened = await store.reopen('r', options);
    expect(reopened?.epoch).toBe(2);
    expect(await store.getRun('r')).toMatchObject({
      status: 'running',
      error: undefined,
      endedAt: undefined,
      deadlineAt: 77,
      leaseOwner: 'two',
    });
    expect((await store.getSteps('r')).map(({ stepId }) => stepId)).toEqual(['a']);
    expect(await store.reopen('r', options)).toBeUndefined();
    expect(await store.reopen('missing', options)).toBeUndefined();
  });

  it('lists runs newest first, by page and by filter', async () => {
    for (const index of [1, 2, 3, 4, 5])
      await create(`r${index}`, { createdAt: index < 4 ? index : 4, principal: index % 2 === 0 ? 'p' : '' });
    await end('done', { createdAt: 9, name: 'other' });
    const ids = async (filter: Partial<Parameters<Store['listRuns']>[0]>): Promise<string[]> =>
      (await store.listRuns({ limit: 10, ...filter })).runs.map(({ id }) => id);
    expect(await ids({})).toEqual(['done', 'r5', 'r4', 'r3', 'r2', 'r1']);
    expect(await ids({ status: ['completed'] })).toEqual(['done']);
    expect(await ids({ status: [] })).toEqual([]);
    expect(await ids({ name: 'other' })).toEqual(['done']);
    expect(await ids({ principal: 'p' })).toEqual(['r4', 'r2']);
    expect(await ids({ createdSince: 4 })).toEqual(['done', 'r5', 'r4']);
    const first = await store.listRuns({ limit: 2 });
    const second = await store.listRuns({ limit: 2, cursor: first.cursor });
    const third = await store.listRuns({ limit: 2, cursor: second.cursor });
    expect([first, second, third].map(({ runs }) => runs.map(({ id }) => id))).toEqual([
      ['done', 'r5'],
      ['r4', 'r3'],
      ['r2', 'r1'],
    ]);
    expect(third.cursor).toBeUndefined();
    await expect(store.listRuns({ limit: 2, cursor: 'nonsense' })).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_ARGUMENT',
    });
  });

  it('counts runs by status', async () => {
    expect((await store.countRuns()).size).toBe(0);
    await create('a');
    await create('b');
    await end('c');
    expect(Object.fromEntries(await store.countRuns())).toEqual({ pending: 2, completed: 1 });
  });

  it('keeps cached results for their time', async () => {
    const now = clock.now();
    const entry = {
      key: 'abc',
      workflow: 'w',
      tool: 't',
      output: { n: 1n },
      content: {},
      bytes: 3,
      createdAt: now,
      expiresAt: now + 10,
      staleUntil: now + 20,
    };
    expect(await store.cacheGet('abc')).toBeUndefined();
    await store.cachePut({ ...entry, output: { n: 0 } });
    await store.cachePut(entry);
    expect(await store.cacheGet('abc')).toEqual(entry);
    clock.jump(15);
    expect(await store.cacheGet('abc')).toEqual(entry);
    clock.jump(5);
    expect(await store.cacheGet('abc')).toBeUndefined();
    for (const [key, tool, workflow] of [
      ['k1', 't1', 'w1'],
      ['k2', 't2', 'w1'],
      ['x%', 't3', 'w2'],
    ] as const) {
      await store.cachePut({ ...entry, key, tool, workflow, staleUntil: now + 1e6 });
    }
    expect(await store.cacheDelete({ tool: 't1' })).toBe(1);
    expect(await store.cacheDelete({ workflow: 'w1' })).toBe(1);
    expect(await store.cacheDelete({ keyPrefix: 'y' })).toBe(0);
    expect(await store.cacheDelete({ keyPrefix: 'x%' })).toBe(1);
  });

  it('lets one at a time make a result', async () => {
    expect(await store.cacheLock('k', 100)).toBe(true);
    expect(await store.cacheLock('k', 100)).toBe(false);
    expect(await store.cacheLock('other', 100)).toBe(true);
    await store.cacheUnlock('k');
    expect(await store.cacheLock('k', 100)).toBe(true);
    clock.jump(100);
    expect(await store.cacheLock('k', 100)).toBe(true);
    expect(await store.cacheLock('k', 100)).toBe(false);
  });

  it('deletes runs that are over, one or by age', async () => {
    const lease = await create('live');
    await store.commit(lease, [step('a')]);
    expect(await store.deleteRun('live')).toBe(false);
    expect(await store.deleteRun('missing')).toBe(false);
    await end('old');
    clock.jump(100);
    await end('new');
    expect(await store.purge({ endedBefore: clock.now(), limit: 10 })).toBe(1);
    expect((await store.listRuns({ limit: 10 })).runs.map(({ id }) => id).sort()).toEqual(['live', 'new']);
    expect(await store.deleteRun('new')).toBe(true);
    expect(await store.getSteps('live')).toHaveLength(1);
  });

  it('closes more than once', async () => {
    await store.close();
    await store.close();
  });
});
