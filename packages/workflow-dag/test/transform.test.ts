import { describe, expect, it } from 'vitest';
import { createEngine } from '../src/index.js';
import { define } from './support/define.js';
import { fakeTools } from './support/tools.js';

const answer = {
  items: [
    { name: 'a', size: 1_234_567 },
    { name: 'b', size: 2 },
  ],
  total: 1_234_567,
  'odd key': [true],
  note: 'n',
};

async function transformed(
  transform: string,
  output: unknown = answer,
): Promise<{ output: unknown; error: string | undefined; calls: number }> {
  const tools = fakeTools({ 't.a': () => output });
  const definition = define(
    `- id: a\n  tool: t.a\n  onError: {action: retry, retryCount: 2, retryDelay: 1ms}\n  transform:\n${transform.replace(/^/gm, '    ')}`,
  );
  const result = await (await createEngine({ tools }).run(definition)).result;
  return { output: result.steps['a']?.output, error: result.error?.message, calls: tools.calls.length };
}

describe('a transformed output', () => {
  it('keeps the type of what it takes by path: 1234567 stays a number', async () => {
    const { output } = await transformed(`
fields:
  total: {from: .output.total}
  size: {from: ".output.items[0].size", type: integer}
  odd: {from: '.output["odd key"][0]'}
  item: {from: ".output.items[1]"}
`);
    expect(output).toEqual({ total: 1_234_567, size: 1_234_567, odd: true, item: { name: 'b', size: 2 } });
  });

  it('makes values from templates, converted to their type', async () => {
    const { output } = await transformed(`
fields:
  count: {value: "{{len .output.items}}", type: integer}
  first: {value: "{{(index .output.items 0).name}}", type: string}
  big: {value: "{{.output.total}}", type: integer}
  names: {value: '[{{range $i, $e := .output.items}}{{if $i}},{{end}}{{quote $e.name}}{{end}}]', type: array}
  missing: {value: "{{.output.nothing}}", type: integer, default: 9}
  lost: {from: .output.nothing.deeper, default: none}
`);
    expect(output).toEqual({ count: 2, first: 'a', big: 1_234_567, names: ['a', 'b'], missing: 9, lost: 'none' });
  });

  it('keeps what it is told to keep and drops what it is told to drop', async () => {
    expect((await transformed('keep: [note, absent]\nfields:\n  total: {from: .output.total}')).output).toEqual({
      note: 'n',
      total: 1_234_567,
    });
    expect((await transformed('drop: [items, total]\nfields:\n  more: {value: "x", type: string}')).output).toEqual({
      'odd key': [true],
      note: 'n',
      more: 'x',
    });
  });

  it('fails the step, without another call, where a field cannot be made', async () => {
    for (const [field, message] of [
      [
        '{value: "x", type: integer}',
        'transform of step a failed: failed to construct output property "f": cannot coerce "x" to integer',
      ],
      [
        '{from: .output.nothing}',
        'transform of step a failed: failed to construct output property "f": nothing at .output.nothing',
      ],
      [
        '{from: .output.note, type: object}',
        'transform of step a failed: failed to construct output property "f": failed to deserialize JSON object',
      ],
    ] as const) {
      const { error, calls } = await transformed(`fields:\n  f: ${field}`);
      expect(error).toContain(message);
      expect(calls).toBe(1);
    }
  });

  it('is what later steps and the cache see', async () => {
    const tools = fakeTools({ 't.a': () => answer, 't.b': () => 'x' });
    const definition = define(`
- {id: a, tool: t.a, cache: {ttl: 1m}, transform: {fields: {n: {from: .output.total}}}}
- {id: b, tool: t.b, dependsOn: [a], arguments: {all: "{{json .steps.a.output}}"}}
`);
    const engine = createEngine({ tools });
    for (let run = 0; run < 2; run += 1) await (await engine.run(definition)).result;
    expect(tools.of('t.a')).toHaveLength(1);
    expect(tools.of('t.b')).toEqual([{ all: '{"n":1234567}' }, { all: '{"n":1234567}' }]);
  });
});

