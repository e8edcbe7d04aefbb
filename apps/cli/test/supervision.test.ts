import { readdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { isAlive, processesNaming, until } from '@thv/doubles';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { everything, hostile, openThv, root } from './support/thv.js';
import type { Thv } from './support/thv.js';

let thv: Thv;
let serial = 0;

beforeAll(async () => {
  thv = await openThv();
});

afterEach(async () => {
  await thv.run(['rm', '--all']);
});

afterAll(async () => {
  await thv.close();
});

interface Status {
  readonly status: string;
  readonly health?: string;
  readonly pid: number;
  readonly restarts?: number;
  readonly url: string;
}

const statusOf = async (name: string): Promise<Status> => thv.json<Status>(['status', name]);

/** A text that is in the command line of one server alone. */
function marker(): string {
  serial += 1;
  return `marker-${process.pid}-${serial}`;
}

async function filesOf(name: string): Promise<string[]> {
  const all = await readdir(thv.home.home, { recursive: true });
  return all.filter((path) => path.includes(name));
}

const onLinux = describe.skipIf(process.platform !== 'linux');

onLinux('a supervisor that is killed with SIGKILL', () => {
  const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');
  const cases: [string, (mark: string) => { command: readonly string[]; cwd?: string }][] = [
    ['a plain server', (mark) => ({ command: [...everything, mark] })],
    ['a server behind sh -c', (mark) => ({ command: ['sh', '-c', `${quoted([...everything, mark])}; true`] })],
    [
      'a server behind npx',
      (mark) => ({ command: ['npx', '--no', 'mcp-server-everything', 'stdio', mark], cwd: root }),
    ],
    [
      'a server that ignores signals and the end of its input',
      (mark) => ({
        command: [
          ...hostile({ ignoreSignals: ['SIGTERM', 'SIGINT', 'SIGHUP'], ignoreStdinEnd: true, grandchild: {} }),
          mark,
        ],
      }),
    ],
  ];

  it.each(cases)('leaves no child of %s, is noticed, and comes back on the same port', async (_, commandOf) => {
    const mark = marker();
    const { command, cwd } = commandOf(mark);
    const url = await thv.ok(['run', '--name', 'victim', '--', ...command], cwd === undefined ? {} : { cwd });
    const { pid } = await statusOf('victim');
    expect(processesNaming(mark).length).toBeGreaterThan(0);

    process.kill(pid, 'SIGKILL');
    const killed = performance.now();
    await until('the list says so', async () => {
      const [entry] = await thv.json<{ status: string; status_context?: string }[]>(['list']);
      return entry?.status === 'unhealthy' && entry.status_context?.includes(`process ${pid} is gone`);
    });
    await until('no child lives', () => processesNaming(mark).length === 0);
    expect(performance.now() - killed).toBeLessThan(2000);
    const call = await thv.run(['mcp', 'list', 'tools', '--server', 'victim']);
    expect(call.code).toBe(1);
    expect(call.stderr).toContain('is not running (status: unhealthy)');

    await thv.ok(['start', 'victim']);
    expect(await statusOf('victim')).toMatchObject({ status: 'running', url });
    expect(await thv.ok(['mcp', 'call', 'echo', '--server', 'victim', '--args', '{"message":"back"}'])).toContain(
      'back',
    );
    await thv.ok(['rm', 'victim']);
    await until('no child lives', () => processesNaming(mark).length === 0);
    expect(await filesOf('victim')).toEqual([]);
  });

  it('while it starts makes run fail, with nothing left', async () => {
    const mark = marker();
    const running = thv.start(['run', '--name', 'early', '--', ...hostile({ initializeDelayMs: 60_000 }), mark]);
    const { pid } = await until('it starts', async () => {
      const status = await thv.run(['status', 'early', '--format', 'json']);
      const found = status.code === 0 ? (JSON.parse(status.stdout) as Partial<Status>) : {};
      return found.pid !== undefined && processesNaming(mark).length > 1 && { pid: found.pid };
    });
    process.kill(pid, 'SIGKILL');
    const { code, stdout, stderr } = await running.finished;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('"early" did not start: its supervising process ended without a word');
    await until('no child lives', () => processesNaming(mark).length === 0);
    expect(await filesOf('early')).toEqual([]);
  });

  it('is cleaned up by stop and rm too', async () => {
    const mark = marker();
    await thv.ok(['run', '--name', 'victim', '--', ...hostile(), mark]);
    process.kill((await statusOf('victim')).pid, 'SIGKILL');
    await until('no child lives', () => processesNaming(mark).length === 0);
    await thv.ok(['stop', 'victim']);
    expect(await thv.json(['list'])).toEqual([]);
    expect(await statusOf('victim')).toMatchObject({ status: 'stopped' });
    await thv.ok(['rm', 'victim']);
    expect(await filesOf('victim')).toEqual([]);
  });
});

onLinux('an orderly end', () => {
  it.each([
    ['sh -c', ['sh', '-c', `"$0" "$@"; true`, ...hostile({ grandchild: {} })]],
    ['a server that ignores SIGTERM', hostile({ ignoreSignals: ['SIGTERM'], ignoreStdinEnd: true })],
  ])('stop leaves no orphan of %s', async (_, command) => {
    const mark = marker();
    await thv.ok(['run', '--name', 'orderly', '--', ...command, mark]);
    await thv.ok(['stop', 'orderly']);
    expect(processesNaming(mark)).toEqual([]);
    await thv.ok(['rm', 'orderly']);
  });

  it('stop with a short timeout kills, and still leaves no orphan', async () => {
    const mark = marker();
    await thv.ok([
      'run',
      '--name',
      'stubborn',
      '--',
      ...hostile({ ignoreSignals: ['SIGTERM'], ignoreStdinEnd: true }),
      mark,
    ]);
    await thv.ok(['stop', 'stubborn', '--timeout', '0']);
    await until('no child lives', () => processesNaming(mark).length === 0, { timeoutMs: 2000 });
    expect(await statusOf('stubborn')).toMatchObject({ status: 'stopped' });
    await thv.ok(['rm', 'stubborn']);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 0],
  ] as const)('run --foreground ends on %s with code %i and can be started again', async (signal, code) => {
    const mark = marker();
    const running = thv.start([
      'run',
      '-f',
      '--name',
      'fore',
      '--',
      'sh',
      '-c',
      '"$0" "$@"; true',
      ...hostile({ stderrLines: ['hello'] }),
      mark,
    ]);
    await running.says('/mcp');
    expect(await statusOf('fore')).toMatchObject({ status: 'running', pid: running.child.pid });
    running.child.kill(signal);
    const { code: ended, stdout, stderr } = await running.finished;
    expect(ended).toBe(code);
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp\n$/);
    expect(stderr).toContain('hello\n');
    expect(processesNaming(mark)).toEqual([]);
    expect(await statusOf('fore')).toMatchObject({ status: 'stopped', url: stdout.trim() });
    await thv.ok(['start', 'fore']);
    expect(await statusOf('fore')).toMatchObject({ status: 'running', url: stdout.trim() });
    await thv.ok(['rm', 'fore']);
  });

  it('a run that is interrupted leaves nothing behind', async () => {
    const mark = marker();
    const running = thv.start(['run', '--name', 'half', '--', ...hostile({ initializeDelayMs: 60_000 }), mark]);
    await until('the server runs', () => processesNaming(mark).some(({ command }) => !command.includes('from-source')));
    running.child.kill('SIGINT');
    expect((await running.finished).code).toBe(130);
    expect(processesNaming(mark)).toEqual([]);
    expect(await filesOf('half')).toEqual([]);
  });
});

