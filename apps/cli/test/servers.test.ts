import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { everything, hostile, openThv } from './support/thv.js';
import type { Thv } from './support/thv.js';

interface ListedWorkload {
  readonly name: string;
  readonly status: string;
  readonly status_context?: string;
  readonly url: string;
  readonly port: number;
  readonly group: string;
  readonly labels?: Readonly<Record<string, string>>;
}

let thv: Thv;

beforeAll(async () => {
  thv = await openThv();
});

afterEach(async () => {
  await thv.run(['rm', '--all']);
});

afterAll(async () => {
  await thv.close();
});

const names = async (...args: string[]): Promise<string[]> =>
  (await thv.json<ListedWorkload[]>(['list', ...args])).map(({ name }) => name);

describe('the life of a server', () => {
  it('runs, is listed, called, stopped, started at the same URL, and removed', async () => {
    expect(await thv.ok(['list'])).toBe('No MCP servers found');
    expect(await thv.json(['list'])).toEqual([]);

    const started = await thv.run(['run', '--name', 'everything', '--', ...everything]);
    expect(started.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp\n$/);
    expect(started.stderr).toMatch(
      /^✔ everything {2}http:\/\/127\.0\.0\.1:\d+\/mcp {2}\(streamable-http, .*pid \d+\)$/m,
    );
    const url = started.stdout.trim();

    const table = await thv.ok(['list']);
    expect(table.split('\n')[0]).toMatch(/^NAME +PACKAGE +STATUS +URL +PORT +GROUP +CREATED$/);
    expect(table.split('\n')[1]).toMatch(
      /^everything {3}node index\.js {3}running {3}http\S+ {3}\d+ {3}default {3}\d+ seconds? ago$/,
    );
    const [listed] = await thv.json<ListedWorkload[]>(['ls']);
    expect(listed).toMatchObject({
      name: 'everything',
      package: 'node index.js',
      url,
      port: Number(new URL(url).port),
      tool_type: 'mcp',
      transport_type: 'stdio',
      proxy_mode: 'streamable-http',
      status: 'running',
      group: 'default',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as unknown,
    });
    expect(JSON.parse(await thv.ok(['list', '--format', 'mcpservers']))).toEqual({
      mcpServers: { everything: { url, type: 'streamable-http' } },
    });

    const status = await thv.ok(['status', 'everything']);
    for (const field of ['Name:', 'Status:', 'URL:', 'Port:', 'Transport:', 'Created:', 'PID:', 'Uptime:']) {
      expect(status).toContain(field);
    }
    expect(await thv.json(['status', 'everything'])).toMatchObject({
      status: 'running',
      url,
      transport: 'stdio',
      uptime: '0m',
    });
    expect(await thv.ok(['mcp', 'call', 'echo', '--server', 'everything', '--args', '{"message":"hi"}'])).toBe(
      'Echo: hi',
    );

    expect(await thv.ok(['stop', 'everything'])).toBe('workload everything stopped successfully');
    await expect(fetch(url)).rejects.toThrow();
    expect(await names()).toEqual([]);
    expect(await names('--all')).toEqual(['everything']);
    expect(await thv.ok(['list', '-a'])).toContain('stopped');
    expect(await thv.ok(['status', 'everything'])).toMatch(/^Status: +stopped$/m);
    expect(await thv.ok(['stop', 'everything'])).toBe('workload everything was not running');

    expect(await thv.ok(['start', 'everything'])).toBe('workload everything started successfully');
    expect((await thv.json<ListedWorkload[]>(['list']))[0]?.url).toBe(url);
    expect(await thv.ok(['start', 'everything'])).toBe('workload everything is already running');
    expect(await thv.ok(['restart', 'everything'])).toBe('workload everything restarted successfully');
    expect((await thv.json<ListedWorkload[]>(['list']))[0]?.url).toBe(url);

    expect(await thv.ok(['rm', 'everything'])).toBe('workload everything removed successfully');
    expect(await names('--all')).toEqual([]);
  });

  it('tells the same as one JSON object', async () => {
    const workload = await thv.json<ListedWorkload>([
      'run',
      '--name',
      'one',
      '--label',
      'team=web',
      '--',
      ...hostile(),
    ]);
    expect(workload).toMatchObject({ name: 'one', status: 'running', labels: { team: 'web' } });
    expect(await thv.json(['stop', 'one'])).toEqual({ name: 'one', result: 'stopped' });
    expect(await thv.json(['start', 'one'])).toEqual({ name: 'one', result: 'started' });
    expect(await names('--label', 'team=web')).toEqual(['one']);
    expect(await names('--label', 'team=api')).toEqual([]);
    expect(await thv.json(['rm', 'one'])).toEqual({ name: 'one', result: 'removed' });
  });

  it('makes a name from the command, and counts up', async () => {
    await thv.ok(['run', '--', ...hostile()]);
    await thv.ok(['run', '--', ...hostile()]);
    expect(await names()).toEqual(['hostile-server', 'hostile-server-2']);
    expect(await thv.ok(['stop', 'hostile-server', 'hostile-server-2', 'hostile-server'])).toBe(
      ['workload hostile-server stopped successfully', 'workload hostile-server-2 stopped successfully'].join('\n'),
    );
    expect(await thv.json(['start', '--all'])).toEqual([
      { name: 'hostile-server', result: 'started' },
      { name: 'hostile-server-2', result: 'started' },
    ]);
    const some = await thv.run(['rm', 'hostile-server', 'nobody']);
    expect(some.code).toBe(3);
    expect(some.stdout).toBe('workload hostile-server removed successfully\n');
    expect(some.stderr).toContain('server "nobody" not found');
    expect(await thv.ok(['rm', '--all'])).toBe('workload hostile-server-2 removed successfully');
  });

  it('gives a server its environment, the user’s values first', async () => {
    const file = join(thv.home.home, 'server.env');
    await writeFile(file, 'FROM_FILE=file\nBOTH=file\n');
    const env = { FROM_SHELL: 'shell', SECRET_TOKEN: 'secret' };
    const flags = ['-e', 'BOTH=flag', '-e', 'FROM_SHELL', '-e', 'MCP_TRANSPORT=mine', '--env-file', file];
    await thv.ok(['run', '--name', 'env', ...flags, '--', ...hostile()], { env });
    const wanted = ['FROM_FILE', 'BOTH', 'FROM_SHELL', 'MCP_TRANSPORT', 'SECRET_TOKEN'];
    const call = ['mcp', 'call', 'environment', '--server', 'env', '--args', JSON.stringify({ names: wanted })];
    const text = await thv.ok(call);
    expect(JSON.parse(text)).toMatchObject({
      FROM_FILE: 'file',
      BOTH: 'flag',
      FROM_SHELL: 'shell',
      MCP_TRANSPORT: 'mine',
    });
    expect(text).not.toContain('secret');
    await thv.ok(['rm', 'env']);
  });

  it('exports a configuration that runs again, with mode 0600', async () => {
    await thv.ok([
      'run',
      '--name',
      'original',
      '--isolation',
      'session',
      '-e',
      'A=1',
      '--session-ttl',
      '30m',
      '--',
      ...hostile(),
    ]);
    const file = join(thv.home.home, 'original.json');
    await thv.ok(['export', 'original', file]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const exported = JSON.parse(await readFile(file, 'utf8')) as Record<string, unknown>;
    expect(exported).toMatchObject({
      schema_version: 'v0.1.0',
      name: 'original',
      isolation: 'session',
      env_vars: { A: '1' },
      session_ttl: '30m',
    });
    expect(JSON.parse(await thv.ok(['export', 'original', '-']))).toEqual(exported);
    await thv.ok(['rm', 'original']);
    expect(await thv.ok(['run', '--from-config', file])).toBe(`http://127.0.0.1:${String(exported['port'])}/mcp`);
    await thv.ok(['rm', 'original']);
    const renamed = JSON.stringify({ ...exported, port: 0 });
    await thv.ok(['run', '--from-config', '-', '--name', 'copy'], { input: renamed });
    expect(await names()).toEqual(['copy']);
    await thv.ok(['rm', 'copy']);
  });
});

describe('a broken file', () => {
  it('is one line of the list, named with its remedy, and removable', async () => {
    await thv.ok(['run', '--name', 'good', '--', ...hostile()]);
    await thv.ok(['run', '--name', 'broken', '--', ...hostile()]);
    const state = thv.home.env['XDG_STATE_HOME'] ?? '';
    const path = join(state, 'toolhive/runconfigs/broken.json');
    const config = await readFile(path, 'utf8');
    await writeFile(path, config.slice(0, -5));
    const list = await thv.json<ListedWorkload[]>(['list']);
    expect(list.map(({ name, status }) => [name, status])).toEqual([
      ['broken', 'error'],
      ['good', 'running'],
    ]);
    expect(list[0]?.status_context).toContain(path);
    const status = await thv.run(['status', 'broken']);
    expect(status.code).toBe(1);
    expect(status.stderr).toMatch(new RegExp(`^error: ${path}:\\d+: this is no valid JSON`));
    expect(status.stderr.trimEnd().split('\n').at(-1)).toBe(`Try: correct ${path}, or remove it with: thv rm broken`);
    const json = await thv.run(['start', 'broken', '--format', 'json']);
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'ERR_WORKLOADS_FILE', file: path } });
    await thv.ok(['rm', 'broken']);

    const statusFile = join(thv.home.env['XDG_DATA_HOME'] ?? '', 'toolhive/statuses/good.json');
    await writeFile(statusFile, 'not json');
    const [good] = await thv.json<ListedWorkload[]>(['list']);
    expect(good).toMatchObject({ name: 'good', status: 'running' });
    expect(good?.status_context).toContain(statusFile);
    expect(await thv.ok(['stop', 'good'])).toBe('workload good stopped successfully');
    await thv.ok(['rm', 'good']);
  });
});
