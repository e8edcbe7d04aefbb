import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compileSchema } from '@thv/workflow-dag';
import type { JsonObject } from '@thv/workflow-dag';
import { beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { openInProcess } from './support/in-process.js';
import { root } from './support/thv.js';

const good = `name: greet
description: Says hello twice
steps:
  - {id: first, tool: everything.echo, arguments: {message: hello}}
  - {id: second, tool: everything.echo, dependsOn: [first], arguments: {message: "{{.steps.first.output.text}}"}}
`;
const broken = `compositeTools:
  - name: greet
    description: Says hello
    steps:
      - {id: fetch_logs, tool: a.b, condition: "{{.params.on}}"}
      - id: use
        tool: a.b
        dependsOn: [fetch_log]
        arguments: {count: "{{.steps.fetch_logs.output.count}}"}
  - name: other
    description: Is fine
    steps: [{id: a, tool: a.b}]
`;

let thv: Awaited<ReturnType<typeof openInProcess>>;
beforeEach(async () => {
  thv = await openInProcess();
});

/** Runs a command with a file on stdin. */
const on = async (text: string, ...args: string[]) => thv(['workflow', ...args], { input: text });

describe('workflow validate', () => {
  it('tells place, severity, message, remedy and rule of every finding', async () => {
    const { code, stdout } = await on(broken, 'validate', '-');
    expect(code).toBe(1);
    expect(stdout.split('\n')).toEqual([
      '-:8:21 error   compositeTools[0].steps[1].dependsOn references unknown step "fetch_log" (did you mean "fetch_logs"?)  [workflow/unknown-dependency]',
      '-:9:28 error   compositeTools[0].steps[fetch_logs].defaultResults[count] is required: step "fetch_logs" may be skipped and field "count" is referenced by step use (add count to the defaultResults of step "fetch_logs")  [workflow/missing-default]',
      '-:9:28 warning compositeTools[0].steps[1].arguments[count] reads .steps.fetch_logs, but the step does not depend on it: it may run before (add "fetch_logs" to its dependsOn)  [workflow/missing-dependency]',
      '3 problems (2 errors, 1 warning)',
      '',
    ]);
  });

  it('says what is valid, and looks at one workflow alone on request', async () => {
    expect(await on(good, 'validate', '-')).toMatchObject({ code: 0, stdout: '- is valid: greet (2 steps)\n' });
    expect(await on(broken, 'validate', '-', 'other')).toMatchObject({
      code: 0,
      stdout: '- is valid: other (1 step)\n',
    });
    expect(await on(broken, 'validate', '-', 'othr')).toMatchObject({
      code: 1,
      stderr: 'error: - has no workflow "othr" (did you mean "other"?)\nTry: one of: greet, other\n',
    });
  });

  it('takes warnings for errors with --strict', async () => {
    const doubtful = good.replace('dependsOn: [first], ', '');
    expect(await on(doubtful, 'validate', '-')).toMatchObject({ code: 0 });
    const { code, stdout } = await on(doubtful, 'validate', '-', '--strict');
    expect(code).toBe(1);
    expect(stdout).toContain('1 problem (1 error, 0 warnings)');
  });

  it('prints JSON and SARIF for programs', async () => {
    const json = JSON.parse((await on(broken, 'validate', '-', '--format', 'json')).stdout) as Record<string, unknown>;
    expect(json).toMatchObject({
      valid: false,
      file: '-',
      workflows: [
        { name: 'greet', valid: false, steps: 2 },
        { name: 'other', valid: true, steps: 1 },
      ],
      issues: [{ code: 'workflow/unknown-dependency', line: 8, column: 21, value: 'fetch_log', stepId: 'use' }, {}, {}],
    });
    const sarif = JSON.parse((await on(broken, 'validate', '-', '--format', 'sarif')).stdout) as Record<
      string,
      unknown
    >;
    expect(sarif).toMatchObject({
      version: '2.1.0',
      runs: [
        {
          tool: { driver: { name: 'thv', rules: [{ id: 'workflow/unknown-dependency' }, {}, {}] } },
          results: [
            {
              ruleId: 'workflow/unknown-dependency',
              level: 'error',
              locations: [{ physicalLocation: { region: { startLine: 8, startColumn: 21 } } }],
            },
            {},
            {},
          ],
        },
      ],
    });
  });

  it('prints the status block as YAML', async () => {
    const { code, stdout } = await on(good, 'validate', '-', '--format', 'yaml');
    expect(code).toBe(0);
    expect(parse(stdout)).toMatchObject({
      status: {
        validationStatus: 'Valid',
        observedGeneration: 1,
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'WorkflowValidated', status: 'True' },
        ],
      },
    });
    const invalid = await on(broken, 'validate', '-', 'greet', '--format', 'yaml');
    expect(invalid.code).toBe(1);
    expect(parse(invalid.stdout)).toMatchObject({
      status: {
        validationStatus: 'Invalid',
        validationErrors: [
          'compositeTools[0].steps[1].dependsOn references unknown step "fetch_log"',
          expect.any(String),
        ],
      },
    });
  });

  it('refuses what is no workflow and what is not there', async () => {
    expect(await on('a: 1', 'validate', '-')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('- has no workflow') as string,
    });
    expect(await on('a: [', 'validate', '-')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('-:1:5 error   the file is no YAML') as string,
    });
    expect(await thv(['workflow', 'validate', 'nowhere.yaml'])).toMatchObject({
      code: 1,
      stderr: 'error: nowhere.yaml cannot be read: it does not exist\nTry: check the path\n',
    });
  });

  it('lets no control characters of the file through', async () => {
    const { stdout } = await on('name: "a\\e[31m"\ndescription: d\nsteps: [{id: s, tool: t}]\n', 'validate', '-');
    expect(stdout).toContain('name must match');
    expect(stdout).not.toContain('\u001b');
  });
});

