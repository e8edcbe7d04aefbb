import { NIL_MAP } from '@thv/go-template';
import { toPublic } from './context.js';
import type { WorkflowDefinition } from './definition.js';
import type { RunStats, RunSummary, WorkflowStatus } from './engine-types.js';
import { WorkflowError } from './errors.js';
import type { WorkflowEvent } from './events.js';
import type { Owner } from './owner.js';
import { buildPlan } from './plan.js';
import type { Clock } from './ports.js';
import type { Run, StepResult, WorkflowResult } from './run-types.js';
import {
  FINAL_STATUSES,
  type ElicitationRecord,
  type RunRecord,
  type RunStatus,
  type StepRecord,
  type Store,
} from './store/port.js';

/** Format of the stored definition. A row with another one was written by another version of this package. */
export const SNAPSHOT_VERSION = 1;
const POLL_MS = 500;

export function summarize(run: RunRecord, now: number, owner: Owner): RunSummary {
  const { id, name, status, createdAt, startedAt, updatedAt, endedAt, error, recoveries, principal, version } = run;
  const durationMs = startedAt === undefined ? 0 : Math.max(0, (endedAt ?? now) - startedAt);
  return {
    runId: id,
    name,
    status,
    createdAt,
    startedAt,
    updatedAt,
    endedAt,
    durationMs,
    error,
    interrupted: isInterrupted(run, now, owner),
    recoveries,
    principal,
    version,
  };
}

function isInterrupted({ status, leaseOwner, leaseExpiresAt }: RunRecord, now: number, owner: Owner): boolean {
  if (FINAL_STATUSES.includes(status)) return false;
  return leaseOwner === undefined || (leaseExpiresAt ?? 0) <= now || !owner.isAlive(leaseOwner);
}

/** How a stored step looks from outside. */
export function stepResult(step: StepRecord): StepResult {
  const endedAt = step.endedAt ?? step.startedAt;
  return {
    stepId: step.stepId,
    status: step.status,
    output: step.output === NIL_MAP ? undefined : toPublic(step.output),
    content: step.content === NIL_MAP || step.content === undefined ? {} : step.content,
    error: step.error,
    startedAt: step.startedAt,
    endedAt,
    durationMs: endedAt - step.startedAt,
    retryCount: step.retryCount,
    fromCache: step.fromCache,
  };
}

function idsOf(steps: readonly StepRecord[], status: StepRecord['status']): readonly string[] {
  return steps.filter((step) => step.status === status).map(({ stepId }) => stepId);
}

function resultsOf(steps: readonly StepRecord[]): Record<string, StepResult> {
  const results = Object.create(null) as Record<string, StepResult>;
  for (const step of steps) results[step.stepId] = stepResult(step);
  return results;
}

/** All that a store knows of a run. */
export function statusOf(
  run: RunRecord,
  records: readonly StepRecord[],
  questions: readonly ElicitationRecord[],
  now: number,
  owner: Owner,
): WorkflowStatus {
  const steps = records.filter(({ iteration }) => iteration < 0);
  return {
    ...summarize(run, now, owner),
    currentSteps: idsOf(steps, 'running'),
    completedSteps: idsOf(steps, 'completed'),
    failedSteps: idsOf(steps, 'failed'),
    skippedSteps: idsOf(steps, 'skipped'),
    pendingElicitations: questions
      .filter(({ state }) => state === 'pending' && !FINAL_STATUSES.includes(run.status))
      .map(({ stepId, message, schema, expiresAt }) => ({ stepId, message, schema, expiresAt })),
    steps: resultsOf(steps),
    params: run.params,
    output: run.output === undefined ? undefined : (toPublic(run.output) as Record<string, unknown>),
    metadata: run.meta,
    stats: buildPlan(run.definition as WorkflowDefinition).stats,
  };
}

/** Counts by status, with zeros where there is none. */
export function statsOf(counts: ReadonlyMap<RunStatus, number>): RunStats {
  const of = (status: RunStatus): number => counts.get(status) ?? 0;
  let total = 0;
  for (const count of counts.values()) total += count;
  return {
    total,
    pending: of('pending'),
    running: of('running'),
    waiting_for_elicitation: of('waiting_for_elicitation'),
    completed: of('completed'),
    failed: of('failed'),
    cancelled: of('cancelled'),
    timed_out: of('timed_out'),
  };
}

async function* noEvents(): AsyncGenerator<WorkflowEvent> {
  // A run of another process tells its events there.
}

/** A run that this engine does not move: over, or under way elsewhere. Its result is read from the store. */
export function watchRun(
  runId: string,
  watch: { readonly store: Store; readonly clock: Clock; readonly signal: AbortSignal },
  cancel: (reason?: string) => Promise<void>,
): Run {
  const result = waitFor(runId, watch);
  result.catch(() => undefined);
  return {
    id: runId,
    result,
    events: { [Symbol.asyncIterator]: noEvents },
    async cancel(reason) {
      await cancel(reason).catch((error: unknown) => {
        if (!WorkflowError.is(error, 'ERR_WORKFLOW_DAG_RUN_FINAL')) throw error;
      });
      return result;
    },
  };
}

async function waitFor(
  runId: string,
  { store, clock, signal }: { readonly store: Store; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<WorkflowResult> {
  for (;;) {
    signal.throwIfAborted();
    const run = await store.getRun(runId);
    if (run === undefined) throw notFound(runId);
    if (FINAL_STATUSES.includes(run.status)) return storedResult(run, await store.getSteps(runId));
    await pause(clock, POLL_MS, signal);
  }
}

function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stop();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const stop = clock.setTimer(delayMs, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

function storedResult(run: RunRecord, records: readonly StepRecord[]): WorkflowResult {
  const steps = records.filter(({ iteration }) => iteration < 0);
  const startedAt = run.startedAt ?? run.createdAt;
  const endedAt = run.endedAt ?? run.updatedAt;
  return {
    runId: run.id,
    name: run.name,
    status: run.status,
    output: (toPublic(run.output) ?? {}) as Record<string, unknown>,
    steps: resultsOf(steps),
    failedSteps: idsOf(steps, 'failed'),
    ...(run.error === undefined ? {} : { error: run.error }),
    startedAt,
    endedAt,
    durationMs: endedAt - startedAt,
    metadata: run.meta,
    stats: buildPlan(run.definition as WorkflowDefinition).stats,
  };
}

/** The refusal for an id that no run has. */
export function notFound(runId: string): WorkflowError {
  return new WorkflowError('ERR_WORKFLOW_DAG_RUN_NOT_FOUND', `workflow not found: workflow ${runId}`, {
    details: { runId },
  });
}