describe('a failure', () => {
  it('has a code of its own', async () => {
    const tools = fakeTools({ 't.a': () => answer });
    const engine = createEngine({ tools, validation: false });
    const transform = define('- {id: a, tool: t.a, transform: {fields: {f: {from: .output.nothing}}}}');
    expect((await (await engine.run(transform)).result).error?.code).toBe('ERR_WORKFLOW_DAG_TRANSFORM');
    const output = { properties: { f: { type: 'integer', description: 'd', value: 'x' } } };
    const constructed = define('- {id: a, tool: t.a}', { output });
    expect((await (await engine.run(constructed)).result).error?.code).toBe('ERR_WORKFLOW_DAG_OUTPUT');
  });
});

describe('the output of a workflow', () => {
  async function constructed(output: unknown, params = {}): Promise<unknown> {
    const definition = define('- {id: a, tool: t.a}\n- {id: s, tool: t.a, condition: "false"}', { output });
    const result = await (
      await createEngine({ tools: fakeTools({ 't.a': () => answer }), validation: false }).run(definition, params)
    ).result;
    return result.status === 'completed' ? result.output : result.error?.message;
  }

  it('has the properties that the definition describes, with their types', async () => {
    const output = await constructed({
      properties: {
        text: { type: 'string', description: 'd', value: 'n={{.steps.a.output.note}}' },
        count: { type: 'integer', description: 'd', value: '{{.workflow.step_count}}' },
        size: { type: 'integer', description: 'd', value: '{{.steps.a.output.total}}' },
        ratio: { type: 'number', description: 'd', value: '0.5' },
        flag: { type: 'boolean', description: 'd', value: '{{eq .workflow.status "completed"}}' },
        list: { type: 'array', description: 'd', value: '{{json .steps.a.output.items}}' },
        nested: {
          type: 'object',
          description: 'd',
          properties: { deep: { type: 'object', description: 'd', value: '{"a":{"b":1}}' } },
        },
        whole: { type: 'number', description: 'd', from: '.steps.a.output.total' },
        skipped: { type: 'string', description: 'd', value: '{{.steps.s.output.note}}', default: 5 },
      },
      required: ['text', 'nested'],
    });
    expect(output).toEqual({
      text: 'n=n',
      count: 1,
      size: 1_234_567,
      ratio: 0.5,
      flag: true,
      list: answer.items,
      nested: { deep: { a: { b: 1 } } },
      whole: 1_234_567,
      skipped: '5',
    });
    expect(Object.keys(output as object).slice(0, 3)).toEqual(['text', 'count', 'size']);
  });

  it('fails the run where a property cannot be made, and says which', async () => {
    const one = (property: unknown, required: string[] = []): unknown => ({ properties: { f: property }, required });
    const cases: [unknown, string][] = [
      [
        one({ type: 'integer', description: 'd', value: 'x' }),
        'output construction failed: failed to construct output property "f": cannot coerce "x" to integer',
      ],
      [
        one({ type: 'object', description: 'd', properties: { g: { type: 'array', description: 'd', value: '{}' } } }),
        'property "f.g": failed to deserialize JSON array',
      ],
      [
        one({ type: 'string', description: 'd', value: '{{.steps.a.output.note.deeper}}' }),
        'failed to expand template',
      ],
    ];
    for (const [output, message] of cases) expect(await constructed(output)).toContain(message);
  });

  it('takes the default on every failure, converted', async () => {
    const output = await constructed({
      properties: {
        i: { type: 'integer', description: 'd', value: 'x', default: 3.9 },
        s: { type: 'string', description: 'd', value: '{{.steps.a.output.note.deeper}}', default: { a: 1 } },
        b: { type: 'boolean', description: 'd', value: '{{.params.none}}', default: 'true' },
        o: { type: 'object', description: 'd', value: 'x', default: '{"k":1}' },
        t: { type: 'string', description: 'd', value: 'x {{.steps.a.output.nothing}}', default: 'unused' },
      },
    });
    expect(output).toEqual({ i: 3, s: 'map[a:1]', b: true, o: { k: 1 }, t: 'x <no value>' });
  });

  it('is that of the step which completed last where none is described', async () => {
    const tools = fakeTools({ 't.a': () => ({ from: 'a' }), 't.b': () => ({ from: 'b' }) });
    const definition = define(
      '- {id: a, tool: t.a}\n- {id: b, tool: t.b}\n- {id: c, tool: t.a, dependsOn: [b], condition: "false"}',
    );
    expect((await (await createEngine({ tools }).run(definition)).result).output).toEqual({ from: 'b' });
  });
});
