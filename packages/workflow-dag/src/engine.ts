import { ActiveRun } from './active-run.js';
import { answerQuestion } from './answers.js';
import { canonicalJson, principalKey, principalOf, sha256 } from './cache.js';
import { repeat, systemClock } from './clock.js';
import { compileWorkflow, resolveTools, tooManySteps, type CompiledWorkflow } from './compile.js';
import type { WorkflowDefinition } from './definition.js';
import type {
  ElicitationAnswer,
  Engine,
  ListOptions,
  ResumeOptions,
  RunStats,
  RunSummary,
  WorkflowStatus,
} from './engine-types.js';
import { WorkflowError } from './errors.js';
import type { JsonObject } from './json.js';
import { LeaseKeeper } from './lease-keeper.js';
import { LiveRuns } from './live-runs.js';
import { checkInteger, type EngineOptions, type RunOptions } from './options.js';
import { processOwner, type Owner } from './owner.js';
import { prepareParameters } from './parameters.js';
import { restoreRun, type RestoredRun } from './resume.js';
import type { RunStart } from './run-start.js';
import type { Run } from './run-types.js';
import type { Scheduling } from './scheduler.js';
import { servicesOf } from './services.js';
import type { Services } from './step-host.js';
import { createMemoryStore } from './store/memory.js';
import { FINAL_STATUSES, type CacheFilter, type Lease, type NewRun, type RunRecord } from './store/port.js';
import { assertValid } from './validate.js';
import { finalError, keyConflict, reopenFailed, takeAbandoned, takeOver } from './take-over.js';
import { notFound, SNAPSHOT_VERSION, statsOf, statusOf, summarize, watchRun } from './stored-run.js';

const PURGE_EVERY_MS = 5 * 60_000;
const PURGE_BATCH = 500;
const HOUR_MS = 3_600_000;
const RECOVERY_MS = 15_000;

/**
 * Makes an engine.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_ARGUMENT`
 */
export function createEngine(options: EngineOptions): Engine {
  return new WorkflowEngine(options);
}

class WorkflowEngine implements Engine {
  readonly #options: EngineOptions;
  readonly #services: Services;
  readonly #owner: Owner;
  readonly #ownsStore: boolean;
  readonly #retentionMs: number;
  readonly #keeper: LeaseKeeper;
  readonly #compiled = new WeakMap<WorkflowDefinition, CompiledWorkflow>();
  readonly #live: LiveRuns;
  readonly #closing = new AbortController();
  #stopRecovery: (() => void) | undefined;
  #purgedAt = 0;
  #closed: Promise<void> | undefined;

