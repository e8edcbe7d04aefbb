import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { until } from '@thv/doubles';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../src/cli.js';
import { openThv, root } from './support/thv.js';
import type { Thv } from './support/thv.js';

const server = fileURLToPath(new URL('support/counting-server.mjs', import.meta.url));
let thv: Thv;
let calls: string;
let gate: string;
let servers: string;

beforeEach(async () => {
  thv = await openThv();
  calls = join(thv.home.home, 'calls');
  gate = join(thv.home.home, 'gate');
  servers = await file('servers.yaml', {
    servers: { counting: { command: process.execPath, args: [server], env: { CALLS_FILE: calls, GATE_FILE: gate } } },
  });
});

afterEach(async () => {
  await thv.close();
});

async function file(name: string, value: unknown): Promise<string> {
  const path = join(thv.home.home, name);
  await writeFile(path, JSON.stringify(value));
  return path;
}

const callsMade = async (): Promise<string[]> => (await readFile(calls, 'utf8')).trim().split('\n');
const workflow = (steps: readonly object[], rest: object = {}) => ({
  name: 'sample',
  description: 'A sample',
  steps,
  ...rest,
});
const run = (path: string, ...rest: string[]): string[] => ['workflow', 'run', path, '--servers', servers, ...rest];
const count = { tool: 'counting.count' };

describe('workflow run', () => {
  it('calls the tools of a server, prints the output on stdout and the steps on stderr', async () => {
    const incident = join(root, 'examples/workflows/incident.yaml');
    const args = [
      '--args',
      '{"incident_id":"I-7","time_range":"1h"}',
      '--servers',
      join(root, 'examples/servers.yaml'),
    ];
    const { code, stdout, stderr } = await thv.run(['workflow', 'run', incident, ...args], { cwd: root });
    expect(stderr).toMatch(/^Run [0-9a-f-]{36}\n/);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      report: expect.stringContaining('I-7') as string,
      notified: 'nobody was told',
      figures: 2,
    });
    for (const line of [
      /^fetch_logs {2}completed {2}1 {2}\d+\.\ds$/m,
      /^weigh {2}completed .* 2 done$/m,
      /^notify {2}skipped/m,
    ]) {
      expect(stderr).toMatch(line);
    }
  });

  it('runs the workflow of the guide, whose answer decides what follows', async () => {
    const shopping = join(root, 'examples/workflows/shopping.yaml');
    expect(await thv.run(['workflow', 'validate', shopping], { cwd: root })).toMatchObject({
      code: 0,
      stdout: expect.not.stringContaining('warning') as string,
    });
    const answers = await file('answers.json', { limit: { euros: 30 } });
    const args = ['--args', '{"prices":[3,8]}', '--servers', join(root, 'examples/servers.yaml'), '--answers', answers];
    const { code, stdout } = await thv.run(['workflow', 'run', shopping, ...args], { cwd: root });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      goods: 2,
      results: [{ item: 3, output: { text: expect.stringContaining('4') as string } }, { item: 8 }],
      order: expect.stringContaining('at most 30 euros') as string,
    });
  });

  it('passes parameters and variables, and gives one JSON object on request', async () => {
    const path = await file(
      'w.json',
      workflow([{ id: 'a', ...count, arguments: { n: '{{.params.n}}', who: '{{.vars.who}}' } }]),
    );
    const { code, stdout, stderr } = await thv.run(
      run(path, '--args', '{"n": 5}', '--vars', '{"who": "me"}', '--format', 'json'),
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'completed',
      output: { text: 'count done' },
      stats: { total_steps: 1 },
    });
    expect(await callsMade()).toEqual(['count {"n":5,"who":"me"}']);
  });

  it('uses the running servers of this program without a servers file', async () => {
    await thv.ok(['run', '--name', 'counting', '-e', `CALLS_FILE=${calls}`, '--', process.execPath, server]);
    const path = await file('w.json', workflow([{ id: 'a', ...count }]));
    expect(JSON.parse(await thv.ok(['workflow', 'run', path]))).toEqual({ text: 'count done' });
  });

  it('ends with an error that names the step when a step fails', async () => {
    const path = await file('w.json', workflow([{ id: 'a', tool: 'counting.fail' }]));
    const { code, stdout, stderr } = await thv.run(run(path));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /error: workflow "sample" failed: .*counting\.fail in step a.*no gate\nTry: thv workflow runs show [0-9a-f-]+\n$/,
    );
    const envelope = JSON.parse(
      (await thv.run(run(path, '--format', 'json'))).stderr.split('\n').at(-2) ?? '',
    ) as object;
    expect(envelope).toMatchObject({ error: { code: 'ERR_CLI_WORKFLOW' } });
  });

  it.each([
    [
      'a wrong parameter',
      { parameters: { type: 'object', properties: { n: { type: 'integer' } } } },
      ['--args', '{"n":"x"}'],
      /n must be integer\nTry: --args '\{"n": …\}'/,
    ],
    ['arguments that are no JSON', {}, ['--args', '{'], /--args is no JSON/],
    ['arguments that are no object', {}, ['--args', '[]'], /--args must be a JSON object, got an array/],
    ['variables that are no object', {}, ['--vars', '1'], /--vars must be a JSON object, got number/],
    ['a servers file that is not there', {}, ['--servers', 'nowhere'], /nowhere cannot be read/],
    ['a group beside a file', {}, ['--group', 'g'], /exclude each other/],
    [
      'a tool that does not exist',
      { steps: [{ id: 'a', tool: 'counting.cuont' }] },
      [],
      /"counting\.cuont" does not exist \(did you mean "counting\.count"\?\)/,
    ],
    [
      'a server that does not exist',
      { steps: [{ id: 'a', tool: 'countin.count' }] },
      [],
      /needs server "countin", which is not in .*\nTry: did you mean "counting"\?/,
    ],
    [
      'an invalid workflow',
      { steps: [{ id: 'a', tool: 'x', dependsOn: ['b'] }] },
      [],
      /references unknown step "b".*\nTry: thv workflow validate/,
    ],
  ])('refuses %s before anything runs', async (_, rest, flags, message) => {
    const path = await file('w.json', workflow([{ id: 'a', ...count }], rest));
    const { code, stdout, stderr } = await thv.run(run(path, ...flags));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
    await expect(readFile(calls)).rejects.toThrow('ENOENT');
  });

  it('runs without a file of runs, which then cannot be looked at', async () => {
    const path = await file('w.json', workflow([{ id: 'a', ...count }]));
    await thv.ok(run(path, '--store', 'memory'));
    expect(await thv.ok(['workflow', 'runs', 'list'])).toBe('No runs found');
  });

  it('is cancelled by an interruption, and says so in the list', async () => {
    const path = await file(
      'w.json',
      workflow([
        { id: 'a', ...count },
        { id: 'b', tool: 'counting.wait', dependsOn: ['a'] },
      ]),
    );
    const running = thv.start(run(path));
    await until('there are 2 calls', async () => (await callsMade().catch(() => [])).length === 2);
    running.child.kill('SIGINT');
    expect(await running.finished).toMatchObject({ code: 130, stdout: '' });
    const [last] = await thv.json<{ status: string; runId: string }[]>(['workflow', 'runs', 'list']);
    expect(last?.status).toBe('cancelled');
  });
});

