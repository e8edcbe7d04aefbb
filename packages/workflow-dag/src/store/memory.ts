import { systemClock } from '../clock.js';
import { WorkflowError } from '../errors.js';
import type { Clock } from '../ports.js';
import { cursorOf, leaseLost, parseCursor } from './listing.js';
import type {
  AnswerOutcome,
  CacheEntry,
  CacheFilter,
  CancelOutcome,
  Change,
  ElicitationRecord,
  Lease,
  NewRun,
  RunFilter,
  RunPage,
  RunRecord,
  RunStatus,
  StepRecord,
  Store,
} from './port.js';
import { newRecord, type Writable } from './new-record.js';
import { FINAL_STATUSES } from './port.js';

/** Options of {@link createMemoryStore}. */
export interface MemoryStoreOptions {
  readonly clock?: Clock;
  /** Cached results that are kept; the oldest goes first. @defaultValue 1000 */
  readonly maxCacheEntries?: number;
  /** Finished runs that are kept; the one that ended first goes first. @defaultValue 1000 */
  readonly maxFinishedRuns?: number;
  /** Steps of finished runs that are kept, counted over all of them. @defaultValue 100000 */
  readonly maxFinishedSteps?: number;
}

interface Entry {
  readonly run: Writable<RunRecord>;
  readonly steps: Map<string, StepRecord>;
  readonly elicitations: Map<string, ElicitationRecord>;
}

const DONE = Promise.resolve();

function isFinal(run: RunRecord): boolean {
  return FINAL_STATUSES.includes(run.status);
}

/**
 * Makes a store that forgets everything with the process. Values are kept by reference: whoever writes must not change
 * them later, and whoever reads must not change them at all. Records themselves are copied.
 */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options);
}

class MemoryStore implements Store {
  readonly durable = false;
  readonly #clock: Clock;
  readonly #maxCacheEntries: number;
  readonly #maxFinishedRuns: number;
  readonly #maxFinishedSteps: number;
  #finishedSteps = 0;
  readonly #entries = new Map<string, Entry>();
  readonly #byKey = new Map<string, string>();
  readonly #cache = new Map<string, CacheEntry>();
  readonly #cacheLocks = new Map<string, number>();
  /** Ids of final runs in the order of their end. */
  readonly #finished = new Set<string>();

  constructor({
    clock = systemClock,
    maxCacheEntries = 1000,
    maxFinishedRuns = 1000,
    maxFinishedSteps = 100_000,
  }: MemoryStoreOptions) {
    this.#clock = clock;
    this.#maxCacheEntries = maxCacheEntries;
    this.#maxFinishedRuns = maxFinishedRuns;
    this.#maxFinishedSteps = maxFinishedSteps;
  }

  async createRun(
    run: NewRun,
    claim: { readonly owner: string; readonly ttlMs: number },
  ): Promise<
    { readonly kind: 'created'; readonly lease: Lease } | { readonly kind: 'exists'; readonly run: RunRecord }
  > {
    const key =
      run.idempotencyKey === undefined ? undefined : JSON.stringify([run.tenant, run.name, run.idempotencyKey]);
    const known = key === undefined ? undefined : this.#entries.get(this.#byKey.get(key) ?? '');
    if (known !== undefined) return { kind: 'exists', run: { ...known.run } };
    if (this.#entries.has(run.id)) {
      throw new WorkflowError('ERR_WORKFLOW_DAG_STORE', `A run with the id ${run.id} exists already.`);
    }
    const expiresAt = this.#clock.now() + claim.ttlMs;
    const record = newRecord(run, claim.owner, expiresAt);
    this.#entries.set(run.id, { run: record, steps: new Map(), elicitations: new Map() });
    if (key !== undefined) this.#byKey.set(key, run.id);
    return { kind: 'created', lease: { runId: run.id, owner: claim.owner, epoch: 1, expiresAt } };
  }

  async getRun(runId: string): Promise<RunRecord | undefined> {
    const entry = this.#entries.get(runId);
    return entry === undefined ? undefined : { ...entry.run };
  }

