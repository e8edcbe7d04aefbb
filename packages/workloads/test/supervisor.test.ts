import { hostileServer, openSession, processesNaming, until } from '@thv/doubles';
import type { HostileScript } from '@thv/doubles';
import { describe, expect, it } from 'vitest';
import { createRunConfigStore, createStatusStore, superviseWorkload } from '../src/index.js';
import type {
  HostOptions,
  OpenHost,
  Paths,
  RunConfig,
  StatusRecord,
  SuperviseOptions,
  SupervisorReport,
} from '../src/index.js';
import { configOf, temporaryPaths } from './support.js';

async function save(changes: Partial<RunConfig> = {}): Promise<Paths> {
  const paths = await temporaryPaths();
  await createRunConfigStore(paths).create(configOf('a', changes));
  return paths;
}

const serverOf = (script: HostileScript): Pick<RunConfig, 'command' | 'cmd_args'> => {
  const { command, args } = hostileServer(script);
  return { command, cmd_args: args };
};

/** Supervises in the background; `report` resolves with its word, `stop` ends it. */
function supervise(paths: Paths, options: Partial<SuperviseOptions> = {}) {
  const controller = new AbortController();
  const events: [string, Readonly<Record<string, unknown>>][] = [];
  let onReport: (report: SupervisorReport) => void = () => undefined;
  const report = new Promise<SupervisorReport>((resolve) => {
    onReport = resolve;
  });
  const outcome = superviseWorkload('a', {
    paths,
    env: { PATH: process.env['PATH'] },
    signal: controller.signal,
    report: (word) => onReport(word),
    onEvent: (event, fields) => events.push([event, fields]),
    ...options,
  });
  return {
    report,
    outcome,
    events,
    stop: async () => {
      controller.abort(new Error('stop'));
      return outcome;
    },
  };
}

const statusOf = async (paths: Paths): Promise<StatusRecord | undefined> => createStatusStore(paths).read('a');

describe('a supervised server', () => {
  it('answers at its URL, writes its status, and ends with everything', async () => {
    const paths = await save(serverOf({ stderrLines: ['hello'] }));
    const output: string[] = [];
    const { report, stop, events } = supervise(paths, { onServerOutput: (text) => output.push(text) });
    const word = await report;
    expect(word).toMatchObject({
      kind: 'ready',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/) as unknown,
    });
    const url = word.kind === 'ready' ? word.url : '';
    const running = await until('it runs', async () => {
      const record = await statusOf(paths);
      return record?.status === 'running' && record.children.length === 1 && record;
    });
    expect(running.supervisor?.pid).toBe(process.pid);
    const session = await openSession(url);
    await session.close();
    expect(await stop()).toEqual({ kind: 'stopped' });
    await expect(fetch(url)).rejects.toThrow();
    expect(await statusOf(paths)).toMatchObject({ status: 'stopped', children: [], started_at: '' });
    expect(output).toEqual(['hello\n']);
    expect(events.map(([event]) => event)).toEqual(
      expect.arrayContaining(['starting', 'ready', 'stopping', 'stopped']),
    );
  });

  it('is refused while another one supervises the same name', async () => {
    const paths = await save(serverOf({}));
    const first = supervise(paths);
    await first.report;
    const second = supervise(paths);
    expect(await second.report).toMatchObject({ kind: 'failed', code: 'ERR_WORKLOADS_ALREADY_RUNNING' });
    expect(await second.outcome).toMatchObject({ kind: 'failed' });
    expect(await statusOf(paths)).toMatchObject({ status: 'running' });
    await first.stop();
  });

  it('does not start a server that does not answer in time', async () => {
    const paths = await save(serverOf({ silentMethods: ['initialize'] }));
    const { report, outcome } = supervise(paths, { startTimeoutMs: 300 });
    expect(await report).toMatchObject({ kind: 'failed', code: 'ERR_WORKLOADS_START' });
    expect(await outcome).toMatchObject({ kind: 'failed' });
    expect(await statusOf(paths)).toMatchObject({ status: 'error', children: [] });
  });

  it('can be stopped while it starts', async () => {
    const mark = `mark-${process.pid}-slow`;
    const slow = serverOf({ initializeDelayMs: 60_000 });
    const paths = await save({ ...slow, cmd_args: [...slow.cmd_args, mark] });
    const { report, stop } = supervise(paths);
    await until('the server runs', () => processesNaming(mark).length > 0);
    expect(await stop()).toEqual({ kind: 'stopped' });
    expect(await report).toMatchObject({ kind: 'failed', message: '"a" was stopped while it started' });
    expect(processesNaming(mark)).toEqual([]);
    expect(await statusOf(paths)).toMatchObject({ status: 'stopped' });
  });

  it.each([
    [
      { command: 'no-such-program-4711', cmd_args: [] },
      'ERR_WORKLOADS_COMMAND',
      '"no-such-program-4711" was not found in PATH',
    ],
    [
      { working_dir: '/no/such/folder' },
      'ERR_WORKLOADS_COMMAND',
      'the folder /no/such/folder, in which the server is to run, does not exist',
    ],
    [serverOf({ crash: { at: 'start', how: 7 } }), 'ERR_WORKLOADS_START', 'exited with code 7 before it answered'],
    [
      serverOf({ crash: { at: 'initialize', how: 'SIGKILL' } }),
      'ERR_WORKLOADS_START',
      'was ended by SIGKILL before it answered',
    ],
  ] as const)('tells why %j does not start', async (changes, code, message) => {
    for (const isolation of ['shared', 'session'] as const) {
      const paths = await save({ ...changes, isolation });
      const { report, outcome } = supervise(paths);
      expect(await report).toMatchObject({
        kind: 'failed',
        code,
        message: expect.stringContaining(message) as unknown,
      });
      expect(await outcome).toMatchObject({ kind: 'failed' });
    }
  });

  it('gives each session a process with isolation "session"', async () => {
    const mark = `mark-${process.pid}-pool`;
    const server = serverOf({});
    const paths = await save({ ...server, cmd_args: [...server.cmd_args, mark], isolation: 'session' });
    const { report, stop } = supervise(paths);
    const word = await report;
    const url = word.kind === 'ready' ? word.url : '';
    await until('the first trial is over', () => processesNaming(mark).length === 0);
    const sessions = [await openSession(url), await openSession(url)];
    await until('two processes run', async () => (await statusOf(paths))?.children.length === 2);
    await sessions[0]?.close();
    await until('one is left', () => processesNaming(mark).length === 1);
    await stop();
    expect(processesNaming(mark)).toEqual([]);
  });

  it('writes what a shared server logs into its own log', async () => {
    const paths = await save(serverOf({}));
    const output: string[] = [];
    const { report, stop } = supervise(paths, { onServerOutput: (text) => output.push(text) });
    const word = await report;
    const session = await openSession(word.kind === 'ready' ? word.url : '');
    const params = { level: 'warning', logger: 'db', data: 'two\nlines' };
    await session.callText('notify', { method: 'notifications/message', params });
    await until('it is logged', () => output.includes('[warning] db: two lines\n'));
    await session.close();
    await stop();
  });

  it.each([
    ['100ms', undefined],
    ['never', 'TOOLHIVE_PROXY_REQUEST_TIMEOUT is no positive duration ("never")'],
    ['-1s', 'TOOLHIVE_PROXY_REQUEST_TIMEOUT is no positive duration ("-1s")'],
    ['30', 'TOOLHIVE_PROXY_REQUEST_TIMEOUT is no positive duration ("30")'],
  ])('honours TOOLHIVE_PROXY_REQUEST_TIMEOUT=%s', async (value, warning) => {
    const paths = await save(serverOf({}));
    const { report, stop, events } = supervise(paths, {
      env: { PATH: process.env['PATH'], TOOLHIVE_PROXY_REQUEST_TIMEOUT: value },
    });
    const word = await report;
    const url = word.kind === 'ready' ? word.url : '';
    const warnings = events.filter(([event]) => event === 'warning').map(([, { text }]) => String(text));
    if (warning === undefined) {
      const session = await openSession(url);
      const { message } = await session.request('tools/call', { name: 'no-answer', arguments: {} });
      expect(message?.error?.message).toMatch(/time/i);
      await session.close();
      expect(warnings).toEqual([]);
    } else {
      expect(warnings).toEqual([expect.stringContaining(warning)]);
    }
    await stop();
  });
});

