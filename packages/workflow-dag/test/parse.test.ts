import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  parseDefinition,
  parseFile,
  printDefinition,
  validateDefinition,
  validateFile,
  WorkflowError,
} from '../src/index.js';
import { oneStep, withSteps } from './support/marked.js';

const features = readFileSync(new URL('fixtures/features.yaml', import.meta.url), 'utf8');

describe('a file', () => {
  it('may hold Kubernetes objects of several kinds, with workflows inside of servers', () => {
    const file = parseFile(features);
    expect(validateFile(file)).toMatchObject({ ok: true, errors: [], warnings: [] });
    expect(file.definitions.map(({ name, form }) => [name, form])).toEqual([
      ['audit_images', 'kubernetes'],
      ['inline_one', 'plain'],
    ]);
    expect(file.servers).toMatchObject([
      { name: 'security-vmcp', namespace: 'security', group: 'team', compositeToolRefs: [{ name: 'audit-images' }] },
    ]);
  });

  it('keeps metadata and fills in defaults', () => {
    const definition = parseDefinition(features, { name: 'audit-images' });
    expect(definition).toMatchObject({
      apiVersion: 'toolhive.stacklok.dev/v1beta1',
      metadata: { name: 'audit-images', generation: 3, labels: { team: 'security' } },
      timeoutMs: 5_400_000,
      failureMode: 'abort',
    });
    const [list, each, enrich, confirm] = definition.steps;
    expect(list).toMatchObject({
      type: 'tool',
      timeoutMs: 300_000,
      onError: { action: 'retry', retryCount: 3, retryDelayMs: 2000, onExhausted: 'abort' },
      cache: { ttlMs: 900_000, scope: 'workflow', mode: 'readwrite' },
      resume: 'auto',
      idempotent: false,
    });
    expect(each).toMatchObject({
      type: 'forEach',
      itemVar: 'image',
      step: { id: 'check_each[]', tool: 'scanner.scan' },
    });
    expect(enrich).toMatchObject({ condition: '{{.params.enrich}}', onError: { action: 'abort', retryCount: 0 } });
    expect(confirm).toMatchObject({
      wrapped: true,
      schema: { type: 'object', properties: { value: { type: 'boolean' } }, required: ['value'] },
      defaultResponse: { value: true },
      onDecline: { action: 'skip_remaining' },
    });
  });

  it('may be JSON, a workflow by itself, or a list in the configuration of a server', () => {
    const workflow = { name: 'a', description: 'd', steps: [{ id: 's', tool: 't', timeout: '5s' }] };
    const list = { name: 'vmcp', groupRef: 'team', incomingAuth: { type: 'anonymous' }, compositeTools: [workflow] };
    const parsed = [
      parseDefinition(JSON.stringify(workflow)),
      parseDefinition(workflow),
      parseDefinition(list),
      parseDefinition(JSON.stringify(list, undefined, '\t')),
    ];
    for (const definition of parsed) expect(definition).toEqual(parsed[0]);
    const broken = { ...list, compositeTools: [workflow, { ...workflow, name: 'b', steps: [{ id: 's' }] }] };
    expect(validateFile(parseFile(broken)).errors.map(({ message }) => message)).toEqual([
      'compositeTools[1].steps[0].tool is required when type is tool',
    ]);
  });

  it('reads one form alone on request', () => {
    const both = `${features}\n---\nname: plain\ndescription: d\nsteps: [{id: s, tool: t}]\n`;
    expect(parseFile(both, { format: 'config' }).definitions.map(({ name }) => name)).toEqual(['plain']);
    expect(parseFile(both, { format: 'crd' }).definitions.map(({ name }) => name)).toEqual([
      'audit_images',
      'inline_one',
    ]);
  });

  it('without a workflow is refused with a remedy', () => {
    const code = 'ERR_WORKFLOW_DAG_NOT_FOUND';
    expect(() => parseDefinition('')).toThrow(expect.objectContaining({ code }));
    expect(() => parseDefinition('name: x\ngroupRef: y\n')).toThrow(/add an object of kind/);
    expect(() => parseDefinition(features, { name: 'audit_image' })).toThrow(/did you mean "audit_images"\?/);
    expect(() => parseDefinition('compositTools: []')).toThrow(
      /unknown key "compositTools"; did you mean "compositeTools"/,
    );
    expect(validateFile(parseFile('- a\n- b')).errors[0]?.message).toBe('a document must be a mapping');
  });

  it('with several workflows needs a name', () => {
    expect(() => parseDefinition(features)).toThrow(
      expect.objectContaining({
        code: 'ERR_WORKFLOW_DAG_AMBIGUOUS',
        details: { names: ['audit_images', 'inline_one'] },
      }),
    );
    expect(parseDefinition(features, { name: 'inline_one' }).steps).toHaveLength(1);
  });

  it('that is no YAML is refused with the line', () => {
    expect(() => parseDefinition('a: 1\nb: [')).toThrow(
      expect.objectContaining({
        code: 'ERR_WORKFLOW_DAG_SYNTAX',
        message: expect.stringMatching(/^line 2, column \d+: /) as string,
      }),
    );
  });

  it('that is neither text nor an object is refused', () => {
    for (const input of [undefined, null, 5, true]) {
      expect(() => parseDefinition(input)).toThrow(expect.objectContaining({ code: 'ERR_WORKFLOW_DAG_ARGUMENT' }));
    }
    expect(() => parseDefinition({ name: 'a', steps: [{ id: 's', tool: () => 1 }] })).toThrow(
      '/steps/0/tool is no JSON value',
    );
    const circular: Record<string, unknown> = { name: 'a' };
    circular['steps'] = circular;
    expect(() => parseDefinition(circular)).toThrow(expect.objectContaining({ code: 'ERR_WORKFLOW_DAG_SYNTAX' }));
  });

  it('may use anchors, within bounds', () => {
    const shared = withSteps(
      '- id: a\n  tool: t\n  onError: &again {action: retry, maxRetries: 2}\n- id: b\n  tool: t\n  onError: *again',
    );
    expect(parseDefinition(shared).steps[1]).toMatchObject({ onError: { action: 'retry', retryCount: 2 } });
    const many = `name: a\ndescription: d\nsteps: [{id: s, tool: t, arguments: {x: &x 1, l: [${'*x, '.repeat(101)}]}}]`;
    expect(parseFile(many).issues.map(({ code }) => code)).toEqual(['workflow/alias']);
    const bomb = Array.from(
      { length: 30 },
      (_, i) => `k${i}: &k${i} [${i === 0 ? '1' : `*k${i - 1}, *k${i - 1}`}]`,
    ).join('\n');
    expect(parseFile(bomb).issues.map(({ code }) => code)).toEqual(['workflow/alias']);
  });

  it('is bounded in size and depth', () => {
    expect(parseFile('x'.repeat(100), { limits: { maxBytes: 50 } }).issues[0]?.message).toContain('too large');
    expect(parseFile('['.repeat(50_000)).issues[0]?.code).toBe('workflow/syntax');
    expect(parseFile(`a: ${'- '.repeat(20_000)}`).issues[0]?.code).toBe('workflow/syntax');
    expect(parseFile(`a:\n${'  - [1,2,3]\n'.repeat(500)}`, { limits: { maxNodes: 100 } }).issues[0]?.message).toContain(
      'more than 100 values',
    );
  });

  it('takes numbers as floats and keeps strange keys as data', () => {
    const [step] = parseDefinition(
      oneStep('arguments: {hex: 0x10, big: 12345678901234567890, __proto__: {a: 1}, constructor: x, 7: y}'),
    ).steps;
    const values = step?.type === 'tool' ? step.arguments : {};
    expect(Object.entries(values)).toEqual([
      ['7', 'y'],
      ['hex', 16],
      ['big', 12_345_678_901_234_567_000],
      ['__proto__', { a: 1 }],
      ['constructor', 'x'],
    ]);
    expect(Object.getPrototypeOf(values)).toBe(Object.prototype);
  });

  it('guesses the type of a step from its message, and nothing else', () => {
    const [asked] = parseDefinition(withSteps('- {id: s, message: m, schema: {type: object, properties: {}}}')).steps;
    expect(asked).toMatchObject({ type: 'elicitation', wrapped: false });
  });
});

