import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import {
  annotationConflicts,
  computeStatus,
  definitionSchema,
  deriveAnnotations,
  drawWorkflow,
  parseDefinition,
  parseFile,
  parseToolReference,
  prepareParameters,
  referencingServers,
  resolveToolReference,
  schemaLine,
  toMcpTool,
  toolReferences,
  workflowsOf,
  type ToolHints,
} from '../src/index.js';
import { STEP_KEYS } from '../src/parse/step.js';
import { WORKFLOW_KEYS } from '../src/parse/workflow.js';
import { parse as parseYaml, parseAllDocuments } from 'yaml';
import { broken } from './support/broken-definitions.js';
import { withSteps } from './support/marked.js';

const features = readFileSync(new URL('fixtures/features.yaml', import.meta.url), 'utf8');
const audit = parseDefinition(features, { name: 'audit_images' });

describe('a drawing', () => {
  it('as text shows levels, steps and what they wait for', () => {
    expect(drawWorkflow(audit, 'text')).toBe(
      [
        'audit_images',
        'level 1',
        '  list_images  registry.list',
        'level 2 (2 in parallel)',
        '  check_each   for each: scanner.scan                       after list_images; may fail',
        '  enrich       intel.lookup                                 after list_images; conditional',
        'level 3',
        '  confirm      ask: File a report for {{.params.service}}?  after check_each, enrich',
        'level 4',
        '  report       tracker.create                               after confirm, check_each, enrich; conditional',
        '5 steps in 4 levels, at most 2 in parallel, 3 alone',
        '',
      ].join('\n'),
    );
  });

  it('as mermaid names steps by number and escapes their text', () => {
    const definition = parseDefinition(withSteps('- {id: end, tool: t}\n- {id: "a\\"<b>", tool: t, dependsOn: [end]}'));
    expect(drawWorkflow(definition, 'mermaid')).toBe(
      'flowchart TD\n  s0["end<br/>t"]\n  s1["a#quot;#lt;b#gt;<br/>t"]\n  s0 --> s1\n',
    );
    expect(drawWorkflow(audit, 'mermaid')).toContain('s1[["check_each<br/>scanner.scan"]]');
  });

  it('as dot quotes everything', () => {
    const definition = parseDefinition(
      withSteps('- {id: "a\\"]; x", tool: t}\n- {id: b, tool: t, dependsOn: ["a\\"]; x"]}'),
    );
    expect(drawWorkflow(definition, 'dot')).toContain('"a\\"]; x" [label="a\\"]; x\\nt"];');
    expect(drawWorkflow(definition, 'dot')).toContain('  "a\\"]; x" -> "b";');
    expect(drawWorkflow(audit, 'dot')).toContain('{ rank=same; "check_each"; "enrich"; }');
  });

  it('as svg is well-formed, has every step and no script', () => {
    const definition = parseDefinition(
      withSteps('- {id: "<script>&\\u0007", tool: t}\n- {id: b, tool: t, dependsOn: ["<script>&\\u0007"]}'),
    );
    const svg = drawWorkflow(definition, 'svg');
    expect(svg).toContain('&lt;script&gt;&amp;\u{FFFD}</text>');
    expect(svg).not.toContain('<script');
    expect(svg.match(/<path d="M/g)).toHaveLength(2);
    const open: string[] = [];
    for (const [, slash, name = '', end] of svg.matchAll(/<(\/?)([a-z]+)[^<>]*?(\/?)>/g)) {
      if (slash === '/') expect(open.pop()).toBe(name);
      else if (end !== '/') open.push(name);
    }
    expect(open).toEqual([]);
  });

  it('as json has levels, statistics and steps', () => {
    const drawn = JSON.parse(drawWorkflow(audit, 'json')) as Record<string, unknown>;
    expect(drawn).toMatchObject({
      name: 'audit_images',
      levels: [['list_images'], ['check_each', 'enrich'], ['confirm'], ['report']],
      stats: { total_levels: 4, total_steps: 5, max_parallelism: 2, sequential_steps: 3 },
    });
    expect(drawn['steps']).toHaveLength(5);
  });

  it('in an unknown format is refused', () => {
    expect(() => drawWorkflow(audit, 'png' as never)).toThrow(
      expect.objectContaining({ code: 'ERR_WORKFLOW_DAG_ARGUMENT' }),
    );
  });
});

describe('a status', () => {
  const now = Date.UTC(2024, 0, 15, 10);

  it('of a valid workflow says so', () => {
    const servers = referencingServers(parseFile(features), audit);
    expect(computeStatus(audit, { now, referencingServers: [...servers, 'another-vmcp'] })).toEqual({
      validationStatus: 'Valid',
      observedGeneration: 3,
      referencingVirtualServers: ['another-vmcp', 'security-vmcp'],
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'WorkflowReady',
          message: 'Workflow is valid and ready to use',
          lastTransitionTime: '2024-01-15T10:00:00Z',
        },
        {
          type: 'WorkflowValidated',
          status: 'True',
          reason: 'ValidationSuccess',
          message: 'All validation checks passed',
          lastTransitionTime: '2024-01-15T10:00:00Z',
        },
      ],
    });
  });

  it('of an invalid one lists every error in one line each', () => {
    const text = features
      .replace('tool: intel.lookup\n      dependsOn: [list_images]', 'tool: lookup\n      dependsOn: [nonexistent]')
      .replace('service: {type: string, description: Service to audit}', 'service: {type: string}');
    const definition = parseDefinition(text, { name: 'audit_images' });
    const before = computeStatus(audit, { now: now - 60_000 });
    const status = computeStatus(definition, { now, generation: 4, previous: before });
    expect(status).toMatchObject({
      validationStatus: 'Invalid',
      observedGeneration: 4,
      validationErrors: [
        "spec.steps[2].tool must be in format 'workload.tool_name'",
        'spec.steps[2].dependsOn references unknown step "nonexistent"',
      ],
      conditions: [
        { type: 'Ready', status: 'False', reason: 'WorkflowNotReady', message: 'Workflow has validation errors' },
        {
          type: 'WorkflowValidated',
          status: 'False',
          reason: 'ValidationFailed',
          message: 'Validation failed with 2 errors',
        },
      ],
    });
    expect(status.conditions[0]?.lastTransitionTime).toBe('2024-01-15T10:00:00Z');
  });

  it('keeps the time of a condition that did not change', () => {
    const before = computeStatus(audit, { now: now - 60_000 });
    expect(computeStatus(audit, { now, previous: before })).toEqual(before);
  });
});

