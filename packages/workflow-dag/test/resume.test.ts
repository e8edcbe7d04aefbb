import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  createEngine,
  createMemoryStore,
  type Engine,
  type EngineOptions,
  type Store,
  type WorkflowDefinition,
} from '../src/index.js';
import { openSqliteStore } from '../src/sqlite.js';
import { FixedClock, settle } from './support/clock.js';
import { define } from './support/define.js';
import { deferred, fakeTools, type FakeTools } from './support/tools.js';

const directory = mkdtempSync(join(tmpdir(), 'workflow-resume-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});
let files = 0;

async function sqlite(clock: FixedClock): Promise<Store> {
  const store = await openSqliteStore(join(directory, `run-${(files += 1)}.db`), { clock, synchronous: 'normal' });
  open.push(store);
  return store;
}

function engineOn(store: Store, clock: FixedClock, tools: FakeTools, rest: Partial<EngineOptions> = {}): Engine {
  const engine = createEngine({ tools, store, clock, ...rest });
  open.push(engine);
  return engine;
}

/** Waits until a condition holds; every turn lets all promises and the store work. */
async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 200 && !condition(); turn += 1) await settle();
  if (!condition()) throw new Error('it never came');
}

const hung = (): Promise<never> => new Promise(() => undefined);
const THREE = define(`
- {id: a, tool: t.a}
- {id: b, tool: t.b, dependsOn: [a], condition: '{{eq .steps.a.output.text "x"}}', defaultResults: {text: none}}
- {id: c, tool: t.c, dependsOn: [b], arguments: {seen: "{{.steps.a.output.text}}{{.steps.b.output.text}}"}}
`);

/** A run that an engine left in the middle of step b; the lease of that engine is over. */
async function abandoned(
  definition: WorkflowDefinition = THREE,
): Promise<{ clock: FixedClock; store: Store; id: string; first: FakeTools }> {
  const clock = new FixedClock();
  const store = await sqlite(clock);
  const first = fakeTools({ 't.a': () => 'x', 't.b': hung, 't.c': () => 'z' });
  const engine = createEngine({ tools: first, store, clock, heartbeatMs: 1e9 });
  const run = await engine.run(definition);
  await until(() => first.of('t.b').length > 0);
  clock.jump(31_000);
  return { clock, store, id: run.id, first };
}