describe('workflow graph', () => {
  it.each([
    ['text', /^greet\nlevel 1\n {2}first .*\nlevel 2\n {2}second .*after first\n/],
    ['mermaid', /^flowchart TD\n {2}s0\["first<br\/>everything\.echo"\]/],
    ['dot', /^digraph "greet" \{/],
    ['svg', /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/],
    ['json', /"total_levels": 2/],
  ])('draws as %s', async (format, expected) => {
    const { code, stdout } = await on(good, 'graph', '-', '--format', format);
    expect(code).toBe(0);
    expect(stdout).toMatch(expected);
  });

  it('needs a name where the file has several workflows, and a plan that exists', async () => {
    expect((await on(broken, 'graph', '-')).stderr).toContain('the input has 2 workflows; name one of: greet, other');
    expect(await on(broken, 'graph', '-', 'greet')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('references unknown step "fetch_log"') as string,
    });
    expect((await on(broken, 'graph', '-', 'other')).stdout).toContain('1 step in 1 level');
  });
});

describe('schema', () => {
  it.each([
    ['workflow', 'examples/workflows/workflow.schema.json', 'examples/workflows/incident.yaml'],
    ['servers', 'examples/servers.schema.json', 'examples/servers.yaml'],
  ])('of %s is the one that the examples follow', async (name, schemaFile, exampleFile) => {
    const { stdout } = await thv(['schema', name]);
    const schema = JSON.parse(stdout) as JsonObject;
    expect(schema).toEqual(JSON.parse(await readFile(join(root, schemaFile), 'utf8')));
    const example = await readFile(join(root, exampleFile), 'utf8');
    expect(example.split('\n')[0]).toMatch(/^# yaml-language-server: \$schema=\.\/[a-z]+\.schema\.json$/);
    const compiled = compileSchema(schema);
    expect('check' in compiled ? compiled.check(parse(example)) : compiled.problems).toEqual([]);
  });

  it.each(['incident', 'approval'])('the example %s is valid without a warning', async (name) => {
    const path = join(root, `examples/workflows/${name}.yaml`);
    const { code, stdout } = await thv(['workflow', 'validate', path, '--strict']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\S+ is valid: /) as string });
  });
});

describe('workflow validate on a file', () => {
  it('names the file as it was given', async () => {
    const path = join(root, 'examples/workflows/incident.yaml');
    const copy = join((await import('node:os')).tmpdir(), `thv-workflow-${process.pid}.yaml`);
    await writeFile(copy, (await readFile(path, 'utf8')).replace('tool: everything.echo', 'tool: echo'));
    const { stdout } = await thv(['workflow', 'validate', copy]);
    expect(stdout).toContain(`${copy}:28:13 error   spec.steps[0].tool must be in format 'workload.tool_name'`);
  });
});
