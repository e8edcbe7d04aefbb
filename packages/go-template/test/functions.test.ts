import {
  extraFunctions,
  parseTemplate,
  type GoValue,
  type TemplateFunction,
  type TemplateFunctions,
} from '@thv/go-template';
import { describe, expect, it } from 'vitest';
import { errorOf } from './support/render.js';

/** A function of any arguments. */
function any(call: (...args: readonly GoValue[]) => GoValue): TemplateFunction {
  return { parameters: [], variadic: 'any', call: (args) => call(...args) };
}

const functions: TemplateFunctions = {
  add: { parameters: ['int', 'int'], call: ([a, b]) => (a as bigint) + (b as bigint) },
  join: any((...values) => values.map(String).join('+')),
  upper: { parameters: ['string'], call: ([text]) => (text as string).toUpperCase() },
  choose: { parameters: ['bool', 'any'], variadic: 'any', call: ([first, ...rest]) => rest[first === true ? 0 : 1] },
  half: { parameters: ['float64'], call: ([value]) => (value as number) / 2 },
  now: { parameters: [], call: () => ({ year: 2026n }) },
  nothing: any(() => undefined),
  fail: any(() => {
    throw new TypeError('out of paper');
  }),
};

function render(source: string, data?: unknown): string {
  return parseTemplate(source, { name: 'expand', functions }).execute(data);
}

function failure(source: string, data?: unknown): string {
  return errorOf(() => render(source, data)).message;
}

describe('functions of the caller', () => {
  it.each([
    ['{{add 1 2}}', '3'],
    ['{{1 | add 2}}', '3'],
    ['{{add (add 1 2) (len "abc")}}', '6'],
    ['{{join 1 "a" .x true 2.5 nil}}', '1+a+v+true+2.5+null'],
    ['{{"x" | join}}', 'x'],
    ['{{join}}', ''],
    ['{{upper .x | printf "<%s>"}}', '<V>'],
    ['{{choose true "a" "b"}}{{choose false "a" "b"}}', 'ab'],
    ['{{half 3}} {{half 1e3}} {{half .n}}', '1.5 500 1'],
    ['{{now.year}} {{(now).year}}', '2026 2026'],
    ['{{nothing}}', '<no value>'],
    ['{{.missing | join}}', 'null'],
  ])('%s gives %s', (source, output) => {
    expect(render(source, { x: 'v', n: 2 })).toBe(output);
  });

  it.each([
    ['{{add 1}}', 'wrong number of args for add: want 2 got 1', 'add'],
    ['{{add 1 2 3}}', 'wrong number of args for add: want 2 got 3', 'add'],
    ['{{1 | add 2 3}}', 'wrong number of args for add: want 2 got 3', 'add'],
    ['{{choose true}}', 'wrong number of args for choose: want at least 2 got 1', 'choose'],
    ['{{add 1 "2"}}', 'expected integer; found "2"', '"2"'],
    ['{{add 1 2.5}}', 'expected integer; found 2.5', '2.5'],
    ['{{add 1 .n}}', 'wrong type for value; expected int; got float64', '.n'],
    ['{{add 1 nil}}', 'cannot assign nil to int', 'nil'],
    ['{{add 1 .missing}}', 'invalid value; expected int', '.missing'],
    ['{{half "a"}}', 'expected float; found "a"', '"a"'],
    ['{{half .x}}', 'wrong type for value; expected float64; got string', '.x'],
    ['{{choose 1 2}}', 'expected bool; found 1', '1'],
    ['{{upper true}}', 'expected string; found true', 'true'],
    ['{{fail}}', 'error calling fail: out of paper', 'fail'],
    ['{{print (fail 1)}}', 'error calling fail: out of paper', 'fail 1'],
  ])('%s fails', (source, problem, node) => {
    expect(failure(source, { x: 'v', n: 2 })).toMatch(/^template: expand:1:\d+: executing "expand" at </);
    expect(failure(source, { x: 'v', n: 2 })).toContain(`at <${node}>: ${problem}`);
  });

  it('keep what they threw as the cause', () => {
    const error = errorOf(() => render('{{fail}}'));
    expect(error.cause).toBeInstanceOf(TypeError);
    expect(error.details).toEqual({ template: 'expand', node: 'fail', problem: 'error calling fail: out of paper' });
  });

  it('take the place of builtins of the same name', () => {
    const own = parseTemplate('{{len 1 2}} {{and 0 1}} {{break}}', {
      functions: {
        len: any((...values) => values.length),
        and: any((...values) => values.join('&')),
        break: any(() => 'b'),
      },
    });
    expect(own.execute()).toBe('2 0&1 b');
  });

  it('do not change what other templates may call', () => {
    expect(() => parseTemplate('{{add 1 2}}')).toThrow('template: template:1: function "add" not defined');
    expect(() => parseTemplate('{{json .}}')).toThrow('function "json" not defined');
  });

  it('can report their work', () => {
    const template = parseTemplate('{{range 10}}{{work}}{{end}}', {
      functions: { work: { parameters: [], call: (_args, budget) => (budget.spend(1000), '') } },
    });
    expect(template.execute(null, { maxSteps: 20_000 })).toBe('');
    expect(errorOf(() => template.execute(null, { maxSteps: 5000 })).code).toBe('ERR_GO_TEMPLATE_STEPS');
  });

  it('may run templates themselves', () => {
    const inner = parseTemplate('{{.x.y}}', { name: 'inner' });
    const outer = parseTemplate('{{inner .}}', {
      name: 'outer',
      functions: { inner: any((data) => inner.execute(data)) },
    });
    expect(outer.execute({ x: { y: 1 } })).toBe('1');
    expect(errorOf(() => outer.execute({ x: 1 })).message).toBe(
      'template: outer:1:2: executing "outer" at <inner .>: error calling inner: template: inner:1:4: executing "inner" at <.x.y>: can\'t evaluate field y in type interface {}',
    );
  });

  it.each([
    [{ 'not-a-name': any(() => '') }, 'Expected `functions["not-a-name"]` to be named by an identifier'],
    [{ x: () => '' }, 'to be { parameters, call }, got `'],
    [{ x: 5 }, 'Expected `functions["x"]` to be { parameters, call }, got `5` (number)'],
    [{ x: { parameters: ['text'], call: () => '' } }, 'got `text`'],
    [{ x: { parameters: ['any'] } }, 'to be { parameters, call }'],
  ])('are refused where they are none: %s', (given, message) => {
    const error = errorOf(() => parseTemplate('x', { functions: given as unknown as TemplateFunctions }));
    expect(error.code).toBe('ERR_GO_TEMPLATE_ARGUMENT');
    expect(error.message).toContain(message);
  });

  it('of workflows cannot be changed by accident', () => {
    expect(Object.isFrozen(extraFunctions)).toBe(true);
    expect(Object.keys(extraFunctions)).toEqual(['json', 'fromJson', 'quote']);
  });
});
