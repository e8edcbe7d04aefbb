import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBench } from './support/bench.js';
import type { Bench } from './support/bench.js';

const here = fileURLToPath(new URL('.', import.meta.url));
// Inside the package, so that the native database is found from there.
const program = join(here, `../.tmp/worker-${process.pid}.mjs`);
const roots: string[] = [];
const ROUNDS = 200;

beforeAll(async () => {
  // One file starts in a fraction of the time, and there are hundreds of starts.
  await build({
    entryPoints: [join(here, 'support/worker.ts')],
    outfile: program,
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['@thv/source'],
    external: ['better-sqlite3'],
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url); const __filename = new URL(import.meta.url).pathname;",
    },
    logLevel: 'error',
  });
});
afterAll(() => {
  rmSync(program, { force: true });
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

function newRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'thv-crash-'));
  roots.push(root);
  return root;
}

function start(
  root: string,
  mode: string,
  rounds: number,
  seed: number,
): { readonly child: ChildProcess; readonly ready: Promise<void>; readonly ended: Promise<number | null> } {
  const child = spawn(process.execPath, [program, root, mode, String(rounds), String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ready = Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), once(child, 'exit')]).then(
    () => undefined,
  );
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  return { child, ready, ended };
}

/** Folders of skills in the project, and whatever else lies beside them. */
function skillFolders(bench: Bench): string[] {
  return ['.claude/skills', '.cursor/skills'].flatMap((folder) => {
    const path = join(bench.project, folder);
    return existsSync(path) ? readdirSync(path).map((name) => `${folder}/${name}`) : [];
  });
}

/** After a crash: the lock parses, sync says what differs, repairs it, and nothing is left that nobody knows. */
async function checkAfterCrash(bench: Bench, round: number): Promise<void> {
  const where = `round ${round}`;
  const names = bench.lock().skills.map(({ name }) => name);
  const found = await bench.service.sync({ project_root: bench.project, check: true });
  const told = [...found.already_current, ...found.drifted, ...found.missing].toSorted();
  expect(told, where).toEqual(names.toSorted());
  const repaired = await bench.service.sync({ project_root: bench.project, prune: true });
  expect(repaired.failed, where).toEqual([]);
  const after = await bench.service.sync({ project_root: bench.project, check: true });
  const lock = bench.lock().skills.map(({ name }) => name);
  expect(after, where).toMatchObject({ already_current: lock, drifted: [], missing: [], removed_from_lock: [] });
  expect(skillFolders(bench).toSorted(), where).toEqual(
    lock.flatMap((name) => [`.claude/skills/${name}`, `.cursor/skills/${name}`]).toSorted(),
  );
}

describe('a process that is killed', () => {
  it('leaves a lock that parses and files that sync repairs, 200 times', async () => {
    const root = newRoot();
    await using bench = await openBench({ root });
    let midway = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const { child, ready, ended } = start(root, 'all', 1_000, round + 1);
      await ready;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 120));
      child.kill('SIGKILL');
      await ended;
      if (
        readdirSync(join(root, 'state')).includes('skills-journal') &&
        readdirSync(join(root, 'state/skills-journal')).length > 0
      )
        midway += 1;
      if (existsSync(join(bench.project, 'toolhive.lock.yaml'))) await checkAfterCrash(bench, round);
    }
    // A kill that always misses would prove nothing.
    expect(midway).toBeGreaterThan(20);
  }, 280_000);
});

describe('two processes at once', () => {
  it('lose no entry in 100 rounds of installing and syncing', async () => {
    const root = newRoot();
    const workers = ['left', 'right'].map((mode) => start(root, mode, 100, 1));
    expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual([0, 0]);
    await using bench = await openBench({ root });
    const names = ['left', 'right'].flatMap((mode) => [0, 1, 2, 3, 4].map((index) => `${mode}-${index}`));
    expect(bench.lock().skills.map(({ name }) => name)).toEqual(names);
    expect(await bench.service.sync({ project_root: bench.project, check: true })).toMatchObject({
      already_current: names,
      failed: [],
    });
  }, 280_000);
});
