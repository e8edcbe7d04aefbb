import { afterEach, describe, expect, it, vi } from 'vitest';
import { createEngine, createMemoryStore } from '../src/index.js';
import { systemClock } from '../src/clock.js';
import { Deadlines } from '../src/deadlines.js';
import { processOwner } from '../src/owner.js';
import { parseValuePath, readPath } from '../src/value-path.js';
import { FixedClock, settle } from './support/clock.js';
import { define } from './support/define.js';
import { deferred, fakeTools } from './support/tools.js';

describe('the status of a run', () => {
  it('tells where it stands while it runs, and how it ended', async () => {
    const clock = new FixedClock(1_000_000);
    const gate = deferred();
    const tools = fakeTools({
      't.a': () => 'x',
      't.b': () => gate.promise,
      't.bad': () => Promise.reject(new Error('down')),
    });
    const engine = createEngine({ tools, clock });
    const definition = define(`
- {id: a, tool: t.a}
- {id: f, tool: t.bad, onError: {action: continue}}
- {id: s, tool: t.a, condition: "false"}
- {id: b, tool: t.b, dependsOn: [a]}
`);
    const run = await engine.run(definition, { n: 1 }, { principal: { subject: 'ada' } });
    await settle();
    clock.jump(2500);
    expect(await engine.status(run.id)).toMatchObject({
      runId: run.id,
      name: 'sample',
      status: 'running',
      startedAt: 1_000_000,
      endedAt: undefined,
      durationMs: 2500,
      currentSteps: ['b'],
      completedSteps: ['a'],
      failedSteps: ['f'],
      skippedSteps: ['s'],
      pendingElicitations: [],
      params: { n: 1 },
      output: undefined,
      principal: '["","ada",""]',
      stats: { total_levels: 2, total_steps: 4 },
    });
    gate.resolve('y');
    await run.result;
    const status = await engine.status(run.id);
    expect(status).toMatchObject({
      status: 'completed',
      currentSteps: [],
      completedSteps: ['a', 'b'],
      durationMs: 2500,
      output: { text: 'y' },
    });
    expect(status.steps['f']).toMatchObject({ status: 'failed', error: { code: 'ERR_WORKFLOW_DAG_TOOL' } });
    await expect(engine.status('nobody')).rejects.toThrow('workflow not found: workflow nobody');
    await expect(engine.status('')).rejects.toThrow('workflow ID is required');
  });

  it('is listed by page and filter, and can be deleted when the run is over', async () => {
    const clock = new FixedClock();
    const tools = fakeTools({ 't.a': () => 'x', 't.slow': () => new Promise(() => undefined) });
    const engine = createEngine({ tools, clock });
    for (let count = 0; count < 3; count += 1) {
      await (
        await engine.run(define('- {id: a, tool: t.a}'))
      ).result;
      clock.jump(1);
    }
    const live = await engine.run(define('- {id: a, tool: t.slow}', { name: 'slow' }));
    const first = await engine.list({ limit: 3 });
    expect(first.runs.map(({ status }) => status)).toEqual(['running', 'completed', 'completed']);
    const rest = await engine.list({ limit: 3, ...(first.cursor === undefined ? {} : { cursor: first.cursor }) });
    expect(rest.runs).toHaveLength(1);
    expect((await engine.list({ name: 'slow' })).runs.map(({ runId }) => runId)).toEqual([live.id]);
    expect(await engine.stats()).toEqual({
      total: 4,
      pending: 0,
      running: 1,
      waiting_for_elicitation: 0,
      completed: 3,
      failed: 0,
      cancelled: 0,
      timed_out: 0,
    });
    await expect(engine.list({ limit: 0 })).rejects.toThrow('Expected `limit`');
    await expect(engine.delete(live.id)).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_CONFLICT' });
    await live.cancel();
    await engine.delete(live.id);
    await expect(engine.delete(live.id)).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_RUN_NOT_FOUND' });
  });

  it('goes when its time is over, or when there are too many', async () => {
    const clock = new FixedClock();
    const tools = fakeTools({ 't.a': () => 'x' });
    const engine = createEngine({ tools, clock, retentionMs: 1000 });
    const definition = define('- {id: a, tool: t.a}');
    const old = await engine.run(definition);
    await old.result;
    clock.jump(6 * 60_000);
    await (
      await engine.run(definition)
    ).result;
    await settle();
    await expect(engine.status(old.id)).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_RUN_NOT_FOUND' });
    const store = createMemoryStore({ clock, maxFinishedRuns: 2, maxFinishedSteps: 100 });
    const small = createEngine({ tools, clock, store });
    for (let count = 0; count < 5; count += 1) await (await small.run(definition)).result;
    expect((await small.list()).runs).toHaveLength(2);
  });
});