describe('a server', () => {
  it('offers the workflows that it refers to', () => {
    const file = parseFile(features);
    const [server] = file.servers;
    if (server === undefined) throw new Error('no server');
    expect(workflowsOf(server, file).map(({ name }) => name)).toEqual(['audit_images']);
  });

  it('is refused with every missing and every invalid workflow', () => {
    const text = features
      .replace('- name: audit-images', '- name: audit-images\n      - name: audit-image\n      - name: other')
      .replace('timeout: 1h30m', 'timeout: soon');
    const file = parseFile(text);
    const [server] = file.servers;
    if (server === undefined) throw new Error('no server');
    expect(() => workflowsOf(server, file)).toThrow(
      expect.objectContaining({
        code: 'ERR_WORKFLOW_DAG_INVALID',
        message: [
          'Referenced VirtualMCPCompositeToolDefinition audit-images is invalid: spec.timeout: invalid duration: time: invalid duration "soon"',
          'referenced VirtualMCPCompositeToolDefinition "audit-image" not found in namespace "security"',
          'referenced VirtualMCPCompositeToolDefinition "other" not found in namespace "security"',
        ].join('; '),
      }),
    );
  });
});

describe('a workflow as a tool', () => {
  const hints = (table: Readonly<Record<string, ToolHints>>) => (reference: string) => table[reference];
  const safe: ToolHints = { readOnlyHint: true, destructiveHint: false, openWorldHint: false };
  const all = Object.fromEntries(toolReferences(audit).map((reference) => [reference, safe]));

  it('has its parameters as input and its output properties as output', () => {
    expect(toMcpTool(audit)).toEqual({
      name: 'audit_images',
      description: 'Audit the images of a service, ask, and file a report',
      inputSchema: audit.parameters,
      outputSchema: {
        type: 'object',
        properties: {
          report: { type: 'string', description: 'Id of the report' },
          counts: { type: 'object', description: 'Figures', properties: { failed: { type: 'integer' } } },
        },
        required: ['report'],
      },
      annotations: { readOnlyHint: false, destructiveHint: true, openWorldHint: true, title: 'Audit' },
    });
    const bare = parseDefinition(withSteps('- {id: s, type: elicitation, message: m, schema: {type: boolean}}'));
    expect(toMcpTool(bare)).toEqual({ name: 'a', description: 'd', inputSchema: { type: 'object', properties: {} } });
  });

  it('is as harmless as the least harmless of its tools', () => {
    expect(toolReferences(audit)).toEqual(['registry.list', 'scanner.scan', 'intel.lookup', 'tracker.create']);
    expect(deriveAnnotations(audit, hints(all)).floor).toEqual(safe);
    const one = { ...all, 'scanner.scan': { ...safe, readOnlyHint: false } };
    expect(deriveAnnotations(audit, hints(one))).toMatchObject({
      floor: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
      because: { readOnlyHint: ['scanner.scan'] },
    });
  });

  it('must not claim to be safer than its tools', () => {
    const claims = { ...audit, annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: true } };
    expect(annotationConflicts(claims, hints({ ...all, 'intel.lookup': {} }))).toEqual([
      { hint: 'readOnlyHint', stated: true, tools: ['intel.lookup'] },
      { hint: 'destructiveHint', stated: false, tools: ['intel.lookup'] },
    ]);
    expect(annotationConflicts(claims, hints(all))).toEqual([]);
  });
});

