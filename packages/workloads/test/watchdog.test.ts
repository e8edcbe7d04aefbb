import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isAlive, processGroup, until } from '@thv/doubles';
import { afterEach, describe, expect, it } from 'vitest';
import { openWatchdog } from '../src/index.js';

const fixture = fileURLToPath(new URL('fixtures/guarded.ts', import.meta.url));
const toEnd: number[] = [];
const parents: ChildProcess[] = [];

afterEach(() => {
  for (const parent of parents.splice(0)) parent.kill('SIGKILL');
  for (const pid of toEnd.splice(0)) {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It is gone, as it should be.
    }
  }
});

async function startGuarded(script: string) {
  const parent = spawn(process.execPath, ['--conditions=@thv/source', '--import', 'tsx', fixture, 'sh', '-c', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  parents.push(parent);
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pids = JSON.parse(line.toString()) as { child: number; other: number; watchdog: number };
  toEnd.push(pids.child, pids.other, pids.watchdog);
  return { parent, ...pids };
}

describe.skipIf(process.platform === 'win32')('the watchdog', () => {
  it.each([
    ['that waits in a shell', 'sleep 300 & echo up; wait'],
    ['that ignores SIGTERM', "trap '' TERM INT HUP; sleep 300 & sleep 300 & echo up; wait; wait"],
    ['whose leader is gone', 'sleep 300 >/dev/null & echo up; exit 0'],
  ])('ends a group %s within two seconds of a SIGKILL of its parent', async (_, script) => {
    const { parent, child, other, watchdog } = await startGuarded(script);
    const before = performance.now();
    parent.kill('SIGKILL');
    await until('the group is gone', () => processGroup(child).length === 0);
    expect(performance.now() - before).toBeLessThan(2000);
    await until('the watchdog is gone', () => !isAlive(watchdog));
    expect(isAlive(other), 'a group that was taken back lives on').toBe(true);
  });

  it('ends nothing when it is let go', async () => {
    const { parent, child, watchdog } = await startGuarded('sleep 300 & echo up; wait');
    parent.stdin.write('close\n');
    await once(parent.stdout, 'data');
    await until('the watchdog is gone', () => !isAlive(watchdog));
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    expect(isAlive(child)).toBe(true);
  });

  it('is started again when it is killed, and still knows its groups', async () => {
    const troubles: string[] = [];
    const watchdog = openWatchdog({ onTrouble: (message) => troubles.push(message) });
    const child = spawn('sleep', ['300'], { detached: true, stdio: 'ignore' });
    child.unref();
    toEnd.push(child.pid ?? 0);
    watchdog.watch(child.pid ?? 0);
    const first = watchdog.pid ?? 0;
    process.kill(first, 'SIGKILL');
    await until('it is started again', () => watchdog.pid !== undefined && watchdog.pid !== first);
    expect(troubles).toEqual(['The watchdog ended and is started again']);
    const second = watchdog.pid ?? 0;
    watchdog.close();
    watchdog.close();
    await until('the watchdog is gone', () => !isAlive(second));
    expect(isAlive(child.pid ?? 0)).toBe(true);
  });
});
