import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { idempotencyKey } from '../src/run-step.js';
import type { RunRecord, StepRecord } from '../src/index.js';
import { openSqliteStore } from '../src/sqlite.js';

const RUNS_A_BATCH = 50;
const BATCHES = 4;
const CALLS_A_RUN = 33;
const directory = mkdtempSync(join(tmpdir(), 'workflow-crash-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const program = fileURLToPath(new URL('support/crash-child.ts', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Runs the program until it ends, or kills it at some moment after so many calls. */
function live(database: string, log: string, killAfter: number | undefined): Promise<'killed' | 'done'> {
  return new Promise((resolve, reject) => {
    // The program tells every fifth call, so that it must go on for some more behind the moment of the kill.
    const most = killAfter === undefined ? Number.POSITIVE_INFINITY : killAfter + 10 + 100 * Math.random();
    const child = fork(program, [database, log, String(RUNS_A_BATCH), String(most)], {
      cwd: root,
      execArgv: ['--conditions=@thv/source', '--import', 'tsx'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    let doomed = false;
    child.on('message', (calls) => {
      if (killAfter === undefined || doomed || (calls as number) < killAfter) return;
      doomed = true;
      // A random number of microseconds more: between two statements, inside a commit, during a call.
      setTimeout(() => child.kill('SIGKILL'), Math.random() * 3);
    });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (signal === 'SIGKILL') resolve('killed');
      else if (code === 0) resolve('done');
      else reject(new Error(`the program ended with ${code ?? signal}`));
    });
  });
}

interface Batch {
  readonly kills: number;
  readonly runs: readonly { readonly run: RunRecord; readonly steps: readonly StepRecord[] }[];
  /** How often the tool was called, by run, step and iteration. */
  readonly calls: ReadonlyMap<string, number>;
}

async function crashBatch(name: string): Promise<Batch> {
  const database = join(directory, `${name}.db`);
  const log = join(directory, `${name}.log`);
  const total = RUNS_A_BATCH * CALLS_A_RUN;
  // The first kill finds every run begun and none over; the later ones come wherever they come.
  const plan = [total * (0.15 + 0.5 * Math.random()), total * 0.3 * Math.random()];
  let kills = 0;
  for (const killAfter of plan) if ((await live(database, log, killAfter)) === 'killed') kills += 1;
  expect(await live(database, log, undefined)).toBe('done');
  const calls = new Map<string, number>();
  for (const line of readFileSync(log, 'utf8').trim().split('\n')) {
    const [run = '', step = '', iteration = '', key] = line.split(' ');
    expect(key).toBe(idempotencyKey(run, step, iteration === '-' ? -1 : Number(iteration)));
    const id = `${run} ${step} ${iteration}`;
    calls.set(id, (calls.get(id) ?? 0) + 1);
  }
  const store = await openSqliteStore(database);
  const page = await store.listRuns({ limit: 1000 });
  const runs = await Promise.all(page.runs.map(async (run) => ({ run, steps: await store.getSteps(run.id) })));
  await store.close();
  return { kills, runs, calls };
}

function checkStep(step: StepRecord, calls: number, place: string): void {
  const inDoubt = step.error?.code === 'ERR_WORKFLOW_DAG_IN_DOUBT' || /died/.test(step.error?.message ?? '');
  if (step.status === 'completed') {
    // Called once, and once more for each time that it was under way when its process died.
    const repeats = step.attempt - 1;
    expect(calls, place).toBeGreaterThanOrEqual(1);
    expect(calls, place).toBeLessThanOrEqual(1 + repeats);
  } else {
    expect(calls, place).toBeLessThanOrEqual(1);
    if (step.status === 'failed') expect(inDoubt, `${place} ${step.error?.message ?? ''}`).toBe(true);
  }
}

describe('200 runs of 30 steps, killed at random moments', () => {
  it('all come to their end, with every completed step called exactly once but for steps in doubt', async () => {
    const batches: Batch[] = [];
    for (let batch = 0; batch < BATCHES; batch += 1) batches.push(await crashBatch(`batch-${batch}`));
    let recovered = 0;
    let inDoubt = 0;
    for (const { kills, runs, calls } of batches) {
      expect(kills).toBeGreaterThanOrEqual(1);
      expect(runs).toHaveLength(RUNS_A_BATCH);
      for (const { run, steps } of runs) {
        expect(run.status).toBe('completed');
        if (run.recoveries > 0) recovered += 1;
        expect(steps.filter(({ iteration }) => iteration < 0)).toHaveLength(30);
        for (const step of steps) {
          if (step.stepId === 'loop' && step.iteration < 0) continue;
          const place = `${run.id} ${step.stepId} ${step.iteration < 0 ? '-' : step.iteration}`;
          if (step.stepId !== 'never') checkStep(step, calls.get(place) ?? 0, place);
          const allowed = ['t.safe', 't.again'].includes(toolOf(step.stepId));
          if (step.attempt > 1) expect(allowed, place).toBe(true);
          if (step.stepId !== 'never' && (step.attempt > 1 || step.status !== 'completed')) inDoubt += 1;
        }
      }
    }
    expect(recovered).toBe(RUNS_A_BATCH * BATCHES);
    // The kills did hit steps under way: otherwise this test would show nothing.
    expect(inDoubt).toBeGreaterThan(RUNS_A_BATCH * BATCHES);
  }, 300_000);
});

function toolOf(stepId: string): string {
  if (stepId === 'end') return 't.safe';
  if (stepId === 'loop' || stepId === 'never') return 't.once';
  return ['t.once', 't.safe', 't.again', 't.skip'][Number(stepId.slice(1)) % 4] ?? '';
}