describe('a printed definition', () => {
  it('is read back as it was', () => {
    for (const definition of parseFile(features).definitions) {
      const again = parseDefinition(printDefinition(definition));
      expect(again).toEqual(definition);
      expect(printDefinition(again)).toEqual(printDefinition(definition));
    }
  });

  it('is what a copy is validated by', () => {
    const definition = parseDefinition(features, { name: 'audit_images' });
    const copy = JSON.parse(JSON.stringify(definition)) as typeof definition;
    expect(validateDefinition(copy)).toEqual({ ok: true, errors: [], warnings: [] });
    const broken = { ...copy, steps: copy.steps.map((step) => ({ ...step, dependsOn: ['nowhere'] })) };
    expect(validateDefinition(broken).errors[0]?.message).toBe(
      'spec.steps[0].dependsOn references unknown step "nowhere"',
    );
    expect(() => validateDefinition({ name: 'a' } as never)).toThrow(
      expect.objectContaining({ code: 'ERR_WORKFLOW_DAG_ARGUMENT' }),
    );
  });

  it('of any shape is read back as it was', () => {
    const name = fc.constantFrom('a', 'b', 'c1');
    const onError = fc.record(
      { action: fc.constantFrom('abort', 'continue'), maxRetries: fc.nat(5) },
      { requiredKeys: [] },
    );
    const step = fc.record(
      {
        id: name,
        tool: fc.constantFrom('w.t', 'x'),
        condition: fc.constantFrom('{{true}}', '{{.params.x}}'),
        timeout: fc.integer({ min: 1, max: 5_000_000 }).map((ms) => `${ms}ms`),
        dependsOn: fc.uniqueArray(name),
        arguments: fc.dictionary(fc.string(), fc.jsonValue({ noUnicodeString: false })),
        defaultResults: fc.dictionary(fc.string(), fc.jsonValue()),
        onError,
        resume: fc.constantFrom('auto', 'retry', 'skip'),
      },
      { requiredKeys: ['id', 'tool'] },
    );
    const workflow = fc.record({
      name,
      description: fc.constant('d'),
      steps: fc.array(step, { minLength: 1, maxLength: 5 }),
    });
    fc.assert(
      fc.property(workflow, (made) => {
        // JSON has no negative zero.
        const input = JSON.parse(JSON.stringify(made)) as unknown;
        const definition = parseDefinition(input);
        expect(parseDefinition(printDefinition(definition))).toEqual(definition);
        expect(parseDefinition(JSON.stringify(input))).toEqual(definition);
      }),
    );
  });
});

describe('garbage', () => {
  it('never crashes the reader', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'ab:-[]{}&*!|>\'"#%\n\t ?,') })),
        (text) => {
          expect(Array.isArray(validateFile(parseFile(text)).errors)).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('in place of any value of a definition is reported, never thrown', () => {
    const lines = features.split('\n');
    const junk = fc.constantFrom(
      '[',
      '{',
      '5',
      '"x',
      '[[]]',
      '{a: {}}',
      'null',
      '*x',
      '!!binary aGk=',
      '- -',
      '|',
      'true',
    );
    fc.assert(
      fc.property(fc.nat(lines.length - 1), junk, (index, value) => {
        const text = lines.with(index, (lines[index] ?? '').replace(/:\s.*$/, `: ${value}`)).join('\n');
        const { errors } = validateFile(parseFile(text));
        for (const issue of errors) expect(issue.message).toMatch(/./);
      }),
      { numRuns: 400 },
    );
  });

  it('as an object is reported or refused with an error of this package', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        try {
          validateFile(
            parseFile({ name: value, description: value, steps: [value, { id: value, tool: value, onError: value }] }),
          );
        } catch (error) {
          expect(WorkflowError.is(error)).toBe(true);
        }
      }),
      { numRuns: 300 },
    );
  });
});
