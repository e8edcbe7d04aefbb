import { describe, expect, it } from 'vitest';
import { createEngine, type JsonObject, type WorkflowResult } from '../src/index.js';
import { FixedClock } from './support/clock.js';
import { define } from './support/define.js';
import { deferred, fakeTools, type Behaviour, type FakeTools } from './support/tools.js';

const packages = [
  { name: 'a', version: '1' },
  { name: 'b', version: '2' },
  { name: 'c', version: '3' },
];

function scan(forEach: string, inner = '', after = ''): string {
  return `
- {id: list, tool: oci.list}
- id: each
  type: forEach
  dependsOn: [list]
  collection: "{{json .steps.list.output.packages}}"
  itemVar: pkg
${forEach}
  step:
    type: tool
    tool: osv.query
    arguments: {name: "{{.forEach.pkg.name}}", at: "{{.forEach.index}}"}
${inner}${after}`;
}

async function run(tools: FakeTools, steps: string, items: unknown = packages): Promise<WorkflowResult> {
  const all = fakeToolsWith(tools, items);
  return (await createEngine({ tools: all }).run(define(steps))).result;
}

function fakeToolsWith(tools: FakeTools, items: unknown): FakeTools {
  return {
    ...tools,
    resolve: (reference, context) => (reference === 'oci.list' ? { name: 'list' } : tools.resolve(reference, context)),
    call: async (call) =>
      call.reference === 'oci.list' ? { structuredContent: { packages: items } } : tools.call(call),
  };
}

const osv = (behaviour: Behaviour): FakeTools => fakeTools({ 'osv.query': behaviour, 'report.write': (args) => args });

