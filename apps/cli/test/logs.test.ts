import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openLogFile } from '@thv/workloads';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostile, openThv } from './support/thv.js';
import type { Thv } from './support/thv.js';

let thv: Thv;

beforeAll(async () => {
  thv = await openThv();
  await thv.ok(['run', '--name', 'talker', '--', ...hostile({ stderrLines: ['first', 'second'] })]);
});

afterAll(async () => {
  await thv.close();
});

describe('logs', () => {
  it('prints what the server wrote, and what the proxy did', async () => {
    expect(await thv.ok(['logs', 'talker'])).toBe('first\nsecond');
    const proxy = (await thv.ok(['logs', 'talker', '--proxy']))
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(proxy.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['starting', 'ready']));
    expect(proxy[0]).toMatchObject({
      component: 'proxy',
      server: 'talker',
      time: expect.stringMatching(/^\d{4}-/) as unknown,
    });
  });

  it('follows until Ctrl-C, over rotation', async () => {
    const following = thv.start(['logs', 'talker', '-f']);
    await following.says('second');
    const path = join(thv.home.env['XDG_DATA_HOME'] ?? '', 'toolhive/logs/servers/talker.log');
    const log = openLogFile(path, { maxBytes: 100, keep: 9 });
    for (let line = 0; line < 30; line += 1) log.write(`line ${line}\n`);
    log.write('the end\n');
    log.close();
    await following.says('the end\n');
    following.child.kill('SIGINT');
    const { code, stdout } = await following.finished;
    expect(code).toBe(130);
    const lines = Array.from({ length: 30 }, (_, line) => `line ${line}\n`);
    expect(stdout).toBe(`first\nsecond\n${lines.join('')}the end\n`);
  });

  it('prune removes the logs of servers that are gone, and no other', async () => {
    const logs = join(thv.home.env['XDG_DATA_HOME'] ?? '', 'toolhive/logs');
    await mkdir(join(logs, 'servers'), { recursive: true });
    for (const name of ['gone.log', 'servers/gone.log', 'servers/gone.log.1', 'servers/older.log.2', 'notes.txt']) {
      await writeFile(join(logs, name), 'x');
    }
    const { stdout, stderr } = await thv.run(['logs', 'prune']);
    const removed = ['gone.log', 'servers/gone.log', 'servers/older.log'].map(
      (name) => `Removed: ${join(logs, name)}\n`,
    );
    expect(stdout).toBe(removed.join(''));
    expect(stderr).toBe('Successfully pruned 3 log file(s)\n');
    expect(await thv.json(['logs', 'prune'])).toEqual({ removed: [] });
    expect(await thv.ok(['logs', 'talker'])).toContain('the end');
  });

  it('suggests the name that was meant', async () => {
    const missing = await thv.run(['logs', 'talkre']);
    expect(missing.stderr).toContain('did you mean "talker"?');
  });
});
