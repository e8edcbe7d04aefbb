import { WorkflowError } from '@thv/workflow-dag';
import type { RunRecord, RunStatus, RunSummary, WorkflowDefinition, WorkflowStatus } from '@thv/workflow-dag';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { printable } from '../../output/safe-text.js';
import { formatFields, formatTable } from '../../output/table.js';
import { localTime, timeAgo } from '../../output/time.js';
import { openStore, withEngine } from './engine.js';
import { tableOf } from './progress.js';
import { forget, recall } from './remembered.js';
import { execute, howTo } from './run.js';
import type { ExecuteFlags } from './run.js';
import { seconds } from './step-rows.js';
import type { StepRow } from './step-rows.js';

/** Flags of the commands that look at runs. */
export interface RunsFlags {
  readonly store?: string;
  readonly format: 'text' | 'json';
}

/** Flags of `workflow runs list`. */
export interface ListFlags extends RunsFlags {
  readonly status?: RunStatus;
  readonly limit: number;
}

/** `thv workflow runs list`: the newest first. */
export async function listRuns(flags: ListFlags, context: CliContext): Promise<void> {
  const { status, limit } = flags;
  const { runs, cursor } = await withEngine(flags.store, {}, context, async (engine) =>
    engine.list({ limit, ...(status === undefined ? {} : { status: [status] }) }),
  );
  if (flags.format === 'json') return context.json(runs);
  if (runs.length === 0) return context.out('No runs found');
  const now = Date.now();
  context.write(
    formatTable(
      ['ID', 'NAME', 'STATUS', 'STARTED', 'TIME'],
      runs.map((run) => [run.runId, run.name, shown(run), ago(run, now), seconds(run.durationMs)]),
      (cell, column, row) => (column === 2 ? paint(runs[row]?.status, cell, context) : cell),
    ),
  );
  const stranded = runs.find(({ interrupted }) => interrupted);
  if (stranded !== undefined)
    context.note(`To go on with an interrupted run: thv workflow runs resume ${stranded.runId}`);
  if (cursor !== undefined) context.note(`There are more; --limit ${limit * 2} shows them`);
}

/** A run whose process is gone is stored as it was left. */
const shown = ({ status, interrupted }: RunSummary): string => (interrupted ? 'interrupted' : status);

function ago({ createdAt }: RunSummary, now: number): string {
  return timeAgo(new Date(createdAt).toISOString(), now);
}

function paint(status: RunStatus | undefined, text: string, { style }: CliContext): string {
  if (status === 'completed') return style.green(text);
  if (status === 'failed' || status === 'timed_out') return style.red(text);
  return status === 'cancelled' ? style.yellow(text) : style.cyan(text);
}

/** `thv workflow runs show` */
export async function showRun(id: string, flags: RunsFlags, context: CliContext): Promise<void> {
  const run = await findRun(id, flags.store, context);
  const status = await withEngine(flags.store, {}, context, async (engine) => engine.status(run.id));
  if (flags.format === 'json') return context.json(status);
  const iso = (time: number | undefined): string => (time === undefined ? '' : localTime(new Date(time).toISOString()));
  const fields: [string, string][] = [
    ['Run', status.runId],
    ['Workflow', status.name],
    [
      'Status',
      status.interrupted
        ? `interrupted (was ${status.status}); thv workflow runs resume ${status.runId}`
        : status.status,
    ],
    ['Started', iso(status.startedAt ?? status.createdAt)],
    ['Ended', iso(status.endedAt)],
    ['Time', seconds(status.durationMs)],
    ['Parameters', JSON.stringify(status.params)],
    ['Output', status.output === undefined ? '' : JSON.stringify(status.output)],
    ['Error', status.error === undefined ? '' : `${status.error.message} [${status.error.code}]`],
    ['Recoveries', status.recoveries === 0 ? '' : String(status.recoveries)],
    ...status.pendingElicitations.map(({ stepId, message }): [string, string] => ['Question', `${stepId}: ${message}`]),
  ];
  context.write(formatFields(fields.filter(([, value]) => value !== '')));
  context.out('');
  context.write(tableOf(stepRows(run, status), context));
}

