import { createServer } from 'node:net';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createClaims, createStatusStore, createWorkloadManager } from '../src/index.js';
import type { Launcher, Paths, ProcessIdentity, ProcessTable, SupervisorReport } from '../src/index.js';
import { configOf, temporaryPaths } from './support.js';

/** Processes that exist in this table alone; what is sent to them is written down. */
class FakeProcesses implements ProcessTable {
  readonly alive = new Map<number, ProcessIdentity>();
  readonly sent: string[] = [];
  /** Signals that a process does not obey. */
  readonly deaf = new Map<number, ReadonlySet<string>>();
  readonly onKill = new Map<number, () => Promise<void>>();

  add(pid: number, startedAt = 'boot:1'): ProcessIdentity {
    const identity = { pid, startedAt };
    this.alive.set(pid, identity);
    return identity;
  }

  async identify(pid: number): Promise<ProcessIdentity | undefined> {
    return Promise.resolve(this.alive.get(pid));
  }

  kill(pid: number, signal: NodeJS.Signals): boolean {
    this.sent.push(`${signal} ${pid}`);
    const target = Math.abs(pid);
    if (this.deaf.get(target)?.has(signal) === true) return true;
    void this.onKill.get(target)?.();
    return this.alive.delete(target);
  }
}

interface Setup {
  readonly paths: Paths;
  readonly processes: FakeProcesses;
  readonly manager: ReturnType<typeof createWorkloadManager>;
}

/** A manager whose supervisors are entries of a table: they claim, write their status, and report. */
async function setUp(answer: (name: string) => SupervisorReport | undefined = ready): Promise<Setup> {
  const paths = await temporaryPaths();
  const processes = new FakeProcesses();
  let pid = 1000;
  const launch: Launcher = async (name) => {
    pid += 1;
    const self = processes.add(pid);
    const report = answer(name);
    const claims = createClaims(paths, processes);
    const statuses = createStatusStore(paths);
    const now = new Date().toISOString();
    const record = { status_context: '', created_at: now, updated_at: now, children: [], restarts: 0 };
    if (report?.kind === 'ready') {
      await claims.take(name, self);
      await statuses.write(name, { ...record, status: 'running', started_at: now, supervisor: self });
      processes.onKill.set(pid, async () => claims.release(name, self));
    } else {
      processes.alive.delete(pid);
    }
    return { pid, report: Promise.resolve(report), cancel: async () => Promise.resolve() };
  };
  return { paths, processes, manager: createWorkloadManager({ paths, launch, processes, pollMs: 1 }) };
}

const ready = (): SupervisorReport => ({ kind: 'ready', url: 'unused', pid: 1 });