describe('going on with a run', () => {
  it('repeats no step that is over and fails one in doubt', async () => {
    const { clock, store, id } = await abandoned();
    const tools = fakeTools({ 't.a': () => 'x', 't.b': () => 'y', 't.c': () => 'z' });
    const run = await engineOn(store, clock, tools).resume(id);
    const result = await run.result;
    expect(tools.calls).toEqual([]);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'ERR_WORKFLOW_DAG_IN_DOUBT' } });
    expect(result.steps['a']).toMatchObject({ status: 'completed', output: { text: 'x' } });
    expect(result.error?.message).toContain('give the step `resume: retry`');
  });

  it('repeats a step in doubt where the tool or the author allows it', async () => {
    for (const [rest, info] of [
      ['', { annotations: { idempotentHint: true } }],
      ['', { annotations: { readOnlyHint: true } }],
      [', idempotent: true', {}],
      [', resume: retry', {}],
    ] as const) {
      const definition = define(`
- {id: a, tool: t.a}
- {id: b, tool: t.b, dependsOn: [a]${rest}}
- {id: c, tool: t.c, dependsOn: [b], arguments: {seen: "{{.steps.a.output.text}}{{.steps.b.output.text}}"}}
`);
      const { clock, store, id } = await abandoned(definition);
      const tools = fakeTools({ 't.a': () => 'x', 't.b': () => 'y', 't.c': () => 'z' }, { 't.b': info });
      const result = await (await engineOn(store, clock, tools).resume(id)).result;
      expect(result.status).toBe('completed');
      expect(tools.calls.map(({ tool, attempt }) => [tool, attempt])).toEqual([
        ['t.b', 2],
        ['t.c', 1],
      ]);
      expect(tools.of('t.c')).toEqual([{ seen: 'xy' }]);
    }
  });

  it('skips a step in doubt, or fails it, where the author says so', async () => {
    const skip = define(
      '- {id: a, tool: t.a}\n- {id: b, tool: t.b, dependsOn: [a], resume: skip, defaultResults: {text: d}}\n- {id: c, tool: t.c, dependsOn: [b], arguments: {seen: "{{.steps.b.output.text}}"}}',
    );
    const one = await abandoned(skip);
    const tools = fakeTools(
      { 't.a': () => 'x', 't.b': () => 'y', 't.c': () => 'z' },
      { 't.b': { annotations: { idempotentHint: true } } },
    );
    const skipped = await (await engineOn(one.store, one.clock, tools).resume(one.id)).result;
    expect(skipped.steps['b']?.status).toBe('skipped');
    expect(tools.of('t.c')).toEqual([{ seen: 'd' }]);
    const fail = define(
      '- {id: a, tool: t.a}\n- {id: b, tool: t.b, dependsOn: [a], resume: fail, onError: {action: continue}, defaultResults: {text: f}}\n- {id: c, tool: t.c, dependsOn: [b], arguments: {seen: "{{.steps.b.output.text}}"}}',
    );
    const two = await abandoned(fail);
    const failed = await (await engineOn(two.store, two.clock, tools).resume(two.id)).result;
    expect(failed.status).toBe('completed');
    expect(failed.steps['b']).toMatchObject({ status: 'failed', error: { code: 'ERR_WORKFLOW_DAG_IN_DOUBT' } });
    expect(tools.of('t.c')[1]).toEqual({ seen: 'f' });
  });

  it('counts the attempts that were spent', async () => {
    const definition = define(
      '- {id: a, tool: t.a}\n- {id: b, tool: t.b, dependsOn: [a], resume: retry, onError: {action: retry, retryCount: 2, retryDelay: 1ms}}\n- {id: c, tool: t.c, dependsOn: [b]}',
    );
    const { clock, store, id } = await abandoned(definition);
    const tools = fakeTools({
      't.a': () => 'x',
      't.b': () => {
        throw new Error('down');
      },
      't.c': () => 'z',
    });
    const run = await engineOn(store, clock, tools).resume(id);
    await until(() => tools.calls.length === 1);
    await clock.advance(100);
    await run.result;
    expect(tools.calls.map(({ attempt }) => attempt)).toEqual([2, 3]);
  });

  it('takes a failure that has been handled as handled', async () => {
    const definition = define(
      '- {id: a, tool: t.bad, onError: {action: continue}, defaultResults: {text: d}}\n- {id: b, tool: t.b, dependsOn: [a], resume: retry}',
    );
    const clock = new FixedClock();
    const store = await sqlite(clock);
    const first = fakeTools({ 't.bad': () => Promise.reject(new Error('down')), 't.b': hung });
    const run = await createEngine({ tools: first, store, clock, heartbeatMs: 1e9 }).run(definition);
    await until(() => first.of('t.b').length > 0);
    clock.jump(31_000);
    const tools = fakeTools({ 't.bad': () => 'again', 't.b': () => 'y' });
    const result = await (await engineOn(store, clock, tools).resume(run.id)).result;
    expect(tools.calls.map(({ tool }) => tool)).toEqual(['t.b']);
    expect(result).toMatchObject({ status: 'completed', failedSteps: ['a'] });
  });

  it('keeps the items of forEach, the iterations that are over and their integers', async () => {
    const definition = define(`
- {id: list, tool: t.list}
- id: each
  type: forEach
  dependsOn: [list]
  collection: "{{json .steps.list.output.items}}"
  maxParallel: 1
  resume: retry
  step: {tool: t.each, arguments: {item: "{{.forEach.item}}", index: "{{.forEach.index}}"}}
- {id: end, tool: t.end, dependsOn: [each], arguments: {count: "{{if eq .steps.each.output.count 3}}three{{end}}"}}
`);
    const clock = new FixedClock();
    const store = await sqlite(clock);
    const first = fakeTools({
      't.list': () => ({ items: ['a', 'b', 'c'] }),
      't.each': (args) => (args['item'] === 'b' ? hung() : 'done'),
    });
    const run = await createEngine({ tools: first, store, clock, heartbeatMs: 1e9 }).run(definition);
    await until(() => first.of('t.each').length === 2);
    clock.jump(31_000);
    const tools = fakeTools({ 't.list': () => ({ items: [] }), 't.each': () => 'again', 't.end': () => 'x' });
    const result = await (await engineOn(store, clock, tools).resume(run.id)).result;
    expect(tools.of('t.each')).toEqual([
      { item: 'b', index: '1' },
      { item: 'c', index: '2' },
    ]);
    expect(tools.of('t.end')).toEqual([{ count: 'three' }]);
    expect(result.steps['each']?.output).toMatchObject({
      count: 3,
      completed: 3,
      iterations: [{ output: { text: 'done' } }, { output: { text: 'again' } }, {}],
    });
  });

  it('fails an iteration in doubt where nothing allows to repeat it', async () => {
    const definition = define(
      '- {id: each, type: forEach, collection: "[1,2]", maxParallel: 1, onError: {action: continue}, step: {tool: t.each}}',
    );
    const clock = new FixedClock();
    const store = await sqlite(clock);
    const first = fakeTools({ 't.each': hung });
    const run = await createEngine({ tools: first, store, clock, heartbeatMs: 1e9 }).run(definition);
    await until(() => first.calls.length === 1);
    clock.jump(31_000);
    const tools = fakeTools({ 't.each': () => 'x' });
    const result = await (await engineOn(store, clock, tools).resume(run.id)).result;
    expect(tools.calls).toHaveLength(1);
    expect(result.steps['each']?.output).toMatchObject({
      completed: 1,
      failed: 1,
      iterations: [{ status: 'failed' }, { status: 'completed' }],
    });
  });

  it('waits on for a question that was asked, and takes an answer that came meanwhile', async () => {
    const definition = define(
      '- {id: ask, type: elicitation, message: Sure?, schema: {type: boolean}}\n- {id: b, tool: t.b, dependsOn: [ask], arguments: {v: "{{.steps.ask.output.content.value}}"}}',
    );
    for (const when of ['before', 'after'] as const) {
      const clock = new FixedClock();
      const store = await sqlite(clock);
      const elicitor = { elicit: async () => ({ action: 'pending' }) as const };
      const tools = fakeTools({ 't.b': () => 'x' });
      const gone = createEngine({ tools, store, clock, elicitor, heartbeatMs: 1e9 });
      const run = await gone.run(definition);
      await settle();
      clock.jump(31_000);
      const engine = engineOn(store, clock, tools);
      if (when === 'before') await engine.answer(run.id, 'ask', { action: 'accept', content: { value: true } });
      const resumed = await engine.resume(run.id);
      await settle();
      if (when === 'after') await engine.answer(run.id, 'ask', { action: 'accept', content: { value: true } });
      expect((await resumed.result).status).toBe('completed');
      expect(tools.of('t.b')).toEqual([{ v: 'true' }]);
    }
  });

  it('lets the time of downtime count, unless told otherwise', async () => {
    for (const [resumeExtendsDeadline, status] of [
      [false, 'timed_out'],
      [true, 'completed'],
    ] as const) {
      const { clock, store, id } = await abandoned(
        define('- {id: a, tool: t.a}\n- {id: b, tool: t.b, dependsOn: [a], resume: retry}'),
      );
      clock.jump(30 * 60_000);
      const tools = fakeTools({ 't.a': () => 'x', 't.b': () => 'y' });
      const result = await (await engineOn(store, clock, tools, { resumeExtendsDeadline }).resume(id)).result;
      expect(result.status).toBe(status);
    }
  });

  it('uses the definition that was stored', async () => {
    const { clock, store, id } = await abandoned(
      define('- {id: a, tool: t.a}\n- {id: b, tool: t.b, dependsOn: [a], resume: retry, arguments: {v: "1"}}'),
    );
    const tools = fakeTools({ 't.b': () => 'y' });
    await (
      await engineOn(store, clock, tools).resume(id)
    ).result;
    expect(tools.of('t.b')).toEqual([{ v: '1' }]);
  });

  it('is refused for a run that is over, unknown, or alive elsewhere', async () => {
    const clock = new FixedClock();
    const store = await sqlite(clock);
    const tools = fakeTools({ 't.a': () => 'x', 't.b': hung, 't.c': () => 'z' });
    const engine = engineOn(store, clock, tools);
    await expect(engine.resume('nobody')).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_RUN_NOT_FOUND' });
    const done = await engine.run(define('- {id: a, tool: t.a}'));
    await done.result;
    await expect(engine.resume(done.id)).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_RUN_FINAL' });
    const live = await engine.run(THREE);
    expect(await engine.resume(live.id)).toBe(live);
    await expect(engineOn(store, clock, tools).resume(live.id)).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_BUSY',
    });
  });

  it('runs the failed steps of a failed run again when asked to', async () => {
    const clock = new FixedClock();
    const store = await sqlite(clock);
    let fail = true;
    const tools = fakeTools({
      't.a': () => 'x',
      't.b': () => (fail ? Promise.reject(new Error('down')) : 'y'),
      't.c': () => 'z',
    });
    const engine = engineOn(store, clock, tools);
    const run = await engine.run(THREE);
    expect((await run.result).status).toBe('failed');
    await expect(engine.resume(run.id)).rejects.toThrow('retryFailed runs its failed steps again');
    fail = false;
    const result = await (await engine.resume(run.id, { retryFailed: true })).result;
    expect(result.status).toBe('completed');
    expect(tools.calls.map(({ tool }) => tool)).toEqual(['t.a', 't.b', 't.b', 't.c']);
    expect(result.error).toBeUndefined();
  });

  it('cancels at once where a cancel came while nobody was there', async () => {
    const { clock, store, id } = await abandoned();
    const tools = fakeTools({ 't.b': () => 'y' });
    const engine = engineOn(store, clock, tools);
    await engine.cancel(id, 'too late');
    expect(await engine.status(id)).toMatchObject({
      status: 'cancelled',
      error: { message: 'workflow cancelled: too late' },
    });
    expect(tools.calls).toEqual([]);
  });

  it('refuses a snapshot of another version', async () => {
    const clock = new FixedClock();
    const store = createMemoryStore({ clock });
    const base = {
      definition: THREE,
      inputHash: '',
      params: {},
      vars: {},
      options: {},
      principal: '',
      tenant: '',
      idempotencyKey: undefined,
    };
    await store.createRun(
      { id: 'r', name: 'n', schemaVersion: 99, createdAt: 1, deadlineAt: 1e15, ...base },
      { owner: 'x', ttlMs: 1 },
    );
    clock.jump(10);
    const engine = engineOn(store, clock, fakeTools({}));
    await expect(engine.resume('r')).rejects.toThrow('definition version unsupported: 99');
    expect((await engine.status('r')).status).toBe('failed');
  });
});