describe('a question', () => {
  const asking = (rest: object = {}) =>
    workflow([
      {
        id: 'ask',
        type: 'elicitation',
        message: 'Go on?',
        schema: {
          type: 'object',
          properties: { yes: { type: 'boolean' }, n: { type: 'integer', default: 2 } },
          required: ['yes'],
        },
        onDecline: { action: 'skip_remaining' },
        ...rest,
      },
      { id: 'a', ...count, dependsOn: ['ask'], arguments: { n: '{{.steps.ask.output.content.n}}' } },
    ]);

  it('is answered by a file', async () => {
    const path = await file('w.json', asking());
    await thv.ok(run(path, '--answers', await file('answers.json', { ask: { yes: true, n: 7 } })));
    expect(await callsMade()).toEqual(['count {"n":7}']);
    const declined = await thv.ok(run(path, '--answers', await file('no.json', { ask: 'decline' })));
    expect(await callsMade()).toHaveLength(1);
    expect(JSON.parse(declined)).toEqual({ action: 'decline', skipped: true });
  });

  it('that nobody can answer is told before anything runs, with its own exit code', async () => {
    const path = await file('w.json', asking());
    const { code, stderr } = await thv.run(run(path));
    expect(code).toBe(4);
    expect(stderr).toContain('step "ask" asks a question, and there is no terminal to ask on\nTry: --answers FILE');
    const later = await file('later.json', asking({ condition: '{{true}}', defaultResults: { content: {} } }));
    expect(await thv.run(run(later))).toMatchObject({ code: 4 });
  });

  it('has its default where there is one', async () => {
    const path = await file('w.json', asking({ defaultResponse: { yes: true, n: 4 } }));
    await thv.ok(run(path));
    expect(await callsMade()).toEqual(['count {"n":4}']);
  });

  it('refuses an answers file that has none', async () => {
    const path = await file('w.json', asking());
    const { stderr } = await thv.run(run(path, '--answers', await file('odd.json', { ask: { action: 'maybe' } })));
    expect(stderr).toContain('the action of "ask" must be accept, decline or cancel, got "maybe"');
  });

  it('refuses an answer to no question, or against the schema, at its line and before any tool is called', async () => {
    const path = await file('w.json', asking());
    const typo = await thv.run(run(path, '--answers', await file('typo.json', { aks: { yes: true } })));
    expect(typo.code).not.toBe(0);
    expect(typo.stderr).toMatch(/typo\.json:\d+: the workflow has no question "aks" \(did you mean "ask"\?\)/);
    const wrong = await thv.run(run(path, '--answers', await file('wrong.json', { ask: { yes: 'perhaps' } })));
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr).toMatch(/wrong\.json:\d+: the answer to "ask" does not fit its schema: yes must be boolean/);
    await expect(callsMade()).rejects.toThrow('ENOENT');
  });

  it('asks a number that is out of range again, and nothing else', async () => {
    const schema = {
      type: 'object',
      properties: { yes: { type: 'boolean' }, n: { type: 'integer', minimum: 1, maximum: 5 } },
      required: ['yes', 'n'],
    };
    const { code, stderr } = await onTerminal(run(await file('w.json', asking({ schema }))), ['y', '9', '3']);
    expect(code).toBe(0);
    expect(stderr.split('yes (y/n): ')).toHaveLength(2);
    expect(stderr).toContain('n (a whole number from 1 to 5): ');
    expect(stderr).toContain('n must be <= 5');
    expect(await callsMade()).toEqual(['count {"n":3}']);
  });

  it('is asked on stderr of a terminal, again where the answer does not fit, and the table is drawn around it', async () => {
    const path = await file('w.json', asking());
    const { code, stdout, stderr } = await onTerminal(run(path), ['maybe', 'y', 'x', '5']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ text: 'count done' });
    expect(stderr).toContain('Go on?');
    expect(stderr).toContain('yes (y/n): ');
    expect(stderr).toContain('Expected y/n.');
    expect(stderr).toContain('n (a whole number, default 2): ');
    expect(stderr).toMatch(/STEP +STATUS +TRY +TIME +NOTE\nask +completed +1 /);
    expect(await callsMade()).toEqual(['count {"n":5}']);
  });

  it('can be declined on a terminal', async () => {
    const path = await file('w.json', asking());
    const { code, stdout } = await onTerminal(run(path), ['!decline']);
    expect({ code, output: JSON.parse(stdout) as object }).toEqual({
      code: 0,
      output: { action: 'decline', skipped: true },
    });
  });
});