describe('what becomes of a server is written down', () => {
  /** A host whose state the test decides. */
  function fakeHost() {
    let given: HostOptions | undefined;
    let closed = 0;
    const open: OpenHost = async (_, options) => {
      given = options;
      return Promise.resolve({
        port: 4711,
        close: async () => {
          closed += 1;
          return Promise.resolve();
        },
      });
    };
    return { open, options: () => given, closed: () => closed };
  }

  it('as unhealthy while it is down, running when it is back, and error when it is given up', async () => {
    const paths = await save({ port: 4711 });
    const host = fakeHost();
    const { report, outcome } = supervise(paths, { openHost: host.open });
    expect(await report).toMatchObject({ kind: 'ready', url: 'http://127.0.0.1:4711/mcp' });
    const { onState } = host.options() ?? {};
    onState?.({ kind: 'down', reason: 'the server exited with code 3', retryAfterMs: 4200 });
    await until('it is unhealthy', async () => (await statusOf(paths))?.status === 'unhealthy');
    expect((await statusOf(paths))?.status_context).toBe('the server exited with code 3, next start in 5 s');
    onState?.({ kind: 'up', restarts: 1 });
    await until('it is back', async () => (await statusOf(paths))?.status === 'running');
    expect(await statusOf(paths)).toMatchObject({ status_context: '', restarts: 1 });
    onState?.({ kind: 'given-up', reason: 'the server exited with code 3', restarts: 10, stderrTail: [] });
    expect(await outcome).toMatchObject({ kind: 'failed', error: { code: 'ERR_WORKLOADS_START' } });
    expect(await statusOf(paths)).toMatchObject({
      status: 'error',
      status_context: 'the server exited with code 3; given up after 10 restarts',
    });
    expect(host.closed()).toBe(1);
  });

  it('and the time of its creation outlives restarts', async () => {
    const paths = await save();
    const host = fakeHost();
    const first = supervise(paths, { openHost: host.open });
    await first.report;
    await first.stop();
    const created = (await statusOf(paths))?.created_at;
    const second = supervise(paths, { openHost: host.open });
    await second.report;
    await second.stop();
    expect((await statusOf(paths))?.created_at).toBe(created);
  });

  it('is no word about a wrong option', async () => {
    const paths = await save();
    await expect(supervise(paths, { startTimeoutMs: 0 }).outcome).rejects.toMatchObject({
      code: 'ERR_WORKLOADS_ARGUMENT',
    });
  });
});