describe('a server that ends by itself', () => {
  it('is shown as unhealthy with the next start, while the listener stays', async () => {
    await thv.ok(['run', '--name', 'crashy', '--', ...hostile({ crash: { at: 'call', how: 3 } })]);
    const call = await thv.run(['mcp', 'call', 'echo', '--server', 'crashy', '--args', '{"message":"x"}']);
    expect(call.code).toBe(1);
    const status = await until('it is noticed', async () => {
      const found = await statusOf('crashy');
      return found.status === 'unhealthy' && found;
    });
    expect(status.health).toMatch(/^the server exited with code 3, next start in \d+ s$/);
    expect((await fetch(new URL('/health', status.url))).status).toBe(200);
    const again = await until(
      'it is started again',
      async () => {
        const found = await statusOf('crashy');
        return found.status === 'running' && found;
      },
      { intervalMs: 500, timeoutMs: 20_000 },
    );
    expect(again).toMatchObject({ restarts: 1, pid: status.pid, url: status.url });
    await thv.ok(['rm', 'crashy']);
  });
});

describe('what cannot be started', () => {
  const end = "console.error('first line'); console.error('last words'); process.exit(3)";

  it.each([
    ['a server that exits at once', [process.execPath, '-e', end], /exited with code 3 before it answered/],
    ['a server that closes its output', hostile({ closeStdoutAtStart: true }), /closed its output before it answered/],
    [
      'a server that refuses initialize',
      hostile({ initializeError: { code: -32603, message: 'no way' } }),
      /refused initialize|no way/,
    ],
    ['a command that is not there', ['no-such-program-4711'], /"no-such-program-4711" was not found in PATH/],
  ])('%s is one error, and nothing stays', async (_, command, message) => {
    for (const isolation of ['shared', 'session']) {
      const result = await thv.run(['run', '--name', 'bad', '--isolation', isolation, '--', ...command]);
      expect(result.code).toBe(1);
      expect(result.stdout).toBe('');
      expect(result.stderr).toMatch(message);
      expect(result.stderr.trimEnd().split('\n').at(-1)).toMatch(/^Try: /);
      expect(await thv.json(['list', '--all'])).toEqual([]);
      expect(await filesOf('bad')).toEqual([]);
    }
  });

  it('shows the last lines of stderr', async () => {
    const { stderr } = await thv.run(['run', '--name', 'bad', '--', process.execPath, '-e', end]);
    expect(stderr).toContain('Last lines of its stderr:\n  first line\n  last words\n');
    const json = await thv.run(['run', '--name', 'bad', '--format', 'json', '--', process.execPath, '-e', end]);
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'ERR_WORKLOADS_START' } });
  });

  it('fails the same in the foreground', async () => {
    const result = await thv.run(['run', '-f', '--name', 'bad', '--', process.execPath, '-e', end]);
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toMatch(/last words[^]*error: [^]*exited with code 3[^]*Try: /);
    expect(await filesOf('bad')).toEqual([]);
  });

  it('a name in use stays with its owner', async () => {
    const url = await thv.ok(['run', '--name', 'owner', '--', ...hostile()]);
    const second = await thv.run(['run', '--name', 'owner', '--', ...hostile()]);
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(/^error: a server named "owner" already exists\nTry: thv start owner/);
    expect(await statusOf('owner')).toMatchObject({ status: 'running', url });
    await thv.ok(['stop', 'owner']);
    expect((await thv.run(['run', '--name', 'owner', '--', ...hostile()])).code).toBe(1);
    await thv.ok(['rm', 'owner']);
  });

  it('two runs of one name at once: one wins', async () => {
    const runs = [1, 2].map(async () => thv.run(['run', '--name', 'race', '--', ...hostile()]));
    const codes = (await Promise.all(runs)).map(({ code }) => code);
    expect(codes.toSorted()).toEqual([0, 1]);
    expect(await statusOf('race')).toMatchObject({ status: 'running' });
    await thv.ok(['rm', 'race']);
  });

  it('a busy port is refused, at run and at start', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const refused = await thv.run(['run', '--name', 'late', '--proxy-port', String(port), '--', ...hostile()]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      new RegExp(`port ${port} on 127.0.0.1 is not available: another program listens on it\nTry: `),
    );
    expect(await filesOf('late')).toEqual([]);
    other.close();

    const url = await thv.ok(['run', '--name', 'late', '--proxy-port', String(port), '--', ...hostile()]);
    expect(new URL(url).port).toBe(String(port));
    await thv.ok(['stop', 'late']);
    const again = createServer().listen(port, '127.0.0.1');
    await once(again, 'listening');
    const blocked = await thv.run(['start', 'late']);
    expect(blocked.code).toBe(1);
    expect(blocked.stderr).toContain(`port ${port}`);
    expect(await statusOf('late')).toMatchObject({ status: 'stopped' });
    again.close();
    await thv.ok(['start', 'late']);
    await thv.ok(['rm', 'late']);
  });

  it('a pid that belongs to somebody else now is not taken for the supervisor', async () => {
    await thv.ok(['run', '--name', 'reused', '--', ...hostile()]);
    await thv.ok(['stop', 'reused']);
    const { writeFile } = await import('node:fs/promises');
    const data = join(thv.home.env['XDG_DATA_HOME'] ?? '', 'toolhive');
    await writeFile(join(data, 'pids/toolhive-reused.pid'), `${process.pid}\nanother-boot:1\n`);
    await thv.ok(['start', 'reused']);
    expect(await statusOf('reused')).toMatchObject({ status: 'running' });
    await thv.ok(['rm', 'reused']);
    expect(isAlive(process.pid)).toBe(true);
  });
});