  constructor(options: EngineOptions) {
    const { leaseTtlMs = 30_000, clock = systemClock } = options;
    checkInteger('leaseTtlMs', leaseTtlMs);
    const heartbeatMs = options.heartbeatMs ?? Math.max(1, Math.floor(leaseTtlMs / 3));
    checkInteger('heartbeatMs', heartbeatMs);
    if (typeof options.tools?.call !== 'function' || typeof options.tools.resolve !== 'function') {
      throw new WorkflowError('ERR_WORKFLOW_DAG_ARGUMENT', 'Expected `tools` to have the methods `resolve` and `call`');
    }
    this.#options = options;
    this.#ownsStore = options.store === undefined;
    const store = options.store ?? createMemoryStore({ clock });
    this.#services = servicesOf(options, store, leaseTtlMs);
    this.#live = new LiveRuns(this.#services.limits.maxRunsPerPrincipal);
    this.#keeper = new LeaseKeeper(this.#services, heartbeatMs);
    this.#owner = processOwner(this.#services.random.uuid());
    this.#retentionMs = options.retentionMs ?? (store.durable ? 7 * 24 * HOUR_MS : HOUR_MS);
    checkInteger('retentionMs', this.#retentionMs);
  }

  // ---- starting

  async run(definition: WorkflowDefinition, params: JsonObject = {}, options: RunOptions = {}): Promise<Run> {
    this.#refuseWhenClosed();
    options.signal?.throwIfAborted();
    this.#validate(definition);
    const compiled = this.#compile(definition);
    const prepared = prepareParameters(definition, params, { validate: this.#options.validateParams ?? true });
    const principal = principalKey(options.principal);
    const tools = await resolveTools(this.#services.tools, compiled.tools, options.principal);
    options.signal?.throwIfAborted();
    const { clock, random, store, leaseTtlMs } = this.#services;
    const createdAt = clock.now();
    const deadlineAt = createdAt + definition.timeoutMs;
    const scheduling = options.scheduling ?? this.#options.scheduling ?? 'levels';
    const vars = options.vars ?? {};
    const record: NewRun = {
      id: random.uuid(),
      name: definition.name,
      definition,
      schemaVersion: SNAPSHOT_VERSION,
      inputHash: options.idempotencyKey === undefined ? '' : sha256(canonicalJson([definition, prepared, vars])),
      params: prepared,
      vars,
      options: { scheduling, noCache: options.noCache ?? false },
      principal,
      tenant: options.principal?.tenant ?? '',
      idempotencyKey:
        options.idempotencyKey === undefined ? undefined : canonicalJson([principal, options.idempotencyKey]),
      createdAt,
      deadlineAt,
    };
    const claim = { owner: this.#owner.id, ttlMs: leaseTtlMs };
    const release = this.#live.reserve(principal);
    const created = await store.createRun(record, claim).catch((error: unknown) => {
      release();
      throw error;
    });
    if (created.kind === 'exists') {
      release();
      return this.#existing(created.run, record);
    }
    const run = this.#activate({
      compiled,
      services: this.#services,
      lease: created.lease,
      params: prepared,
      vars,
      principal: options.principal,
      scheduling,
      noCache: options.noCache ?? false,
      deadlineAt,
      startedAt: createdAt,
      tools,
      onOver: () => this.#over(record.id, release),
    });
    this.#attach(run, options.signal);
    return run;
  }

  #validate(definition: WorkflowDefinition): void {
    const { validation = {} } = this.#options;
    if (validation === false || this.#compiled.has(definition)) return;
    const { maxSteps } = this.#services.limits;
    if (definition.steps.length > maxSteps) throw tooManySteps(definition.steps.length, maxSteps);
    assertValid(definition, { maxSteps, ...validation });
  }

  #compile(definition: WorkflowDefinition): CompiledWorkflow {
    let compiled = this.#compiled.get(definition);
    if (compiled === undefined) {
      compiled = compileWorkflow(definition, this.#services.limits.maxSteps, this.#services.retryCap);
      this.#compiled.set(definition, compiled);
    }
    return compiled;
  }

  #refuseWhenClosed(): void {
    if (this.#closed !== undefined)
      throw new WorkflowError('ERR_WORKFLOW_DAG_CLOSED', 'The engine is closed. Create another one.');
  }

  /** The run that has the key already: here, over, elsewhere, or left behind by a process that is gone. */
  async #existing(known: RunRecord, wanted: NewRun): Promise<Run> {
    if (known.inputHash !== wanted.inputHash) throw keyConflict(known.id);
    const live = this.#live.get(known.id);
    if (live !== undefined) return live;
    const { store, clock } = this.#services;
    const watched = { store, clock, signal: this.#closing.signal };
    const watch = (): Run => watchRun(known.id, watched, (reason) => this.cancel(known.id, reason));
    if (FINAL_STATUSES.includes(known.status)) return watch();
    return this.resume(known.id).catch((error: unknown) => {
      const taken =
        WorkflowError.is(error, 'ERR_WORKFLOW_DAG_BUSY') || WorkflowError.is(error, 'ERR_WORKFLOW_DAG_RUN_FINAL');
      if (taken) return watch();
      throw error;
    });
  }

  #activate(start: RunStart): ActiveRun {
    const run = new ActiveRun(start);
    this.#live.add(run);
    this.#keeper.add(run);
    run.begin();
    return run;
  }

  #attach(run: ActiveRun, signal: AbortSignal | undefined): void {
    if (signal === undefined) return;
    const abort = (): void => void run.cancel();
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    run.result.catch(() => undefined).finally(() => signal.removeEventListener('abort', abort));
  }

  #over(runId: string, release: () => void): void {
    release();
    const run = this.#live.remove(runId);
    if (run === undefined) return;
    this.#keeper.remove(run);
    const now = this.#services.clock.now();
    if (now - this.#purgedAt < PURGE_EVERY_MS || this.#closed !== undefined) return;
    this.#purgedAt = now;
    this.#services.store
      .purge({ endedBefore: now - this.#retentionMs, limit: PURGE_BATCH })
      .catch((error: unknown) => this.#services.report(error));
  }

  // ---- going on

  async resume(runId: string, options: ResumeOptions = {}): Promise<Run> {
    this.#refuseWhenClosed();
    options.signal?.throwIfAborted();
    const live = this.#live.get(runId);
    if (live !== undefined) return live;
    const record = await this.#record(runId);
    const final = FINAL_STATUSES.includes(record.status);
    const { retryFailed = false } = options;
    const lease = final
      ? await reopenFailed(this.#services, this.#owner, record, retryFailed)
      : await takeOver(this.#services, this.#owner, record);
    const run = await this.#restore(lease);
    this.#attach(run, options.signal);
    return run;
  }

  async #record(runId: string): Promise<RunRecord> {
    if (runId === '') throw new WorkflowError('ERR_WORKFLOW_DAG_ARGUMENT', 'workflow ID is required');
    const record = await this.#services.store.getRun(runId);
    if (record === undefined) throw notFound(runId);
    return record;
  }

  async #restore(lease: Lease, guard = false): Promise<ActiveRun> {
    const { store, clock } = this.#services;
    const record = await this.#record(lease.runId);
    const restored = await restoreRun(store, record);
    if (record.schemaVersion !== SNAPSHOT_VERSION) {
      const message = `definition version unsupported: ${record.schemaVersion}`;
      const error = new WorkflowError('ERR_WORKFLOW_DAG_STORE', message, { details: { runId: record.id } });
      await store.commit(lease, [
        { kind: 'run', status: 'failed', at: clock.now(), error: { code: error.code, message } },
      ]);
      throw error;
    }
    const { maxRecoveries } = this.#services.limits;
    const spent = guard && record.recoveries > maxRecoveries;
    const refusal = spent ? `too many recoveries: ${record.recoveries} (max ${maxRecoveries})` : undefined;
    try {
      return this.#activate({ ...(await this.#startOf(lease, restored)), refusal });
    } catch (error) {
      // Nobody works on it: the next one need not wait for the end of the lease.
      await store.release(lease);
      throw error;
    }
  }

  async #startOf(lease: Lease, restored: RestoredRun): Promise<RunStart> {
    const { run } = restored;
    const definition = run.definition as WorkflowDefinition;
    const compiled = this.#compile(definition);
    const principal = principalOf(run.principal);
    const tools = await resolveTools(this.#services.tools, compiled.tools, principal);
    const release = this.#live.reserve(run.principal, true);
    const extended = this.#services.clock.now() + definition.timeoutMs;
    return {
      compiled,
      services: this.#services,
      lease,
      params: run.params,
      vars: run.vars,
      principal,
      scheduling: (run.options['scheduling'] as Scheduling | undefined) ?? 'levels',
      noCache: run.options['noCache'] === true,
      deadlineAt: this.#options.resumeExtendsDeadline === true ? extended : run.deadlineAt,
      startedAt: run.startedAt ?? run.createdAt,
      tools,
      restored,
      onOver: () => this.#over(run.id, release),
    };
  }

  async recover({ limit = 100 }: { readonly limit?: number } = {}): Promise<readonly Run[]> {
    this.#refuseWhenClosed();
    checkInteger('limit', limit);
    const leases = await takeAbandoned(this.#services, this.#owner, limit);
    const runs: Run[] = [];
    for (const lease of leases) {
      try {
        runs.push(await this.#restore(lease, true));
      } catch (error) {
        this.#services.report(error);
      }
    }
    return runs;
  }

  startRecovery({ intervalMs = RECOVERY_MS }: { readonly intervalMs?: number } = {}): void {
    this.#refuseWhenClosed();
    checkInteger('intervalMs', intervalMs);
    this.#stopRecovery ??= repeat(this.#services, intervalMs, () => this.recover());
  }

  // ---- looking and stopping

  live(runId: string): Run | undefined {
    return this.#live.get(runId);
  }

  async status(runId: string): Promise<WorkflowStatus> {
    const { store, clock } = this.#services;
    const record = await this.#record(runId);
    return statusOf(record, await store.getSteps(runId), await store.getElicitations(runId), clock.now(), this.#owner);
  }

  async stats(): Promise<RunStats> {
    return statsOf(await this.#services.store.countRuns());
  }

  async list({ limit = 50, ...filter }: ListOptions = {}): Promise<{
    runs: readonly RunSummary[];
    cursor: string | undefined;
  }> {
    checkInteger('limit', limit);
    const page = await this.#services.store.listRuns({ ...filter, limit });
    const now = this.#services.clock.now();
    return { runs: page.runs.map((run) => summarize(run, now, this.#owner)), cursor: page.cursor };
  }

  async cancel(runId: string, reason?: string): Promise<void> {
    if (runId === '') throw new WorkflowError('ERR_WORKFLOW_DAG_ARGUMENT', 'workflow ID is required');
    const live = this.#live.get(runId);
    if (live !== undefined) {
      await live.cancel(reason);
      return;
    }
    const outcome = await this.#services.store.requestCancel(runId, reason ?? '');
    if (outcome.kind === 'missing') throw notFound(runId);
    if (outcome.kind === 'final') throw finalError({ id: runId, status: outcome.status }, false);
    this.#refuseWhenClosed();
    try {
      const run = await this.#restore(await takeOver(this.#services, this.#owner, await this.#record(runId)));
      await run.result;
    } catch (error) {
      // The owner is alive: its next heartbeat finds the word that was left.
      if (!WorkflowError.is(error, 'ERR_WORKFLOW_DAG_BUSY')) throw error;
    }
  }

  async answer(runId: string, stepId: string, answer: ElicitationAnswer): Promise<void> {
    await answerQuestion(this.#services, runId, stepId, answer);
    this.#live.get(runId)?.lookForAnswers();
  }

  async delete(runId: string): Promise<void> {
    const record = await this.#record(runId);
    if (await this.#services.store.deleteRun(runId)) return;
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_CONFLICT',
      `Run ${runId} is ${record.status}. Cancel it before it is deleted.`,
      { details: { runId } },
    );
  }

  forgetCached(filter: CacheFilter): Promise<number> {
    return this.#services.store.cacheDelete(filter);
  }

  close({ drainMs = 0 }: { readonly drainMs?: number } = {}): Promise<void> {
    this.#closed ??= this.#close(drainMs);
    return this.#closed;
  }

  async #close(drainMs: number): Promise<void> {
    this.#stopRecovery?.();
    const closed = new WorkflowError('ERR_WORKFLOW_DAG_CLOSED', 'The engine was closed; the run can be resumed.');
    this.#closing.abort(closed);
    const { store } = this.#services;
    await Promise.all(
      this.#live.all().map(async (run) => {
        if (!store.durable) return run.cancel('the engine was closed').catch(() => undefined);
        await run.drain(drainMs);
        run.giveUp(closed);
        await run.settled();
        await store.release(run.lease).catch((error: unknown) => this.#services.report(error));
        return undefined;
      }),
    );
    if (this.#ownsStore) await store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