describe('two engines on one store', () => {
  it('never both move a run', async () => {
    const { clock, store, id, first } = await abandoned(
      define(
        '- {id: a, tool: t.a}\n- {id: b, tool: t.b, dependsOn: [a], resume: retry}\n- {id: c, tool: t.c, dependsOn: [b]}',
      ),
    );
    const tools = fakeTools({ 't.b': () => 'y', 't.c': () => 'z' });
    const [one, two] = [engineOn(store, clock, tools), engineOn(store, clock, tools)];
    const taken = await Promise.all([one.recover(), two.recover()]);
    expect(taken.flat().map((run) => run.id)).toEqual([id]);
    expect((await taken.flat()[0]?.result)?.status).toBe('completed');
    expect(tools.calls.map(({ tool }) => tool)).toEqual(['t.b', 't.c']);
    expect(first.of('t.c')).toHaveLength(0);
  });

  it('stop the one that lost its lease, which writes nothing more', async () => {
    const clock = new FixedClock();
    const store = await sqlite(clock);
    const gate = deferred();
    const definition = define('- {id: a, tool: t.a, resume: retry}\n- {id: b, tool: t.b, dependsOn: [a]}');
    const slow = fakeTools({ 't.a': () => gate.promise, 't.b': () => 'slow' });
    const paused = createEngine({ tools: slow, store, clock, heartbeatMs: 1e9 });
    const stale = await paused.run(definition);
    await until(() => slow.calls.length === 1);
    clock.jump(31_000);
    const tools = fakeTools({ 't.a': () => 'quick', 't.b': () => 'quick' });
    const fresh = await engineOn(store, clock, tools).resume(stale.id);
    gate.resolve('slow');
    await expect(stale.result).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_LEASE_LOST' });
    expect((await fresh.result).output).toEqual({ text: 'quick' });
    expect(slow.of('t.b')).toHaveLength(0);
  });

  it('notice a lost lease with the next heartbeat', async () => {
    const clock = new FixedClock();
    const store = await sqlite(clock);
    const signals: AbortSignal[] = [];
    const tools = fakeTools({
      't.a': (_args, call) => {
        signals.push(call.signal);
        return hung();
      },
    });
    const stale = await createEngine({ tools, store, clock }).run(define('- {id: a, tool: t.a, resume: retry}'));
    await until(() => tools.calls.length === 1);
    clock.jump(31_000);
    const fresh = await engineOn(store, clock, tools).resume(stale.id);
    await clock.advance(10_000);
    await expect(stale.result).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_LEASE_LOST' });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect((await fresh.cancel()).status).toBe('cancelled');
  });

  it('share one run for one idempotency key, and refuse the key for other input', async () => {
    const clock = new FixedClock();
    const store = await sqlite(clock);
    const gate = deferred();
    const tools = fakeTools({ 't.a': () => gate.promise });
    const definition = define('- {id: a, tool: t.a}');
    const [one, two] = [engineOn(store, clock, tools), engineOn(store, clock, tools)];
    const first = await one.run(definition, { n: 1 }, { idempotencyKey: 'k' });
    const same = await one.run(definition, { n: 1 }, { idempotencyKey: 'k' });
    const other = await two.run(definition, { n: 1 }, { idempotencyKey: 'k' });
    expect(same).toBe(first);
    expect(other.id).toBe(first.id);
    await expect(two.run(definition, { n: 2 }, { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_CONFLICT',
    });
    const stranger = await two.run(definition, { n: 2 }, { idempotencyKey: 'k', principal: { subject: 'eve' } });
    expect(stranger.id).not.toBe(first.id);
    gate.resolve('x');
    await first.result;
    await clock.advance(500);
    expect((await other.result).output).toEqual({ text: 'x' });
    expect(tools.calls).toHaveLength(2);
  });

  it('go on with an abandoned run when its idempotency key comes again', async () => {
    const clock = new FixedClock();
    const store = await sqlite(clock);
    const definition = define('- {id: a, tool: t.a}\n- {id: b, tool: t.b, dependsOn: [a], resume: retry}');
    const first = fakeTools({ 't.a': () => 'x', 't.b': hung });
    const gone = createEngine({ tools: first, store, clock, heartbeatMs: 1e9 });
    const run = await gone.run(definition, {}, { idempotencyKey: 'k' });
    await until(() => first.of('t.b').length > 0);
    clock.jump(31_000);
    const tools = fakeTools({ 't.a': () => 'x', 't.b': () => 'y' });
    const again = await engineOn(store, clock, tools).run(definition, {}, { idempotencyKey: 'k' });
    expect(again.id).toBe(run.id);
    expect((await again.result).output).toEqual({ text: 'y' });
    expect(tools.calls.map(({ tool }) => tool)).toEqual(['t.b']);
  });

  it('cancel a run of the other with its next heartbeat', async () => {
    const clock = new FixedClock();
    const store = await sqlite(clock);
    const tools = fakeTools({ 't.a': hung });
    const [one, two] = [engineOn(store, clock, tools), engineOn(store, clock, tools)];
    const run = await one.run(define('- {id: a, tool: t.a}'));
    await two.cancel(run.id, 'over there');
    await clock.advance(10_000);
    expect((await run.result).error?.message).toBe('workflow cancelled: over there');
  });

  it('give up a run that has lost its process too often', async () => {
    const { clock, store, id } = await abandoned(
      define('- {id: a, tool: t.a}\n- {id: b, tool: t.b, dependsOn: [a], resume: retry}'),
    );
    const tools = fakeTools({ 't.b': hung });
    const rule = { limits: { maxRecoveries: 1 }, heartbeatMs: 1e9 };
    await createEngine({ tools, store, clock, ...rule }).recover();
    await until(() => tools.calls.length === 1);
    clock.jump(31_000);
    const [run] = await engineOn(store, clock, tools, rule).recover();
    expect(run?.id).toBe(id);
    expect(await run?.result).toMatchObject({ status: 'failed', error: { message: 'too many recoveries: 2 (max 1)' } });
    expect(tools.calls).toHaveLength(1);
  });
});

describe('closing an engine with a durable store', () => {
  it('leaves its runs for the next one, at once', async () => {
    const clock = new FixedClock();
    const store = await sqlite(clock);
    const tools = fakeTools({ 't.a': () => 'x', 't.b': hung });
    const engine = createEngine({ tools, store, clock });
    const run = await engine.run(define('- {id: a, tool: t.a}\n- {id: b, tool: t.b, dependsOn: [a], resume: retry}'));
    await until(() => tools.of('t.b').length === 1);
    await engine.close();
    await expect(run.result).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_CLOSED' });
    const next = fakeTools({ 't.b': () => 'y' });
    const resumed = await engineOn(store, clock, next).resume(run.id);
    expect((await resumed.result).status).toBe('completed');
  });

  it('lets steps under way finish in the time it is given, and starts no other', async () => {
    const clock = new FixedClock();
    const store = await sqlite(clock);
    const gate = deferred();
    const tools = fakeTools({ 't.a': () => gate.promise, 't.b': () => 'y' });
    const engine = createEngine({ tools, store, clock });
    const run = await engine.run(define('- {id: a, tool: t.a}\n- {id: b, tool: t.b, dependsOn: [a]}'));
    await until(() => tools.calls.length === 1);
    const closing = engine.close({ drainMs: 1000 });
    gate.resolve('x');
    await closing;
    await expect(run.result).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_CLOSED' });
    expect(tools.of('t.b')).toHaveLength(0);
    const resumed = await engineOn(store, clock, fakeTools({ 't.b': () => 'y' })).resume(run.id);
    expect((await resumed.result).status).toBe('completed');
  });

  it('looks for abandoned runs now and then', async () => {
    const { clock, store, id } = await abandoned(
      define('- {id: a, tool: t.a}\n- {id: b, tool: t.b, dependsOn: [a], resume: retry}'),
    );
    const tools = fakeTools({ 't.b': () => 'y' });
    const engine = engineOn(store, clock, tools, { random: { next: () => 0.5, uuid: () => 'engine-2' } });
    engine.startRecovery();
    await clock.advance(15_000);
    await until(() => tools.calls.length === 1);
    await settle();
    expect((await engine.status(id)).status).toBe('completed');
    await engine.close();
    expect(clock.pending).toBeLessThanOrEqual(2);
  });
});

describe('a store that cannot be written', () => {
  it('is tried again for as long as the lease lives, then the run stops and can be resumed', async () => {
    const clock = new FixedClock();
    const store = await sqlite(clock);
    let broken = false;
    const shaky: Store = Object.assign(Object.create(store) as Store, {
      durable: true,
      commit: (...args: Parameters<Store['commit']>) =>
        broken ? Promise.reject(new Error('disk full')) : store.commit(...args),
    });
    for (const name of [
      'createRun',
      'getRun',
      'getSteps',
      'getElicitations',
      'listRuns',
      'leaseOwners',
      'claim',
      'heartbeat',
      'release',
      'reopen',
      'purge',
    ] as const) {
      Object.assign(shaky, { [name]: (store[name] as (...args: unknown[]) => unknown).bind(store) });
    }
    const errors: unknown[] = [];
    const gate = deferred();
    const tools = fakeTools({ 't.a': () => gate.promise, 't.b': () => 'y' });
    const engine = createEngine({ tools, store: shaky, clock, onError: (error) => errors.push(error) });
    const run = await engine.run(define('- {id: a, tool: t.a, resume: retry}\n- {id: b, tool: t.b, dependsOn: [a]}'));
    await until(() => tools.calls.length === 1);
    broken = true;
    gate.resolve('x');
    await clock.advance(1000);
    expect(errors.length).toBeGreaterThan(1);
    expect(tools.of('t.b')).toHaveLength(0);
    broken = false;
    await clock.advance(2000);
    expect((await run.result).status).toBe('completed');

    const second = await engine.run(
      define('- {id: a, tool: t.a, resume: retry}\n- {id: b, tool: t.b, dependsOn: [a]}'),
    );
    broken = true;
    await clock.advance(60_000);
    await expect(second.result).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_STORE' });
    broken = false;
    expect((await (await engineOn(store, clock, tools).resume(second.id)).result).status).toBe('completed');
  });
});