describe('run', () => {
  it('chooses a port that no other server has, and keeps it', async () => {
    const { manager } = await setUp();
    const first = await manager.run(configOf('a'));
    const second = await manager.run(configOf('b'));
    expect(first).toMatchObject({ name: 'a', status: 'running', process_id: 1001, tool_type: 'mcp' });
    expect(first.port).toBeGreaterThanOrEqual(10_000);
    expect(second.port).not.toBe(first.port);
    await manager.stop('a');
    expect((await manager.start('a')).url).toBe(first.url);
  });

  it('leaves nothing behind when the server does not start', async () => {
    const failed: SupervisorReport = {
      kind: 'failed',
      code: 'ERR_WORKLOADS_START',
      message: 'it fell',
      stderrTail: ['ouch'],
    };
    const { manager, paths } = await setUp(() => failed);
    await expect(manager.run(configOf('a'))).rejects.toMatchObject({
      code: 'ERR_WORKLOADS_START',
      message: '"a" did not start: it fell\nLast lines of its stderr:\n  ouch',
      details: { stderrTail: ['ouch'] },
    });
    expect(await manager.configs.names()).toEqual([]);
    expect(await readdir(paths.pids).catch(() => [])).toEqual([]);
  });

  it('reports a supervisor that ends without a word, with the end of its log', async () => {
    const { manager, paths } = await setUp(() => undefined);
    const running = manager.run(configOf('a'));
    await expect(running).rejects.toThrow('"a" did not start: its supervising process ended without a word');
    expect(await readdir(paths.runConfigs)).toEqual([]);
  });

  it.each(['ERR_WORKLOADS_COMMAND', 'ERR_WORKLOADS_ALREADY_RUNNING'] as const)(
    'passes %s on as it is',
    async (code) => {
      const { manager } = await setUp(() => ({ kind: 'failed', code, message: 'exactly this', stderrTail: [] }));
      await expect(manager.run(configOf('a'))).rejects.toMatchObject({ code, message: 'exactly this' });
    },
  );

  it('takes another port when the one it chose is gone, and keeps to one that was asked for', async () => {
    let lost = 2;
    const gone: SupervisorReport = { kind: 'failed', code: 'ERR_WORKLOADS_PORT', message: 'gone', stderrTail: [] };
    const { manager } = await setUp(() => (lost-- > 0 ? gone : ready()));
    expect(await manager.run(configOf('a'))).toMatchObject({ status: 'running' });
    lost = 1;
    await expect(manager.run(configOf('b', { port: 47_111 }))).rejects.toThrow('gone');
    lost = 3;
    await expect(manager.run(configOf('b'))).rejects.toMatchObject({ code: 'ERR_WORKLOADS_PORT' });
    expect(await manager.configs.names()).toEqual(['a']);
  });

  it('refuses a group that is not there, a name in use and a busy port before anything is started', async () => {
    const { manager, processes } = await setUp();
    await manager.run(configOf('a'));
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(manager.run(configOf('b', { group: 'web' }))).rejects.toMatchObject({
      code: 'ERR_WORKLOADS_GROUP_NOT_FOUND',
    });
    await expect(manager.run(configOf('a'))).rejects.toMatchObject({ code: 'ERR_WORKLOADS_NAME_IN_USE' });
    await expect(manager.run(configOf('b', { port }))).rejects.toMatchObject({ code: 'ERR_WORKLOADS_PORT' });
    await expect(manager.run(configOf('b', { host: '192.0.2.1' }))).rejects.toMatchObject({
      code: 'ERR_WORKLOADS_PORT',
    });
    server.close();
    expect(processes.alive.size).toBe(1);
  });

  it('takes everything back when it is aborted', async () => {
    const { manager, paths } = await setUp();
    const controller = new AbortController();
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(manager.run(configOf('a'), { signal: controller.signal })).rejects.toBe(reason);
    expect(await readdir(paths.runConfigs).catch(() => [])).toEqual([]);
  });
});

