import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEngine, type ToolResult } from '../src/index.js';
import { define } from './support/define.js';
import { fakeTools } from './support/tools.js';

async function outputOf(
  result: ToolResult,
  structuredValueKey?: string,
): Promise<{ output: unknown; content: unknown; error: string | undefined }> {
  const tools = fakeTools({ 't.a': () => ({ content: undefined, ...result }) });
  const engine = createEngine({ tools, ...(structuredValueKey === undefined ? {} : { structuredValueKey }) });
  const run = await (await engine.run(define('- {id: a, tool: t.a}'))).result;
  return { output: run.steps['a']?.output, content: run.steps['a']?.content, error: run.error?.message };
}

describe('the output of a tool step', () => {
  it('is its structured content where that is an object, and the items stay as content', async () => {
    const found = await outputOf({
      structuredContent: { user: { name: 'Ada' } },
      content: [{ type: 'text', text: '{"user":…}' }],
    });
    expect(found.output).toEqual({ user: { name: 'Ada' } });
    expect(found.content).toEqual({ text: '{"user":…}' });
  });

  it('is otherwise made from the items, by kind', async () => {
    const { output } = await outputOf({
      content: [
        { type: 'text', text: 'one' },
        { type: 'image', data: 'aGk=', mimeType: 'image/png' },
        { type: 'text', text: 'two' },
        { type: 'resource', resource: { uri: 'file:///a', text: 'r' } },
        { type: 'resource', resource: { uri: 'file:///b', blob: 'Ymxi' } },
        { type: 'audio', data: 'x' },
        { type: 'resource_link', uri: 'file:///c' },
        { type: 'image', data: 'aG8=' },
        { type: 'text', text: 'three' },
      ],
    });
    expect(output).toEqual({
      text: 'one',
      text_1: 'two',
      text_2: 'three',
      image_0: 'aGk=',
      image_1: 'aG8=',
      resource: 'r',
      resource_1: 'Ymxi',
    });
  });

  it('ignores structured content that is no object, unless it has a key for it', async () => {
    const list = { structuredContent: [1, 2], content: [{ type: 'text', text: '[1,2]' }] };
    expect((await outputOf(list)).output).toEqual({ text: '[1,2]' });
    expect((await outputOf(list, 'value')).output).toEqual({ text: '[1,2]', value: [1, 2] });
    expect((await outputOf({ structuredContent: { a: 1 } }, 'value')).output).toEqual({ a: 1 });
  });

  it('is empty where the tool gave nothing', async () => {
    expect((await outputOf({ content: [] })).output).toEqual({});
    expect((await outputOf({})).output).toEqual({});
  });

  it('is an error with the text that the tool has for it', async () => {
    const text = async (result: ToolResult): Promise<string | undefined> =>
      (await outputOf({ isError: true, ...result })).error?.replace(/^.*tool execution failed: /, '');
    expect(
      await text({
        content: [
          { type: 'image', data: 'x' },
          { type: 'text', text: '' },
          { type: 'text', text: 'why' },
        ],
      }),
    ).toBe('why');
    expect(await text({ structuredContent: { error: 'struct' } })).toBe('struct');
    expect(await text({ structuredContent: { message: 'msg', error: 7 } })).toBe('msg');
    expect(await text({})).toBe('tool execution error');
  });

  it('is found, or is an error, whatever a tool answers or throws', async () => {
    const items = fc.oneof(
      fc.anything(),
      fc.record({
        type: fc.constantFrom('text', 'image', 'resource', 'audio'),
        text: fc.anything(),
        data: fc.anything(),
        resource: fc.anything(),
      }),
    );
    const results = fc.oneof(
      fc.anything(),
      fc.record({
        content: fc.oneof(fc.anything(), fc.array(items)),
        structuredContent: fc.anything(),
        isError: fc.anything(),
      }),
    );
    await fc.assert(
      fc.asyncProperty(results, fc.boolean(), async (result, throws) => {
        const call = (): Promise<ToolResult> =>
          throws ? Promise.reject(result) : Promise.resolve(result as ToolResult);
        const engine = createEngine({ tools: { resolve: () => ({ name: 'a' }), call } });
        const definition = define(
          '- {id: a, tool: t.a, onError: {action: continue}}\n- {id: b, tool: t.a, dependsOn: [a], arguments: {x: "{{.steps.a.output}}{{.steps.a.content}}"}, onError: {action: continue}}',
        );
        const { status, steps } = await (await engine.run(definition)).result;
        expect(status).toBe('completed');
        expect(['completed', 'failed']).toContain(steps['b']?.status);
      }),
      { numRuns: 300 },
    );
  });
});