/** Runs a command as on a terminal, where somebody types a line for each prompt. */
async function onTerminal(argv: readonly string[], lines: readonly string[]) {
  const typed = [...lines];
  const stdin = Object.assign(new Readable({ read: () => undefined }), { isTTY: true });
  const texts = { stdout: '', stderr: '' };
  const output = (name: keyof typeof texts) => {
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 100, rows: 40 });
    stream.on('data', (chunk: Buffer) => {
      texts[name] += chunk.toString();
      if (name === 'stderr' && chunk.toString().endsWith('): ')) stdin.push(`${typed.shift() ?? '!cancel'}\n`);
    });
    return stream;
  };
  const code = await runCli({
    argv,
    env: { ...thv.home.env, NO_COLOR: '1' },
    cwd: thv.home.home,
    stdin,
    stdout: output('stdout'),
    stderr: output('stderr'),
    signal: new AbortController().signal,
    self: ['/nowhere'],
  });
  return { code, ...texts };
}

describe('workflow runs', () => {
  it('lists runs, and shows one by the beginning of its id', async () => {
    const path = await file(
      'w.json',
      workflow([
        { id: 'a', ...count },
        { id: 'b', ...count, condition: '{{false}}', dependsOn: ['a'] },
      ]),
    );
    await thv.ok(run(path, '--args', '{"k": 1}'));
    expect(await thv.ok(['workflow', 'runs', 'list'])).toMatch(
      /^ID +NAME +STATUS +STARTED +TIME\n[0-9a-f-]{36} +sample +completed +\d+ seconds? ago +\d/,
    );
    const [only] = await thv.json<{ runId: string }[]>(['workflow', 'runs', 'list', '--status', 'completed']);
    const id = only?.runId ?? '';
    const shown = await thv.ok(['workflow', 'runs', 'show', id.slice(0, 8)]);
    expect(shown).toMatch(/Status: +completed\n/);
    expect(shown).toMatch(/Parameters: +\{"k":1\}\n/);
    expect(shown).toMatch(/\na +completed +1 .*\nb +skipped/);
    expect(await thv.json(['workflow', 'runs', 'show', id])).toMatchObject({
      runId: id,
      completedSteps: ['a'],
      skippedSteps: ['b'],
    });
    expect(await thv.ok(['workflow', 'runs', 'list', '--status', 'failed'])).toBe('No runs found');
    expect((await thv.run(['workflow', 'runs', 'show', 'nothing'])).stderr).toContain('there is no run "nothing"');
    expect((await thv.run(['workflow', 'runs', 'cancel', id])).stderr).toContain(`run ${id} is over: completed`);
  });

  it('goes on after SIGKILL with what the run began with, and repeats no completed step', async () => {
    const path = await file(
      'w.json',
      workflow([
        { id: 'a', ...count, arguments: { n: 1 } },
        { id: 'b', tool: 'counting.wait', resume: 'retry', dependsOn: ['a'] },
        { id: 'c', ...count, arguments: { n: 3 }, dependsOn: ['b'] },
      ]),
    );
    const running = thv.start(run(path));
    await until('there are 2 calls', async () => (await callsMade().catch(() => [])).length === 2);
    running.child.kill('SIGKILL');
    await running.finished;
    const [interrupted] = await thv.json<{ runId: string; status: string }[]>(['workflow', 'runs', 'list']);
    expect(interrupted).toMatchObject({ status: 'running', interrupted: true });
    const listed = await thv.run(['workflow', 'runs', 'list']);
    expect(listed.stdout).toMatch(/ interrupted /);
    expect(listed.stderr).toContain(`thv workflow runs resume ${interrupted?.runId ?? ''}`);
    await writeFile(gate, '');
    const { code, stdout, stderr } = await thv.exec(['workflow', 'runs', 'resume', interrupted?.runId ?? '']);
    expect({ code, stdout: JSON.parse(stdout || '{}') as object, stderr }).toMatchObject({
      code: 0,
      stdout: { text: 'count done' },
    });
    expect(await callsMade()).toEqual(['count {"n":1}', 'wait {}', 'wait {}', 'count {"n":3}']);
    const again = await thv.run(['workflow', 'runs', 'resume', interrupted?.runId ?? '']);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is over: completed') as string });
  });

  it('cancels a run whose process is gone, so that it cannot be resumed', async () => {
    const path = await file('w.json', workflow([{ id: 'b', tool: 'counting.wait' }]));
    const running = thv.start(run(path));
    await until('there are 1 calls', async () => (await callsMade().catch(() => [])).length === 1);
    running.child.kill('SIGKILL');
    await running.finished;
    const [interrupted] = await thv.json<{ runId: string }[]>(['workflow', 'runs', 'list']);
    const id = interrupted?.runId ?? '';
    expect(await thv.ok(['workflow', 'runs', 'cancel', id])).toBe(`Cancelled ${id}`);
    expect(await thv.json(['workflow', 'runs', 'show', id])).toMatchObject({ status: 'cancelled' });
    expect((await thv.run(['workflow', 'runs', 'resume', id])).stderr).toContain('is over: cancelled');
  });

  it('runs the failed steps of a failed run again on request', async () => {
    const path = await file(
      'w.json',
      workflow([
        { id: 'a', ...count },
        { id: 'b', tool: 'counting.fail', dependsOn: ['a'] },
      ]),
    );
    await thv.run(run(path));
    const [failed] = await thv.json<{ runId: string }[]>(['workflow', 'runs', 'list']);
    const id = failed?.runId ?? '';
    expect((await thv.run(['workflow', 'runs', 'resume', id])).stderr).toContain(
      `Try: thv workflow runs resume ${id} --retry-failed`,
    );
    await writeFile(gate, '');
    await thv.ok(['workflow', 'runs', 'resume', id, '--retry-failed']);
    expect(await callsMade()).toEqual(['count {}', 'fail {}', 'fail {}']);
  });
});