describe('forEach', () => {
  it('calls the tool once for each item and gathers the results in order', async () => {
    const tools = osv((args) => `${String(args['name'])} is fine`);
    const report = `
- id: report
  tool: report.write
  dependsOn: [each]
  arguments:
    total: "{{.steps.each.output.count}}"
    bad: "{{if gt .steps.each.output.failed 0}}some{{else}}none{{end}}"
    first: "{{(index .steps.each.output.iterations 0).output.text}}"
`;
    const result = await run(tools, scan('  maxParallel: 2', '', report));
    expect(result.status).toBe('completed');
    expect(tools.of('osv.query')).toEqual([
      { name: 'a', at: '0' },
      { name: 'b', at: '1' },
      { name: 'c', at: '2' },
    ]);
    expect(tools.of('report.write')).toEqual([{ total: '3', bad: 'none', first: 'a is fine' }]);
    expect(result.steps['each']?.output).toEqual({
      iterations: packages.map((item, index) => ({
        index,
        item,
        status: 'completed',
        output: { text: `${item.name} is fine` },
      })),
      count: 3,
      completed: 3,
      failed: 0,
    });
  });

  it('records failures and goes on where it is told to', async () => {
    const tools = osv((args) => {
      if (args['name'] === 'b') throw new Error('no data');
      return 'ok';
    });
    const result = await run(tools, scan('  onError: {action: continue}'));
    expect(result.status).toBe('completed');
    const output = result.steps['each']?.output as { iterations: JsonObject[]; failed: number };
    expect(output.failed).toBe(1);
    expect(output.iterations[1]).toEqual({
      index: 1,
      item: packages[1],
      status: 'failed',
      output: {},
      error: 'tool call failed: tool osv.query in step each: no data',
    });
  });

  it('stops at the first failure otherwise, in order with one at a time', async () => {
    const tools = osv((args) => {
      if (args['name'] === 'b') throw new Error('no data');
      return 'ok';
    });
    const result = await run(tools, scan('  maxParallel: 1'));
    expect(tools.of('osv.query')).toHaveLength(2);
    expect(result.status).toBe('failed');
    expect(result.error).toEqual({
      code: 'ERR_WORKFLOW_DAG_ITERATION',
      message: 'forEach step each iteration 1: tool call failed: tool osv.query in step each: no data',
    });
    expect(result.steps['each']?.output).toMatchObject({
      count: 3,
      completed: 1,
      failed: 2,
      iterations: [{ status: 'completed' }, { status: 'failed' }, { status: 'cancelled' }],
    });
  });

  it('runs no more at once than it is allowed', async () => {
    let active = 0;
    let most = 0;
    const tools = osv(async () => {
      active += 1;
      most = Math.max(most, active);
      await Promise.resolve();
      active -= 1;
      return 'x';
    });
    await run(
      tools,
      scan('  maxParallel: 3'),
      Array.from({ length: 20 }, () => ({ name: 'n' })),
    );
    expect(most).toBe(3);
    expect(tools.calls).toHaveLength(20);
  });

  it('takes an empty list and null, and nothing that is no list', async () => {
    const tools = osv(() => 'x');
    for (const items of [[], null]) {
      const result = await run(tools, scan(''), items);
      expect(result.steps['each']?.output).toEqual({ iterations: [], count: 0, completed: 0, failed: 0 });
    }
    for (const items of [{ a: 1 }, 'text', 7]) {
      const result = await run(tools, scan(''), items);
      expect(result.error?.message).toMatch(/^forEach step each: collection must resolve to a JSON array, got: /);
    }
    expect(tools.calls).toHaveLength(0);
    const bare = define('- {id: each, type: forEach, collection: "{{.params.list}}", step: {tool: osv.query}}');
    const result = await (await createEngine({ tools }).run(bare, { list: [1, 2] })).result;
    expect(result.error?.message).toContain('got: [1 2]');
  });

  it('has its counters also where it failed before it began, and the run goes on', async () => {
    const tools = osv(() => 'x');
    const report =
      '- {id: report, tool: report.write, dependsOn: [each], arguments: {n: "{{.steps.each.output.count}}"}}\n';
    const result = await run(tools, scan('  onError: {action: continue}', '', report), 'no list');
    expect(result).toMatchObject({ status: 'completed', failedSteps: ['each'] });
    expect(result.steps['each']?.output).toEqual({ iterations: [], count: 0, completed: 0, failed: 0 });
    expect(tools.of('report.write')).toEqual([{ n: '0' }]);
  });

  it('refuses more items than allowed before any call', async () => {
    const tools = osv(() => 'x');
    const many = Array.from({ length: 101 }, () => ({ name: 'n' }));
    expect((await run(tools, scan(''), many)).error?.message).toBe(
      'forEach step each: collection size 101 exceeds maxIterations 100',
    );
    expect(tools.calls).toHaveLength(0);
    expect((await run(tools, scan('  maxIterations: 101'), many)).status).toBe('completed');
    expect(tools.calls).toHaveLength(101);
  });

  it('retries each iteration by itself', async () => {
    const tools = osv((args, { attempt }) => {
      if (args['name'] === 'b' && attempt === 1) throw new Error('once');
      return 'ok';
    });
    const result = await run(tools, scan('', '    onError: {action: retry, retryCount: 2, retryDelay: 1ms}\n'));
    expect(result.status).toBe('completed');
    expect(tools.calls).toHaveLength(4);
  });

  it('is skipped as a whole', async () => {
    const tools = osv(() => 'x');
    const result = await run(tools, scan('  condition: "false"\n  defaultResults: {count: 0}'));
    expect(result.steps['each']).toMatchObject({ status: 'skipped', output: { count: 0 } });
  });

  it('times out as a whole and keeps what it has', async () => {
    const clock = new FixedClock();
    const tools = fakeToolsWith(
      osv((args) => (args['name'] === 'a' ? 'ok' : new Promise(() => undefined))),
      packages,
    );
    const run = await createEngine({ tools, clock }).run(define(scan('  timeout: 10s')));
    await clock.advance(10_000);
    const result = await run.result;
    expect(result.error?.message).toBe('step "each" timed out after 10s');
    expect(result.steps['each']?.output).toMatchObject({ completed: 1, failed: 2 });
  });

  it('bounds what all iterations return together', async () => {
    const tools = fakeToolsWith(
      osv(() => 'x'.repeat(600)),
      packages,
    );
    const result = await (
      await createEngine({ tools, limits: { maxStepOutputBytes: 1000 } }).run(define(scan('')))
    ).result;
    expect(result.error?.message).toBe('forEach step each: its iterations return more than 1000 bytes');
  });

  it('sees the other steps as they were when it began', async () => {
    const gate = deferred();
    const tools = fakeTools({
      't.side': () => gate.promise,
      't.each': (args) => {
        gate.resolve('done');
        return args['side'] as string;
      },
    });
    const definition = define(`
- {id: side, tool: t.side}
- id: each
  type: forEach
  collection: "[1,2,3]"
  maxParallel: 1
  step: {tool: t.each, arguments: {side: "{{.steps.side.status}}"}}
`);
    await (
      await createEngine({ tools }).run(definition)
    ).result;
    expect(tools.of('t.each')).toEqual([{ side: 'running' }, { side: 'running' }, { side: 'running' }]);
  });

  it('keeps keys such as __proto__ as data', async () => {
    const tools = osv((args) => args['name'] as string);
    const items = JSON.parse('[{"__proto__": {"x": 1}, "name": "p"}]') as unknown;
    const result = await run(tools, scan(''), items);
    expect(JSON.stringify(result.steps['each']?.output)).toContain('"__proto__":{"x":1}');
    expect(Object.hasOwn(Object.prototype, 'x')).toBe(false);
  });
});