/** Every step of the definition; those that have not begun wait. */
function stepRows(run: RunRecord, status: WorkflowStatus): StepRow[] {
  const { steps } = run.definition as WorkflowDefinition;
  return steps.map(({ id, dependsOn }): StepRow => {
    const result = Object.hasOwn(status.steps, id) ? status.steps[id] : undefined;
    if (result === undefined) {
      const over = status.endedAt !== undefined;
      const note = over ? 'did not run' : dependsOn.length > 0 ? `after ${dependsOn.join(', ')}` : '';
      return { id, status: 'waiting', attempt: '', elapsedMs: undefined, note };
    }
    const asking = status.pendingElicitations.find(({ stepId }) => stepId === id);
    return {
      id,
      status: asking === undefined ? result.status : 'asking',
      attempt: result.status === 'skipped' ? '' : String(result.retryCount + 1),
      elapsedMs: result.durationMs,
      note: asking?.message ?? result.error?.message ?? (result.fromCache ? 'from the cache' : ''),
    };
  });
}

/** `thv workflow runs cancel` */
export async function cancelRun(id: string, flags: RunsFlags, context: CliContext): Promise<void> {
  const run = await findRun(id, flags.store, context);
  if (finals.has(run.status)) throw alreadyOver(run);
  await withEngine(flags.store, {}, context, async (engine) => {
    try {
      await engine.cancel(run.id, 'cancelled from the command line');
    } catch (error) {
      throw explain(error, run);
    }
  });
  await forget(run.id, context);
  if (flags.format === 'json') context.json({ runId: run.id, cancelled: true });
  else context.out(`Cancelled ${run.id}`);
}

/** Flags of `workflow runs resume`. */
export interface ResumeFlags extends ExecuteFlags {
  readonly retryFailed?: boolean;
}

/** `thv workflow runs resume`: goes on with a run whose process is gone, with the servers and answers that it had. */
export async function resumeRun(id: string, flags: ResumeFlags, context: CliContext): Promise<void> {
  const run = await findRun(id, flags.store, context);
  const how = { ...(await recall(run.id, context)), ...howTo(flags, context) };
  const { retryFailed = false } = flags;
  if (finals.has(run.status) && !(run.status === 'failed' && retryFailed)) throw alreadyOver(run);
  await execute(run.definition as WorkflowDefinition, how, flags, context, async (engine) => {
    try {
      return await engine.resume(run.id, { retryFailed });
    } catch (error) {
      throw explain(error, run);
    }
  });
}

function explain(error: unknown, run: RunRecord): unknown {
  if (WorkflowError.is(error, 'ERR_WORKFLOW_DAG_BUSY')) {
    return new CliError('ERR_CLI_INPUT', `run ${run.id} is being run by another process`, {
      hint: `thv workflow runs show ${run.id}`,
      cause: error,
    });
  }
  return WorkflowError.is(error, 'ERR_WORKFLOW_DAG_RUN_FINAL') ? alreadyOver(run, error) : error;
}

const finals: ReadonlySet<RunStatus> = new Set(['completed', 'failed', 'cancelled', 'timed_out']);

function alreadyOver({ id, status }: RunRecord, cause?: unknown): CliError {
  return new CliError('ERR_CLI_INPUT', `run ${id} is over: ${status}`, {
    hint: status === 'failed' ? `thv workflow runs resume ${id} --retry-failed` : `thv workflow runs show ${id}`,
    cause,
  });
}

const pageSize = 200;
const maxPages = 50;

/** A run by its id, or by a beginning of it that no other run has. */
async function findRun(id: string, path: string | undefined, context: CliContext): Promise<RunRecord> {
  const store = await openStore(path, context);
  try {
    const exact = id === '' ? undefined : await store.getRun(id);
    if (exact !== undefined) return exact;
    const found: RunRecord[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page += 1) {
      const { runs, cursor: next } = await store.listRuns({ limit: pageSize, cursor });
      found.push(...runs.filter((run) => id !== '' && run.id.startsWith(id)));
      cursor = next;
      if (next === undefined) break;
    }
    const [first] = found;
    if (found.length === 1 && first !== undefined) return first;
    const message = found.length === 0 ? `there is no run "${id}"` : `"${id}" is the beginning of ${found.length} runs`;
    throw new CliError('ERR_CLI_INPUT', printable(message), { hint: 'thv workflow runs list' });
  } finally {
    await store.close();
  }
}

/** The ids of all runs, for the shell. */
export async function runIds(context: CliContext): Promise<readonly string[]> {
  const store = await openStore(undefined, context);
  try {
    const { runs } = await store.listRuns({ limit: pageSize });
    return runs.map(({ id }) => id);
  } finally {
    await store.close();
  }
}