describe('start and stop', () => {
  it('say what is not there, and what runs already', async () => {
    const { manager } = await setUp();
    await expect(manager.start('a')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_NOT_FOUND' });
    await expect(manager.stop('a')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_NOT_FOUND' });
    await expect(manager.remove('../a')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_NAME' });
    await manager.run(configOf('a'));
    await expect(manager.start('a')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_ALREADY_RUNNING' });
    expect(await manager.stop('a')).toBe(true);
    expect(await manager.stop('a')).toBe(false);
    expect((await manager.get('a')).status).toBe('stopped');
  });

  it('ask first, then force, then say that a process does not end', async () => {
    const { manager, processes } = await setUp();
    await manager.run(configOf('a'));
    processes.deaf.set(1001, new Set(['SIGTERM']));
    expect(await manager.stop('a', { timeoutMs: 5 })).toBe(true);
    expect(processes.sent).toEqual(['SIGTERM 1001', 'SIGKILL 1001']);
    await expect(manager.stop('a', { timeoutMs: -1 })).rejects.toMatchObject({ code: 'ERR_WORKLOADS_ARGUMENT' });
  });

  it('give up on a process that cannot be ended at all', { timeout: 20_000 }, async () => {
    const { manager, processes } = await setUp();
    await manager.run(configOf('a'));
    processes.deaf.set(1001, new Set(['SIGTERM', 'SIGKILL']));
    await expect(manager.stop('a', { timeoutMs: 1 })).rejects.toMatchObject({
      code: 'ERR_WORKLOADS_STOP',
      details: { hint: 'kill -9 1001' },
    });
  });

  it('end the groups that a killed supervisor left, and no process that got its number later', async () => {
    const { manager, processes, paths } = await setUp();
    await manager.run(configOf('a'));
    const statuses = createStatusStore(paths);
    const record = await statuses.read('a');
    const left = processes.add(2001);
    processes.add(2002, 'boot:999');
    if (record !== undefined)
      await statuses.write('a', { ...record, children: [left, { pid: 2002, startedAt: 'boot:2' }] });
    processes.alive.delete(1001);
    expect(await manager.get('a')).toMatchObject({
      status: 'unhealthy',
      status_context: expect.stringContaining('process 1001 is gone') as unknown,
    });
    await manager.start('a');
    expect(processes.sent).toEqual(['SIGTERM -2001']);
    expect([...processes.alive.keys()]).toEqual([2002, 1002]);
  });

  it('take no process for the supervisor that only has its number', async () => {
    const { manager, processes } = await setUp();
    await manager.run(configOf('a'));
    processes.add(1001, 'boot:another');
    expect(await manager.get('a')).toMatchObject({ status: 'unhealthy' });
    await manager.stop('a');
    expect(processes.sent).toEqual([]);
    expect(processes.alive.has(1001)).toBe(true);
  });
});

describe('list', () => {
  it('filters by state, group and labels, sorted by name', async () => {
    const { manager } = await setUp();
    await manager.groups.create('web');
    await manager.run(configOf('c', { group: 'web', container_labels: { team: 'x', tier: '1' } }));
    await manager.run(configOf('a'));
    await manager.run(configOf('b', { container_labels: { team: 'x' } }));
    await manager.stop('a');
    const names = async (options: Parameters<typeof manager.list>[0]) =>
      (await manager.list(options)).map(({ name }) => name);
    expect(await names({})).toEqual(['b', 'c']);
    expect(await names({ all: true })).toEqual(['a', 'b', 'c']);
    expect(await names({ all: true, group: 'web' })).toEqual(['c']);
    expect(await names({ labels: { team: 'x' } })).toEqual(['b', 'c']);
    expect(await names({ labels: { team: 'x', tier: '1' } })).toEqual(['c']);
    await manager.moveToGroup('c', 'default');
    expect(await names({ all: true, group: 'web' })).toEqual([]);
    await expect(manager.moveToGroup('c', 'nobody')).rejects.toMatchObject({ code: 'ERR_WORKLOADS_GROUP_NOT_FOUND' });
  });

  it('survives every broken file', async () => {
    const { manager, paths } = await setUp();
    await manager.run(configOf('a'));
    await manager.run(configOf('b'));
    await writeFile(join(paths.runConfigs, 'broken.json'), '{"name":');
    await writeFile(join(paths.runConfigs, 'not a name.json'), '{}');
    await writeFile(join(paths.statuses, 'b.json'), '[]');
    await writeFile(join(paths.runConfigs, 'README'), 'no config');
    const list = await manager.list({ all: true });
    expect(list.map(({ name, status }) => `${name}: ${status}`)).toEqual([
      'a: running',
      'b: running',
      'broken: error',
      'not a name: error',
    ]);
    expect(list[1]?.status_context).toContain('statuses/b.json');
    expect(list[2]?.status_context).toContain('runconfigs/broken.json');
    await manager.remove('broken');
    expect(await manager.configs.names()).toEqual(['a', 'b', 'not a name']);
  });
});

describe('the options', () => {
  it('are checked at the door', async () => {
    const paths = await temporaryPaths();
    const launch: Launcher = async () => Promise.reject(new Error('unused'));
    expect(() => createWorkloadManager({ paths, launch, pollMs: 0 })).toThrow(
      'Expected `pollMs` to be a positive integer, got `0` (number)',
    );
  });

  it('of a launcher that fails make one error', async () => {
    const paths = await temporaryPaths();
    const launch: Launcher = async () => Promise.reject(new Error('spawn EAGAIN'));
    const manager = createWorkloadManager({ paths, launch });
    await expect(manager.run(configOf('a'))).rejects.toMatchObject({
      code: 'ERR_WORKLOADS_START',
      message: '"a" could not be started: spawn EAGAIN',
    });
    expect(await manager.configs.names()).toEqual([]);
  });
});