describe('the parameters of a run', () => {
  it('get the defaults of the schema, unless they are given', () => {
    expect(prepareParameters(audit, { service: 's' })).toEqual({ service: 's', threshold: 7, enrich: false });
    const free = { name: 'a' };
    expect(prepareParameters(free, { x: 1 })).toEqual({ x: 1 });
    expect(() => prepareParameters(audit, { service: 's', threshold: null })).toThrow('threshold must be number');
  });

  it('are refused with every problem', () => {
    expect(() => prepareParameters(audit, { threshold: 'x', enrich: 1 })).toThrow(
      expect.objectContaining({
        code: 'ERR_WORKFLOW_DAG_PARAMETERS',
        message:
          'Invalid arguments for composite tool "audit_images": must have required property \'service\'; threshold must be number; enrich must be boolean',
      }),
    );
    expect(() => prepareParameters(audit, [] as never)).toThrow(/expected a JSON object/);
    expect(prepareParameters(audit, { threshold: 'x' }, { validate: false })).toMatchObject({ threshold: 'x' });
  });

  it('may be described in draft-07 or 2020-12', () => {
    const tuple = (schema: object) => ({
      name: 'a',
      parameters: { type: 'object', properties: { p: schema } } as never,
    });
    const old = tuple({ type: 'array', items: [{ type: 'string' }], additionalItems: false });
    expect(() => prepareParameters(old, { p: ['a', 'b'] })).toThrow(/p must NOT have more than 1 items/);
    const current = tuple({ type: 'array', prefixItems: [{ type: 'string' }], items: false });
    expect(() => prepareParameters(current, { p: ['a', 'b'] })).toThrow(/p must NOT have more than 1 items/);
    expect(prepareParameters(current, { p: ['a'] })).toEqual({ p: ['a'] });
  });
});

describe('a reference of a tool', () => {
  it.each([
    ['echo', { text: 'echo', tool: 'echo' }],
    ['kubectl.apply', { text: 'kubectl.apply', workload: 'kubectl', tool: 'apply' }],
    ['a.b.c', { text: 'a.b.c', workload: 'a', tool: 'b.c' }],
    ['a_b-c', { text: 'a_b-c', tool: 'a_b-c' }],
    ['a.', undefined],
    ['.a', undefined],
    ['a b', undefined],
    ['', undefined],
  ])('%j is taken apart at its first dot', (text, expected) => {
    expect(parseToolReference(text)).toEqual(expected);
  });

  it('means the offered name first, then backend and original name', () => {
    const tools = [
      { advertised: 'gh_create', workload: 'gh', original: 'create_pr' },
      { advertised: 'gh.create_pr', workload: 'other', original: 'x' },
    ];
    expect(resolveToolReference('gh_create', tools)).toBe(tools[0]);
    expect(resolveToolReference('gh.create_pr', tools)).toBe(tools[1]);
    expect(resolveToolReference('gh.create_pr', tools.slice(0, 1))).toBe(tools[0]);
    expect(resolveToolReference('gh.nothing', tools)).toBeUndefined();
  });
});

describe('the schema of a definition', () => {
  const validate = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true, allErrors: true }).compile(
    definitionSchema,
  );

  it('accepts what is valid, in every form', () => {
    for (const document of parseAllDocuments(features)) {
      expect(validate(document.toJS()), JSON.stringify(validate.errors)).toBe(true);
    }
    expect(validate({ name: 'a', description: 'd', steps: [{ id: 's', tool: 't' }] })).toBe(true);
    expect(validate({ compositeTools: [{ name: 'a', description: 'd', steps: [{ id: 's', tool: 't' }] }] })).toBe(true);
  });

  it('has the keys that the reader has', () => {
    const { $defs } = definitionSchema as unknown as { $defs: Record<'workflow' | 'step', { properties: object }> };
    expect(Object.keys($defs.workflow.properties).toSorted()).toEqual([...WORKFLOW_KEYS].toSorted());
    expect(Object.keys($defs.step.properties).toSorted()).toEqual([...STEP_KEYS].toSorted());
  });

  it.each(
    broken
      .filter(([rule]) =>
        ['workflow/unknown-key', 'workflow/type', 'workflow/duration', 'workflow/step-type'].includes(rule),
      )
      .map(([rule, file, message]) => [rule, message, file] as const),
  )('finds %s as well: %s', (rule, message, file) => {
    const ambiguous = message.includes('cannot have both');
    expect(validate(parseYaml(file.replace('‸', '')))).toBe(ambiguous);
  });

  it('is named in the first line of a generated file', () => {
    expect(schemaLine('./workflow.schema.json')).toBe('# yaml-language-server: $schema=./workflow.schema.json');
  });
});
