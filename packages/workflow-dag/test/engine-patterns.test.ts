import { describe, expect, it } from 'vitest';
import { createEngine } from '../src/index.js';
import { define } from './support/define.js';
import { deferred, fakeTools } from './support/tools.js';

describe('fan-out and fan-in', () => {
  const definition = define(`
- {id: a, tool: api.a}
- {id: b, tool: api.b}
- {id: c, tool: api.c}
- id: joined
  tool: api.join
  dependsOn: [a, b, c]
  arguments: {all: "{{.steps.a.output.text}}{{.steps.b.output.text}}{{.steps.c.output.text}}"}
`);

  it('starts the sources together and joins them once', async () => {
    const gate = deferred();
    const tools = fakeTools({
      'api.a': () => gate.promise,
      'api.b': () => gate.promise,
      'api.c': () => gate.promise,
      'api.join': (args) => args['all'],
    });
    const run = await createEngine({ tools }).run(definition);
    expect(tools.calls.map(({ tool }) => tool)).toEqual(['api.a', 'api.b', 'api.c']);
    gate.resolve('x');
    const result = await run.result;
    expect(result.status).toBe('completed');
    expect(result.output).toEqual({ text: 'xxx' });
    expect(result.stats).toMatchObject({ total_levels: 2, total_steps: 4, max_parallelism: 3, sequential_steps: 1 });
  });

  it('runs at most the permitted number of steps at once', async () => {
    let active = 0;
    let most = 0;
    const slow = async (): Promise<string> => {
      active += 1;
      most = Math.max(most, active);
      await Promise.resolve();
      active -= 1;
      return 'x';
    };
    const tools = fakeTools({ 'api.a': slow, 'api.b': slow, 'api.c': slow, 'api.join': slow });
    await (
      await createEngine({ tools, limits: { maxParallel: 2 } }).run(definition)
    ).result;
    expect(most).toBe(2);
  });
});

describe('stages', () => {
  const definition = define(`
- {id: fetch, tool: t.fetch}
- {id: left, tool: t.left, dependsOn: [fetch]}
- {id: right, tool: t.right, dependsOn: [fetch]}
- {id: store_left, tool: t.store, dependsOn: [left]}
- {id: store_right, tool: t.store, dependsOn: [right]}
`);

  it('waits for the whole level by default', async () => {
    const slow = deferred();
    const tools = fakeTools({
      't.fetch': () => 'f',
      't.left': () => 'l',
      't.right': () => slow.promise,
      't.store': () => 's',
    });
    const run = await createEngine({ tools }).run(definition);
    for await (const event of run.events) if (event.type === 'step_completed' && event.stepId === 'left') break;
    expect(tools.of('t.store')).toHaveLength(0);
    slow.resolve('r');
    expect((await run.result).status).toBe('completed');
    expect(tools.calls.slice(3).map(({ step }) => step)).toEqual(['store_left', 'store_right']);
  });

  it('starts a step as soon as its own dependencies are over when eager', async () => {
    const slow = deferred();
    const stored = deferred();
    const tools = fakeTools({
      't.fetch': () => 'f',
      't.left': () => 'l',
      't.right': () => slow.promise,
      't.store': () => {
        stored.resolve(undefined);
        return 's';
      },
    });
    const run = await createEngine({ tools, scheduling: 'eager' }).run(definition);
    await stored.promise;
    slow.resolve('r');
    expect((await run.result).status).toBe('completed');
  });
});

