import { ActiveRun } from './active-run.js';
import { answerQuestion } from './answers.js';
import { canonicalJson, principalKey, sha256 } from './cache.js';
import { systemClock } from './clock.js';
import { compileWorkflow, type CompiledWorkflow } from './compile.js';
import type { WorkflowDefinition } from './definition.js';
import type {
  ElicitationAnswer,
  Engine,
  ListOptions,
  ResumeOptions,
  RunSummary,
  WorkflowStatus,
} from './engine-types.js';
import { WorkflowError } from './errors.js';
import type { JsonObject } from './json.js';
import { LeaseKeeper } from './lease-keeper.js';
import { checkInteger, type EngineOptions, type RunOptions } from './options.js';
import { processOwner, type Owner } from './owner.js';
import { prepareParameters } from './parameters.js';
import type { Principal, ToolInfo } from './ports.js';
import { restoreRun, type RestoredRun } from './resume.js';
import type { RunStart } from './run-start.js';
import type { Run } from './run-types.js';
import type { Scheduling } from './scheduler.js';
import { servicesOf } from './services.js';
import type { Services } from './step-host.js';
import { createMemoryStore } from './store/memory.js';
import { FINAL_STATUSES, type CacheFilter, type Lease, type NewRun, type RunRecord } from './store/port.js';
import { notFound, SNAPSHOT_VERSION, statusOf, summarize, watchRun } from './stored-run.js';

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
  readonly #live = new Map<string, ActiveRun>();
  readonly #livePerPrincipal = new Map<string, number>();
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
    this.#keeper = new LeaseKeeper(this.#services, heartbeatMs);
    this.#owner = processOwner(this.#services.random.uuid());
    this.#retentionMs = options.retentionMs ?? (store.durable ? 7 * 24 * HOUR_MS : HOUR_MS);
    checkInteger('retentionMs', this.#retentionMs);
  }

  // ---- starting

  async run(definition: WorkflowDefinition, params: JsonObject = {}, options: RunOptions = {}): Promise<Run> {
    this.#refuseWhenClosed();
    options.signal?.throwIfAborted();
    const compiled = this.#compile(definition);
    const prepared = prepareParameters(definition, params, { validate: this.#options.validateParams ?? true });
    const principal = principalKey(options.principal);
    const tools = await this.#resolveTools(compiled, options.principal);
    options.signal?.throwIfAborted();
    this.#refuseTooMany(principal);
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
    const created = await store.createRun(record, { owner: this.#owner.id, ttlMs: leaseTtlMs });
    if (created.kind === 'exists') return this.#existing(created.run, record);
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
      onOver: () => this.#over(record.id, principal),
    });
    this.#attach(run, options.signal);
    return run;
  }

  #compile(definition: WorkflowDefinition): CompiledWorkflow {
    let compiled = this.#compiled.get(definition);
    if (compiled === undefined) {
      compiled = compileWorkflow(definition, this.#services.limits.maxSteps, this.#services.retryCap);
      this.#compiled.set(definition, compiled);
    }
    return compiled;
  }

  async #resolveTools(
    compiled: CompiledWorkflow,
    principal: Principal | undefined,
  ): Promise<ReadonlyMap<string, ToolInfo>> {
    const tools = new Map<string, ToolInfo>();
    for (const reference of compiled.tools) {
      const answer = this.#services.tools.resolve(reference, { principal });
      const tool = answer instanceof Promise ? await answer : answer;
      if (tool !== undefined) tools.set(reference, tool);
    }
    return tools;
  }

  #refuseWhenClosed(): void {
    if (this.#closed !== undefined)
      throw new WorkflowError('ERR_WORKFLOW_DAG_CLOSED', 'The engine is closed. Create another one.');
  }

  #refuseTooMany(principal: string): void {
    const max = this.#services.limits.maxRunsPerPrincipal;
    if ((this.#livePerPrincipal.get(principal) ?? 0) < max) return;
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_LIMIT',
      `${max} workflows of this caller are under way already. Wait for one to end, or raise \`limits.maxRunsPerPrincipal\`.`,
      { details: { maxRunsPerPrincipal: max } },
    );
  }

  #existing(known: RunRecord, wanted: NewRun): Run {
    if (known.inputHash !== wanted.inputHash) {
      throw new WorkflowError(
        'ERR_WORKFLOW_DAG_CONFLICT',
        `The idempotency key belongs to run ${known.id}, which has other input. Take a new key.`,
        { details: { runId: known.id } },
      );
    }
    return this.#handle(known.id);
  }

  #handle(runId: string): Run {
    const live = this.#live.get(runId);
    if (live !== undefined) return live;
    const { store, clock } = this.#services;
    return watchRun(runId, { store, clock, signal: this.#closing.signal }, (reason) => this.cancel(runId, reason));
  }

  #activate(start: RunStart): ActiveRun {
    const run = new ActiveRun(start);
    const principal = principalKey(start.principal);
    this.#live.set(run.id, run);
    this.#livePerPrincipal.set(principal, (this.#livePerPrincipal.get(principal) ?? 0) + 1);
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

  #over(runId: string, principal: string): void {
    const run = this.#live.get(runId);
    if (run === undefined) return;
    this.#live.delete(runId);
    this.#keeper.remove(run);
    const count = (this.#livePerPrincipal.get(principal) ?? 1) - 1;
    if (count > 0) this.#livePerPrincipal.set(principal, count);
    else this.#livePerPrincipal.delete(principal);
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
    const lease = FINAL_STATUSES.includes(record.status)
      ? await this.#reopen(record, options)
      : await this.#takeOver(record);
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

  async #takeOver(record: RunRecord): Promise<Lease> {
    const { store, leaseTtlMs } = this.#services;
    const owner = record.leaseOwner;
    const deadOwners = owner !== undefined && !this.#owner.isAlive(owner) ? [owner] : [];
    const [lease] = await store.claim({
      owner: this.#owner.id,
      ttlMs: leaseTtlMs,
      limit: 1,
      runId: record.id,
      deadOwners,
    });
    if (lease !== undefined) return lease;
    const until = record.leaseExpiresAt === undefined ? 'soon' : new Date(record.leaseExpiresAt).toISOString();
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_BUSY',
      `Run ${record.id} belongs to another process, whose lease ends at ${until} unless it is alive and renews it. Try again then.`,
      { details: { runId: record.id, leaseExpiresAt: record.leaseExpiresAt } },
    );
  }

  async #reopen(record: RunRecord, { retryFailed = false }: ResumeOptions): Promise<Lease> {
    const final = finalError(record, retryFailed);
    if (record.status !== 'failed' || !retryFailed) throw final;
    const { store, clock, leaseTtlMs } = this.#services;
    const steps = await store.getSteps(record.id);
    // A failure after which the run went on has been dealt with: its dependents have run.
    const forgetSteps = steps
      .filter(({ iteration, status, decided }) => iteration < 0 && status === 'failed' && decided?.['handled'] !== true)
      .map(({ stepId }) => stepId);
    const deadlineAt = clock.now() + (record.definition as WorkflowDefinition).timeoutMs;
    const lease = await store.reopen(record.id, { owner: this.#owner.id, ttlMs: leaseTtlMs, forgetSteps, deadlineAt });
    if (lease === undefined) throw final;
    return lease;
  }

  async #restore(lease: Lease, guard = false): Promise<ActiveRun> {
    const { store, clock } = this.#services;
    const record = await this.#record(lease.runId);
    const restored = await restoreRun(store, record);
    if (record.schemaVersion !== SNAPSHOT_VERSION) {
      await store.commit(lease, [
        {
          kind: 'run',
          status: 'failed',
          at: clock.now(),
          error: { code: 'ERR_WORKFLOW_DAG_STORE', message: 'definition version unsupported' },
        },
      ]);
      throw new WorkflowError('ERR_WORKFLOW_DAG_STORE', `definition version unsupported: ${record.schemaVersion}`, {
        details: { runId: record.id },
      });
    }
    const { maxRecoveries } = this.#services.limits;
    const spent = guard && record.recoveries > maxRecoveries;
    const refusal = spent ? `too many recoveries: ${record.recoveries} (max ${maxRecoveries})` : undefined;
    return this.#activate({ ...(await this.#startOf(lease, restored)), refusal });
  }

  async #startOf(lease: Lease, restored: RestoredRun): Promise<RunStart> {
    const { run } = restored;
    const definition = run.definition as WorkflowDefinition;
    const compiled = this.#compile(definition);
    const principal = principalOf(run.principal);
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
      tools: await this.#resolveTools(compiled, principal),
      restored,
      onOver: () => this.#over(run.id, run.principal),
    };
  }

  async recover({ limit = 100 }: { readonly limit?: number } = {}): Promise<readonly Run[]> {
    this.#refuseWhenClosed();
    checkInteger('limit', limit);
    const { store, leaseTtlMs } = this.#services;
    const open = await store.listRuns({ status: ['pending', 'running', 'waiting_for_elicitation'], limit: 1000 });
    const owners = new Set(open.runs.map(({ leaseOwner }) => leaseOwner).filter((owner) => owner !== undefined));
    const deadOwners = [...owners].filter((owner) => !this.#owner.isAlive(owner));
    const leases = await store.claim({ owner: this.#owner.id, ttlMs: leaseTtlMs, limit, deadOwners });
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
    return statusOf(record, await store.getSteps(runId), await store.getElicitations(runId), clock.now());
  }

  async list({ limit = 50, ...filter }: ListOptions = {}): Promise<{
    runs: readonly RunSummary[];
    cursor: string | undefined;
  }> {
    checkInteger('limit', limit);
    const page = await this.#services.store.listRuns({ ...filter, limit });
    const now = this.#services.clock.now();
    return { runs: page.runs.map((run) => summarize(run, now)), cursor: page.cursor };
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
      const run = await this.#restore(await this.#takeOver(await this.#record(runId)));
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
      [...this.#live.values()].map(async (run) => {
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

function finalError(run: Pick<RunRecord, 'id' | 'status'>, retryFailed: boolean): WorkflowError {
  const hint = run.status === 'failed' && !retryFailed ? ' (retryFailed runs its failed steps again)' : '';
  return new WorkflowError(
    'ERR_WORKFLOW_DAG_RUN_FINAL',
    `workflow ${run.id} is already in terminal state: ${run.status}${hint}`,
    {
      details: { runId: run.id, status: run.status },
    },
  );
}

function principalOf(key: string): Principal | undefined {
  if (key === '') return undefined;
  const [issuer, subject, tenant] = JSON.parse(key) as [string, string, string];
  return { subject, ...(issuer === '' ? {} : { issuer }), ...(tenant === '' ? {} : { tenant }) };
}

/** Calls again and again, with a fifth of jitter: engines that started together must not ask together for ever. */
function repeat({ clock, random, report }: Services, intervalMs: number, call: () => Promise<unknown>): () => void {
  let stopped = false;
  let stop: () => void = () => undefined;
  const plan = (): void => {
    if (stopped) return;
    stop = clock.setTimer(intervalMs * (0.8 + 0.4 * random.next()), () => {
      call().catch(report).finally(plan);
    });
  };
  plan();
  return () => {
    stopped = true;
    stop();
  };
}
