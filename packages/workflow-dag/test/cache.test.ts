import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createEngine, createMemoryStore, type RunOptions, type Store } from '../src/index.js';
import { openSqliteStore } from '../src/sqlite.js';
import { FixedClock, settle } from './support/clock.js';
import { define } from './support/define.js';
import { deferred, fakeTools, type FakeTools } from './support/tools.js';

const directory = mkdtempSync(join(tmpdir(), 'workflow-cache-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const cached = (cache: string, rest = ''): ReturnType<typeof define> =>
  define(`- {id: a, tool: t.a, arguments: {n: "{{.params.n}}"}, cache: ${cache}${rest}}`);

function counting(): FakeTools & { readonly count: number } {
  let count = 0;
  const tools = fakeTools({
    't.a': (args) => {
      count += 1;
      return { n: args['n'] as string, call: count };
    },
  });
  return Object.defineProperty(tools, 'count', { get: () => count }) as FakeTools & { readonly count: number };
}

async function outputs(
  store: Store,
  clock: FixedClock,
  tools: FakeTools,
  definition: ReturnType<typeof define>,
  runs: readonly (RunOptions & { n?: number })[],
): Promise<unknown[]> {
  const engine = createEngine({ tools, store, clock });
  const found: unknown[] = [];
  for (const { n = 1, ...options } of runs) {
    const result = await (await engine.run(definition, { n }, options)).result;
    found.push((result.output as { call?: number }).call ?? result.error?.message);
  }
  return found;
}

describe('a cached step', () => {
  it('calls its tool once for equal arguments, until its time is over', async () => {
    const clock = new FixedClock();
    const store = createMemoryStore({ clock });
    const tools = counting();
    const definition = cached('{ttl: 1m}');
    expect(await outputs(store, clock, tools, definition, [{}, {}, { n: 2 }, {}])).toEqual([1, 1, 2, 1]);
    clock.jump(60_000);
    expect(await outputs(store, clock, tools, definition, [{}])).toEqual([3]);
  });

  it('calls nothing in a second process on the same file', async () => {
    const clock = new FixedClock();
    const file = join(directory, 'two.db');
    const calls: number[] = [];
    for (const _process of [1, 2]) {
      const store = await openSqliteStore(file, { clock });
      const tools = counting();
      expect(await outputs(store, clock, tools, cached('{ttl: 1h}'), [{}])).toEqual([1]);
      calls.push(tools.count);
      await store.close();
    }
    expect(calls).toEqual([1, 0]);
  });

  it('says that its result is from the cache', async () => {
    const clock = new FixedClock();
    const engine = createEngine({ tools: counting(), clock });
    const definition = cached('{ttl: 1m}', ', onError: {action: retry, retryCount: 2}');
    const first = await (await engine.run(definition, { n: 1 })).result;
    const second = await (await engine.run(definition, { n: 1 })).result;
    expect([first, second].map(({ steps }) => [steps['a']?.fromCache, steps['a']?.retryCount])).toEqual([
      [false, 0],
      [true, 0],
    ]);
  });

  it('never keeps a failure', async () => {
    const clock = new FixedClock();
    let fail = true;
    const tools = fakeTools({
      't.a': () => (fail ? { isError: true, content: [{ type: 'text', text: 'down' }] } : { call: 7 }),
    });
    const store = createMemoryStore({ clock });
    expect(await outputs(store, clock, tools, cached('{ttl: 1m}'), [{}])).toEqual([
      'tool call failed: tool t.a in step a: tool execution failed: down',
    ]);
    fail = false;
    expect(await outputs(store, clock, tools, cached('{ttl: 1m}'), [{}])).toEqual([7]);
    const continued = define(
      '- {id: a, tool: t.a, onError: {action: continue}, defaultResults: {call: 0}, cache: {ttl: 1m, key: other}}',
    );
    fail = true;
    const engine = createEngine({ tools, store, clock });
    expect((await (await engine.run(continued)).result).steps['a']?.status).toBe('failed');
    fail = false;
    expect((await (await engine.run(continued)).result).output).toEqual({ call: 7 });
  });

  it('never shows one principal what another one got', async () => {
    const clock = new FixedClock();
    const tools = counting();
    const runs = [
      { principal: { subject: 'ada' } },
      { principal: { subject: 'bob' } },
      { principal: { subject: 'ada', issuer: 'https://other.example' } },
      { principal: { subject: 'ada', tenant: 't' } },
      {},
      { principal: { subject: 'ada' } },
    ];
    expect(await outputs(createMemoryStore({ clock }), clock, tools, cached('{ttl: 1m}'), runs)).toEqual([
      1, 2, 3, 4, 5, 1,
    ]);
    expect(await outputs(createMemoryStore({ clock }), clock, tools, cached('{ttl: 1m, key: fixed}'), runs)).toEqual([
      6, 7, 8, 9, 10, 6,
    ]);
  });

  it('shares with the audience of its scope', async () => {
    const clock = new FixedClock();
    const two = [{ principal: { subject: 'ada' } }, { principal: { subject: 'bob' } }];
    for (const scope of ['tool', 'workflow', 'global']) {
      expect(
        await outputs(createMemoryStore({ clock }), clock, counting(), cached(`{ttl: 1m, scope: ${scope}}`), two),
      ).toEqual([1, 1]);
    }
    const store = createMemoryStore({ clock });
    const tools = counting();
    const named = (name: string, scope: string): ReturnType<typeof define> =>
      define(`- {id: a, tool: t.a, arguments: {n: "1"}, cache: {ttl: 1m, scope: ${scope}}}`, { name });
    expect(await outputs(store, clock, tools, named('one', 'workflow'), [{}])).toEqual([1]);
    expect(await outputs(store, clock, tools, named('two', 'workflow'), [{}])).toEqual([2]);
    expect(await outputs(store, clock, tools, named('one', 'tool'), [{}])).toEqual([3]);
    expect(await outputs(store, clock, tools, named('two', 'tool'), [{}])).toEqual([3]);
  });

  it('keeps to its mode, and reads nothing in a run without cache', async () => {
    const clock = new FixedClock();
    const run = async (modes: readonly string[], last: RunOptions = {}): Promise<unknown[]> => {
      const store = createMemoryStore({ clock });
      const tools = counting();
      const found: unknown[] = [];
      for (const [index, mode] of modes.entries()) {
        found.push(
          ...(await outputs(store, clock, tools, cached(`{ttl: 1m, mode: ${mode}}`), [
            index === modes.length - 1 ? last : {},
          ])),
        );
      }
      return found;
    };
    expect(await run(['readwrite', 'readwrite'])).toEqual([1, 1]);
    expect(await run(['read', 'read'])).toEqual([1, 2]);
    expect(await run(['write', 'write', 'read'])).toEqual([1, 2, 2]);
    expect(await run(['readwrite', 'bypass'])).toEqual([1, 2]);
    expect(await run(['readwrite', 'readwrite'], { noCache: true })).toEqual([1, 2]);
  });

  it('takes its own key where it has one', async () => {
    const clock = new FixedClock();
    const definition = cached('{ttl: 1m, key: "{{if gt .params.n 10.0}}many{{else}}few{{end}}"}');
    expect(
      await outputs(createMemoryStore({ clock }), clock, counting(), definition, [
        { n: 1 },
        { n: 2 },
        { n: 20 },
        { n: 30 },
      ]),
    ).toEqual([1, 1, 2, 2]);
  });

  it('takes an old result for a failing tool where it may', async () => {
    const clock = new FixedClock();
    const store = createMemoryStore({ clock });
    let fail = false;
    const tools = fakeTools({ 't.a': () => (fail ? Promise.reject(new Error('down')) : { call: 1 }) });
    const definition = cached('{ttl: 1m, staleIfError: 1h}');
    await outputs(store, clock, tools, definition, [{}]);
    fail = true;
    clock.jump(30 * 60_000);
    expect(await outputs(store, clock, tools, definition, [{}])).toEqual([1]);
    clock.jump(3_600_000);
    expect(await outputs(store, clock, tools, definition, [{}])).toEqual([
      'tool call failed: tool t.a in step a: down',
    ]);
  });

  it('makes equal calls of the same moment once, and again for the rest where that one fails', async () => {
    const clock = new FixedClock();
    let gate = deferred();
    const tools = fakeTools({ 't.a': () => gate.promise });
    const engine = createEngine({ tools, clock });
    const definition = cached('{ttl: 1m}');
    const runs = await Promise.all([1, 1, 1].map((n) => engine.run(definition, { n })));
    await settle();
    expect(tools.calls).toHaveLength(1);
    gate.resolve({ call: 1 });
    expect((await Promise.all(runs.map((run) => run.result))).map(({ steps }) => steps['a']?.fromCache)).toEqual([
      false,
      true,
      true,
    ]);
    gate = deferred();
    const failing = await Promise.all([2, 2].map((n) => engine.run(definition, { n })));
    await settle();
    gate.reject(new Error('down'));
    expect((await Promise.all(failing.map((run) => run.result))).map(({ status }) => status)).toEqual([
      'failed',
      'failed',
    ]);
    expect(tools.calls).toHaveLength(3);
  });

  it('does not wait for ever on a call that was given up', async () => {
    const clock = new FixedClock();
    let answer: Promise<unknown> = new Promise(() => undefined);
    const tools = fakeTools({ 't.a': () => answer });
    const engine = createEngine({ tools, clock });
    const [first, second] = await Promise.all([
      engine.run(cached('{ttl: 1m}'), { n: 1 }),
      engine.run(cached('{ttl: 1m}'), { n: 1 }),
    ]);
    await settle();
    answer = Promise.resolve({ call: 2 });
    await first.cancel();
    expect((await second.result).output).toEqual({ call: 2 });
  });

  it('waits for another process that makes the same result, but not for ever', async () => {
    for (const finishes of [true, false]) {
      const clock = new FixedClock();
      const file = join(directory, `locked-${finishes}.db`);
      const stores = [await openSqliteStore(file, { clock }), await openSqliteStore(file, { clock })] as const;
      const gate = deferred();
      const slow = fakeTools({ 't.a': () => gate.promise });
      const quick = fakeTools({ 't.a': () => ({ call: 'quick' }) });
      const first = await createEngine({ tools: slow, store: stores[0], clock }).run(cached('{ttl: 1m}'), { n: 1 });
      await settle();
      const second = await createEngine({ tools: quick, store: stores[1], clock }).run(cached('{ttl: 1m}'), { n: 1 });
      await clock.advance(1000);
      expect(quick.calls).toHaveLength(0);
      if (finishes) gate.resolve({ call: 'slow' });
      await clock.advance(finishes ? 200 : 4200);
      expect((await second.result).output).toEqual({ call: finishes ? 'slow' : 'quick' });
      expect(quick.calls).toHaveLength(finishes ? 0 : 1);
      gate.resolve({ call: 'slow' });
      await first.result;
      for (const store of stores) await store.close();
    }
  });

  it('works for the iterations of forEach', async () => {
    const clock = new FixedClock();
    const tools = counting();
    const engine = createEngine({ tools, clock });
    const definition = define(
      '- {id: e, type: forEach, collection: "[1,2,1]", maxParallel: 1, step: {tool: t.a, arguments: {n: "{{.forEach.item}}"}, cache: {ttl: 1m}}}',
    );
    await (
      await engine.run(definition)
    ).result;
    expect(tools.count).toBe(2);
  });

  it('keeps nothing that is too large, and lives with a cache that fails', async () => {
    const clock = new FixedClock();
    const errors: unknown[] = [];
    const tools = fakeTools({ 't.a': () => ({ text: 'x'.repeat(500) }) });
    const store = createMemoryStore({ clock });
    const engine = createEngine({
      tools,
      store,
      clock,
      limits: { maxCachedBytes: 100 },
      onError: (error) => errors.push(error),
    });
    for (let run = 0; run < 2; run += 1) await (await engine.run(cached('{ttl: 1m}'), { n: 1 })).result;
    expect(tools.calls).toHaveLength(2);
    expect(errors).toHaveLength(2);
    store.cacheGet = () => Promise.reject(new Error('cache down'));
    expect((await (await engine.run(cached('{ttl: 1m}'), { n: 1 })).result).status).toBe('completed');
  });

  it('can be forgotten by tool, by workflow and by key', async () => {
    const clock = new FixedClock();
    const tools = counting();
    const engine = createEngine({ tools, clock });
    for (let run = 0; run < 2; run += 1) {
      await (
        await engine.run(cached('{ttl: 1m}'), { n: 1 })
      ).result;
      expect(await engine.forgetCached({ tool: 't.a' })).toBe(1);
    }
    expect(tools.count).toBe(2);
  });
});