  async getSteps(runId: string): Promise<readonly StepRecord[]> {
    return [...(this.#entries.get(runId)?.steps.values() ?? [])].map((step) => ({ ...step }));
  }

  async getElicitations(runId: string): Promise<readonly ElicitationRecord[]> {
    return [...(this.#entries.get(runId)?.elicitations.values() ?? [])].map((question) => ({ ...question }));
  }

  async listRuns(filter: RunFilter): Promise<RunPage> {
    const found: RunRecord[] = [];
    if (filter.cursor !== undefined) parseCursor(filter.cursor);
    for (const { run } of this.#entries.values()) {
      if (filter.status !== undefined && !filter.status.includes(run.status)) continue;
      if (filter.name !== undefined && filter.name !== run.name) continue;
      if (filter.principal !== undefined && filter.principal !== run.principal) continue;
      if (filter.createdSince !== undefined && run.createdAt < filter.createdSince) continue;
      if (filter.cursor !== undefined && cursorOf(run) >= filter.cursor) continue;
      found.push({ ...run });
    }
    found.sort((a, b) => (cursorOf(a) < cursorOf(b) ? 1 : -1));
    const runs = found.slice(0, filter.limit);
    const last = runs.at(-1);
    return { runs, cursor: found.length > runs.length && last !== undefined ? cursorOf(last) : undefined };
  }

  async countRuns(): Promise<ReadonlyMap<RunStatus, number>> {
    const counts = new Map<RunStatus, number>();
    for (const { run } of this.#entries.values()) counts.set(run.status, (counts.get(run.status) ?? 0) + 1);
    return counts;
  }

  async leaseOwners(): Promise<readonly string[]> {
    const owners = new Set<string>();
    for (const { run } of this.#entries.values()) {
      if (run.leaseOwner !== undefined && !isFinal(run)) owners.add(run.leaseOwner);
    }
    return [...owners];
  }

  async claim(options: {
    readonly owner: string;
    readonly ttlMs: number;
    readonly limit: number;
    readonly runId?: string | undefined;
    readonly deadOwners?: readonly string[] | undefined;
  }): Promise<readonly Lease[]> {
    const now = this.#clock.now();
    const leases: Lease[] = [];
    const one = options.runId === undefined ? undefined : this.#entries.get(options.runId);
    const candidates = options.runId === undefined ? this.#entries.values() : one === undefined ? [] : [one];
    for (const { run } of candidates) {
      if (leases.length >= options.limit) break;
      const dead = run.leaseOwner !== undefined && options.deadOwners?.includes(run.leaseOwner) === true;
      if (isFinal(run) || (!dead && run.leaseExpiresAt !== undefined && run.leaseExpiresAt > now)) continue;
      if (run.leaseOwner !== undefined) run.recoveries += 1;
      leases.push(this.#lease(run, options.owner, now + options.ttlMs));
    }
    return leases;
  }

  #lease(run: Writable<RunRecord>, owner: string, expiresAt: number): Lease {
    run.leaseOwner = owner;
    run.leaseEpoch += 1;
    run.leaseExpiresAt = expiresAt;
    run.version += 1;
    return { runId: run.id, owner, epoch: run.leaseEpoch, expiresAt };
  }

  #owned(lease: Lease): Entry | undefined {
    const entry = this.#entries.get(lease.runId);
    return entry !== undefined && entry.run.leaseEpoch === lease.epoch && entry.run.leaseOwner === lease.owner
      ? entry
      : undefined;
  }

  async heartbeat(
    lease: Lease,
    ttlMs: number,
  ): Promise<{ readonly ok: boolean; readonly cancelRequested: boolean; readonly cancelReason: string | undefined }> {
    const run = this.#owned(lease)?.run;
    if (run === undefined) return { ok: false, cancelRequested: false, cancelReason: undefined };
    run.leaseExpiresAt = this.#clock.now() + ttlMs;
    return { ok: true, cancelRequested: run.cancelRequestedAt !== undefined, cancelReason: run.cancelReason };
  }

  async release(lease: Lease): Promise<void> {
    const run = this.#owned(lease)?.run;
    if (run === undefined) return;
    run.leaseOwner = run.leaseExpiresAt = undefined;
    run.version += 1;
  }

  commit(lease: Lease, changes: readonly Change[]): Promise<void> {
    const entry = this.#owned(lease);
    if (entry === undefined) return Promise.reject(leaseLost(lease));
    for (const change of changes) this.#apply(entry, change);
    entry.run.version += 1;
    return DONE;
  }

  #apply(entry: Entry, change: Change): void {
    if (change.kind === 'step') {
      const { step } = change;
      entry.steps.set(step.iteration < 0 ? step.stepId : `${step.stepId}\u0000${step.iteration}`, step);
      entry.run.updatedAt = step.endedAt ?? step.startedAt;
    } else if (change.kind === 'elicitation') {
      const known = entry.elicitations.get(change.elicitation.stepId);
      if (known?.state !== 'answered') entry.elicitations.set(change.elicitation.stepId, change.elicitation);
    } else if (!isFinal(entry.run)) {
      this.#applyRun(entry, change);
    }
  }

  #applyRun({ run, steps }: Entry, change: Extract<Change, { kind: 'run' }>): void {
    run.status = change.status;
    run.updatedAt = change.at;
    run.startedAt ??= change.at;
    if (change.output !== undefined) run.output = change.output;
    if (change.error !== undefined) run.error = change.error;
    if (change.meta !== undefined) run.meta = { ...run.meta, ...change.meta };
    if (!isFinal(run)) return;
    run.endedAt = change.at;
    run.leaseOwner = run.leaseExpiresAt = undefined;
    this.#finished.add(run.id);
    this.#finishedSteps += steps.size;
    for (const oldest of this.#finished) {
      const { size } = this.#finished;
      if (size <= this.#maxFinishedRuns && (this.#finishedSteps <= this.#maxFinishedSteps || size === 1)) break;
      this.#forget(oldest);
    }
  }

  #forget(runId: string): void {
    const run = this.#entries.get(runId)?.run;
    if (run?.idempotencyKey !== undefined)
      this.#byKey.delete(JSON.stringify([run.tenant, run.name, run.idempotencyKey]));
    if (this.#finished.delete(runId)) this.#finishedSteps -= this.#entries.get(runId)?.steps.size ?? 0;
    this.#entries.delete(runId);
  }

  async reopen(
    runId: string,
    options: {
      readonly owner: string;
      readonly ttlMs: number;
      readonly forgetSteps: readonly string[];
      readonly deadlineAt: number;
    },
  ): Promise<Lease | undefined> {
    const entry = this.#entries.get(runId);
    if (entry?.run.status !== 'failed') return undefined;
    if (this.#finished.delete(runId)) this.#finishedSteps -= entry.steps.size;
    const forget = new Set(options.forgetSteps);
    for (const [key, step] of entry.steps) if (forget.has(step.stepId)) entry.steps.delete(key);
    for (const stepId of forget) entry.elicitations.delete(stepId);
    const { run } = entry;
    run.status = 'running';
    run.deadlineAt = options.deadlineAt;
    run.endedAt = run.error = run.output = run.cancelRequestedAt = run.cancelReason = undefined;
    return this.#lease(run, options.owner, this.#clock.now() + options.ttlMs);
  }

  async answerElicitation(
    runId: string,
    stepId: string,
    answer: { readonly action: 'accept' | 'decline' | 'cancel'; readonly content: unknown; readonly at: number },
  ): Promise<AnswerOutcome> {
    const entry = this.#entries.get(runId);
    const question = entry?.elicitations.get(stepId);
    if (entry === undefined || question === undefined) return 'missing';
    if (question.state === 'answered') return 'already';
    if (question.state !== 'pending' || question.expiresAt <= answer.at || isFinal(entry.run)) return 'expired';
    entry.elicitations.set(stepId, {
      ...question,
      state: 'answered',
      action: answer.action,
      content: answer.content,
      respondedAt: answer.at,
    });
    entry.run.version += 1;
    return 'answered';
  }

  async requestCancel(runId: string, reason: string): Promise<CancelOutcome> {
    const run = this.#entries.get(runId)?.run;
    if (run === undefined) return { kind: 'missing' };
    if (isFinal(run)) return { kind: 'final', status: run.status };
    run.cancelRequestedAt ??= this.#clock.now();
    run.cancelReason ??= reason;
    run.version += 1;
    return { kind: 'requested' };
  }

  async cacheGet(key: string): Promise<CacheEntry | undefined> {
    const entry = this.#cache.get(key);
    return entry !== undefined && entry.staleUntil > this.#clock.now() ? entry : undefined;
  }

  async cachePut(entry: CacheEntry): Promise<void> {
    this.#cache.delete(entry.key);
    this.#cache.set(entry.key, entry);
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= this.#maxCacheEntries) break;
      this.#cache.delete(oldest);
    }
  }

  async cacheLock(key: string, ttlMs: number): Promise<boolean> {
    const now = this.#clock.now();
    if ((this.#cacheLocks.get(key) ?? 0) > now) return false;
    for (const [other, until] of this.#cacheLocks) if (until <= now) this.#cacheLocks.delete(other);
    this.#cacheLocks.set(key, now + ttlMs);
    return true;
  }

  async cacheUnlock(key: string): Promise<void> {
    this.#cacheLocks.delete(key);
  }

  async cacheDelete(filter: CacheFilter): Promise<number> {
    let count = 0;
    for (const [key, entry] of this.#cache) {
      const hit =
        'tool' in filter
          ? entry.tool === filter.tool
          : 'workflow' in filter
            ? entry.workflow === filter.workflow
            : 'keyPrefix' in filter
              ? key.startsWith(filter.keyPrefix)
              : entry.staleUntil <= filter.expiredBefore;
      if (hit && this.#cache.delete(key)) count += 1;
    }
    return count;
  }

  async deleteRun(runId: string): Promise<boolean> {
    const entry = this.#entries.get(runId);
    if (entry === undefined || !isFinal(entry.run)) return false;
    this.#forget(runId);
    return true;
  }

  async purge(options: { readonly endedBefore: number; readonly limit: number }): Promise<number> {
    let count = 0;
    for (const runId of Array.from(this.#finished)) {
      const endedAt = this.#entries.get(runId)?.run.endedAt;
      if (count >= options.limit || endedAt === undefined || endedAt >= options.endedBefore) break;
      this.#forget(runId);
      count += 1;
    }
    return count;
  }

  async close(): Promise<void> {
    await DONE;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