describe('a definition', () => {
  it('is checked before its first run, unless the caller has done it', async () => {
    const tools = fakeTools({ 't.a': () => 'x' });
    const broken = define('- {id: a, tool: t.a, arguments: {x: "{{.params.x"}}');
    await expect(createEngine({ tools }).run(broken)).rejects.toMatchObject({ code: 'ERR_WORKFLOW_DAG_INVALID' });
    const result = await (await createEngine({ tools, validation: false }).run(broken)).result;
    expect(result.error?.code).toBe('ERR_WORKFLOW_DAG_TEMPLATE');
  });
});

describe('deadlines', () => {
  it('fire in order on one timer, and not after they were removed', async () => {
    const clock = new FixedClock();
    const deadlines = new Deadlines(clock);
    const fired: string[] = [];
    const add = (name: string, afterMs: number): ReturnType<Deadlines['add']> =>
      deadlines.add(afterMs, clock.now(), () => fired.push(name));
    add('c', 300);
    add('b', 200);
    const gone = add('x', 200);
    add('a', 100);
    add('d', 300);
    deadlines.remove(gone);
    deadlines.remove(gone);
    expect(clock.pending).toBe(1);
    await clock.advance(250);
    expect(fired).toEqual(['a', 'b']);
    await clock.advance(50);
    expect(fired).toEqual(['a', 'b', 'c', 'd']);
    expect(clock.pending).toBe(0);
    add('e', 100);
    deadlines.close();
    await clock.advance(1000);
    expect(fired).toHaveLength(4);
  });
});

describe('the clock of the machine', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('chains timers that are longer than Node allows', () => {
    vi.useFakeTimers();
    const fired = vi.fn();
    const month = 30 * 24 * 3_600_000;
    const stop = systemClock.setTimer(month, fired);
    vi.advanceTimersByTime(month - 1);
    expect(fired).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fired).toHaveBeenCalledTimes(1);
    stop();
    const other = systemClock.setTimer(month, fired);
    vi.advanceTimersByTime(month - 1000);
    other();
    vi.advanceTimersByTime(month);
    expect(fired).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('an owner', () => {
  it('is known to be dead only where its process is of this machine and gone', () => {
    const one = processOwner('a');
    expect(one.isAlive(one.id)).toBe(true);
    const [place, pid] = JSON.parse(one.id) as [string, number];
    expect(pid).toBe(process.pid);
    expect(one.isAlive(JSON.stringify([place, process.ppid, 'b']))).toBe(true);
    // Above what Linux and others give out.
    expect(one.isAlive(JSON.stringify([place, 2 ** 30, 'b']))).toBe(false);
    expect(one.isAlive(JSON.stringify(['elsewhere', 2 ** 30, 'b']))).toBe(true);
    expect(one.isAlive('nonsense')).toBe(true);
  });
});

describe('value paths', () => {
  it('lead to values of any type, and to nothing where there is nothing', () => {
    const data = { a: { list: [1, { 'odd key': true }], map: new Map([['k', 3n]]), '0': 'zero' } };
    const read = (path: string): unknown => readPath(data, parseValuePath(path));
    expect(read('.a.list[0]')).toBe(1);
    expect(read('.a.list[1]["odd key"]')).toBe(true);
    expect(read('.a.map.k')).toBe(3n);
    expect(read('["a"]["0"]')).toBe('zero');
    for (const path of ['.b', '.a.list[9]', '.a.list.length', '.a.constructor', '.a.list[0].x'])
      expect(read(path)).toBeUndefined();
  });

  it('are refused where they are none', () => {
    for (const path of ['', 'a', '.', '.a.', '.a[', '.a[-1]', '.a[x]', '.a["x]', '.a b']) {
      expect(() => parseValuePath(path), path).toThrow('is no path at offset');
    }
  });
});