describe('conditional branches', () => {
  const definition = define(`
- {id: user, tool: db.user}
- id: slack
  tool: slack.notify
  dependsOn: [user]
  condition: "{{.steps.user.output.preferences.slack}}"
- id: mail
  tool: mail.send
  dependsOn: [user]
  condition: "{{.steps.user.output.preferences.mail}}"
- {id: after, tool: log.write, dependsOn: [slack, mail], arguments: {slack: "{{.steps.slack.status}}", output: "{{json .steps.slack.output}}"}}
`);

  it('runs the branches whose condition holds, and what depends on a skipped one', async () => {
    const tools = fakeTools({
      'db.user': () => ({ preferences: { slack: false, mail: true } }),
      'slack.notify': () => 'sent',
      'mail.send': () => 'sent',
      'log.write': () => 'ok',
    });
    const result = await (await createEngine({ tools }).run(definition)).result;
    expect(result.steps['slack']).toMatchObject({ status: 'skipped', output: undefined, error: undefined });
    expect(result.steps['mail']?.status).toBe('completed');
    expect(tools.of('log.write')).toEqual([{ slack: 'skipped', output: 'null' }]);
  });

  it('fails a step whose condition is neither true nor false', async () => {
    const tools = fakeTools({
      'db.user': () => ({ preferences: { slack: 'maybe', mail: true } }),
      'slack.notify': () => 'sent',
      'mail.send': () => 'sent',
      'log.write': () => 'ok',
    });
    const result = await (await createEngine({ tools }).run(definition)).result;
    expect(result.status).toBe('failed');
    expect(result.error).toEqual({
      code: 'ERR_WORKFLOW_DAG_CONDITION',
      message: `template expansion failed: failed to evaluate condition for step slack: condition must evaluate to 'true' or 'false', got: "maybe"`,
    });
  });

  it('takes every spelling of true and false, and nothing with space around it', async () => {
    const run = async (text: string, trimConditions = false): Promise<string | undefined> => {
      const tools = fakeTools({ 'a.b': () => 'x' });
      const one = define(`- {id: s, tool: a.b, condition: ${JSON.stringify(text)}}`);
      return (await (await createEngine({ tools, trimConditions }).run(one)).result).steps['s']?.status;
    };
    for (const text of ['true', 'True', 'TRUE']) expect(await run(text)).toBe('completed');
    for (const text of ['false', 'False', 'FALSE', '{{eq 1 2}}']) expect(await run(text)).toBe('skipped');
    for (const text of [' true', 'true ', 'yes', '1', '{{.params.nothing}}']) expect(await run(text)).toBe('failed');
    expect(await run(' true\n', true)).toBe('completed');
  });
});

describe('retry with fallback', () => {
  const definition = define(`
- id: primary
  tool: primary.call
  onError: {action: retry, maxRetries: 2, retryDelay: 1ms}
- id: fallback
  tool: fallback.call
  dependsOn: [primary]
  condition: '{{ne .steps.primary.status "completed"}}'
`);

  it('runs the fallback when the attempts are spent', async () => {
    const tools = fakeTools({
      'primary.call': () => {
        throw new Error('down');
      },
      'fallback.call': () => 'saved',
    });
    const result = await (await createEngine({ tools }).run(definition)).result;
    expect(tools.of('primary.call')).toHaveLength(3);
    expect(result.status).toBe('completed');
    expect(result.failedSteps).toEqual(['primary']);
    expect(result.steps['primary']).toMatchObject({ status: 'failed', retryCount: 2 });
    expect(result.output).toEqual({ text: 'saved' });
  });

  it('skips the fallback when the primary works', async () => {
    const tools = fakeTools({ 'primary.call': () => 'ok', 'fallback.call': () => 'saved' });
    const result = await (await createEngine({ tools }).run(definition)).result;
    expect(result.steps['fallback']?.status).toBe('skipped');
    expect(result.output).toEqual({ text: 'ok' });
  });
});

describe('default results', () => {
  const definition = define(
    `
- {id: core, tool: db.query, arguments: {id: "{{.params.id}}"}}
- id: enrich
  tool: enrich.run
  dependsOn: [core]
  condition: "{{.params.enrich}}"
  defaultResults: {text: none}
- id: lookup
  tool: lookup.run
  dependsOn: [core]
  onError: {action: continue}
  defaultResults: {text: unavailable}
- id: all
  tool: join.run
  dependsOn: [core, enrich, lookup]
  arguments:
    parts: ["{{.steps.core.output.text}}", "{{.steps.enrich.output.text}}", {deep: "{{.steps.lookup.output.text}}"}]
    count: 3
    flag: true
`,
    {
      parameters: {
        type: 'object',
        properties: { id: { type: 'string' }, enrich: { type: 'boolean', default: false } },
        required: ['id'],
      },
    },
  );

  it('stand in for skipped and for failed steps', async () => {
    const tools = fakeTools({
      'db.query': (args) => `row ${String(args['id'])}`,
      'enrich.run': () => 'enriched',
      'lookup.run': () => ({ content: [{ type: 'text', text: 'no route' }], isError: true }),
      'join.run': () => 'joined',
    });
    const result = await (await createEngine({ tools }).run(definition, { id: '7' })).result;
    expect(result.status).toBe('completed');
    expect(tools.of('join.run')).toEqual([{ parts: ['row 7', 'none', { deep: 'unavailable' }], count: 3, flag: true }]);
    expect(result.steps['lookup']).toMatchObject({ status: 'failed', output: { text: 'unavailable' } });
    expect(result.steps['lookup']?.error?.message).toBe(
      'tool call failed: tool lookup.run in step lookup: tool execution failed: no route',
    );
  });

  it('stand in when the arguments cannot be made or the tool is unknown', async () => {
    const broken = define(`
- {id: a, tool: t.a, onError: {action: continue}, defaultResults: {v: 1}, arguments: {x: "{{.params.list.nope.deep}}{{index .params.list 9}}"}}
- {id: b, tool: t.missing, onError: {action: continue}, defaultResults: {v: 2}}
- {id: c, tool: t.c, dependsOn: [a, b], arguments: {a: "{{.steps.a.output.v}}", b: "{{.steps.b.output.v}}"}}
`);
    const tools = fakeTools({ 't.a': () => 'x', 't.c': () => 'x' });
    const result = await (await createEngine({ tools }).run(broken, { list: [] })).result;
    expect(result.status).toBe('completed');
    expect(tools.of('t.c')).toEqual([{ a: '1', b: '2' }]);
    expect(result.steps['a']?.error?.code).toBe('ERR_WORKFLOW_DAG_TEMPLATE');
    expect(result.steps['b']?.error?.code).toBe('ERR_WORKFLOW_DAG_ROUTING');
  });
});

describe('parallel validation', () => {
  it('does not act when one check fails', async () => {
    const definition = define(`
- {id: schema, tool: check.schema}
- {id: rights, tool: check.rights}
- {id: act, tool: api.act, dependsOn: [schema, rights]}
`);
    const tools = fakeTools({
      'check.schema': () => 'ok',
      'check.rights': () => ({ isError: true, content: [{ type: 'text', text: 'not allowed' }] }),
      'api.act': () => 'done',
    });
    const result = await (await createEngine({ tools }).run(definition)).result;
    expect(result.status).toBe('failed');
    expect(tools.of('api.act')).toHaveLength(0);
    expect(Object.keys(result.steps)).toEqual(['schema', 'rights']);
    expect(result.output).toEqual({});
  });
});

describe('arguments', () => {
  it('arrive with the types that the tool declares', async () => {
    const definition = define(`
- id: s
  tool: t.call
  arguments: {n: "{{.params.n}}", big: "{{.params.big}}", flag: "{{.params.flag}}", list: "{{json .params.list}}", text: "{{.params.n}}"}
`);
    const inputSchema = {
      type: 'object',
      properties: {
        n: { type: 'integer' },
        big: { type: 'integer' },
        flag: { type: 'boolean' },
        list: { type: 'array' },
        text: { type: 'string' },
      },
    };
    const tools = fakeTools({ 't.call': () => 'x' }, { 't.call': { inputSchema } });
    const run = await createEngine({ tools }).run(definition, { n: 12, big: 1_234_567, flag: true, list: [1, 'a'] });
    await run.result;
    expect(tools.of('t.call')).toEqual([{ n: 12, big: 1_234_567, flag: true, list: [1, 'a'], text: '12' }]);
    const strict = fakeTools({ 't.call': () => 'x' }, { 't.call': { inputSchema } });
    await (
      await createEngine({ tools: strict, strictGoCoercion: true }).run(definition, {
        n: 12,
        big: 1_234_567,
        flag: true,
        list: [1],
      })
    ).result;
    expect(strict.of('t.call')).toEqual([{ n: 12, big: '1.234567e+06', flag: true, list: '[1]', text: '12' }]);
  });

  it('carry the same idempotency key for every attempt and another for every step', async () => {
    const keys: string[] = [];
    const tools = fakeTools({
      't.call': (_args, call) => {
        keys.push(call.idempotencyKey);
        if (call.stepId === 'a' && call.attempt === 1) throw new Error('again');
        return 'x';
      },
    });
    const definition = define(`
- {id: a, tool: t.call, onError: {action: retry, retryCount: 1, retryDelay: 1ms}}
- {id: b, tool: t.call, dependsOn: [a]}
`);
    await (
      await createEngine({ tools }).run(definition)
    ).result;
    expect(keys[0]).toMatch(/^[a-z2-7]{52}$/);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
  });
});
