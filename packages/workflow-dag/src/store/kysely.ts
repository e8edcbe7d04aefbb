import { sql, type CompiledQuery, type Kysely } from 'kysely';
import { WorkflowError } from '../errors.js';
import type { Clock } from '../ports.js';
import { encode } from './codec.js';
import { GroupCommit, transactionWriter, type GroupWriter } from './group-commit.js';
import { KyselyCache } from './kysely-cache.js';
import { cursorOf, parseCursor } from './listing.js';
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
import { FINAL_STATUSES } from './port.js';
import { inputRow, runRow, toElicitation, toRun, toStep } from './rows.js';
import type { Tables } from './schema.js';
import { CommitStatements } from './statements.js';

/** A database that is open and has its tables. */
export interface KyselyStoreOptions {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  /** How a group of commits is written. @defaultValue one transaction of Kysely */
  readonly writer?: GroupWriter;
}

/** The store over any database that Kysely speaks to. */
export function createKyselyStore(options: KyselyStoreOptions): Store {
  return new KyselyStore(options);
}

class KyselyStore implements Store {
  readonly durable = true;
  readonly #db: Kysely<Tables>;
  readonly #clock: Clock;
  readonly #write: GroupWriter;
  readonly #statements: CommitStatements;
  readonly #commits: GroupCommit;
  readonly #cache: KyselyCache;
  #closed: Promise<void> | undefined;

  constructor({ db, clock, writer = transactionWriter(db) }: KyselyStoreOptions) {
    this.#db = db;
    this.#clock = clock;
    this.#statements = new CommitStatements(db);
    this.#write = writer;
    this.#commits = new GroupCommit(writer);
    this.#cache = new KyselyCache(db, clock);
  }

  async createRun(
    run: NewRun,
    claim: { readonly owner: string; readonly ttlMs: number },
  ): Promise<
    { readonly kind: 'created'; readonly lease: Lease } | { readonly kind: 'exists'; readonly run: RunRecord }
  > {
    const expiresAt = this.#clock.now() + claim.ttlMs;
    const insert = this.#db.insertInto('wf_run').values(runRow(run, { owner: claim.owner, expiresAt }));
    const [created] = await this.#write([
      [
        insert.onConflict((conflict) => conflict.doNothing()).compile(),
        this.#db.insertInto('wf_input').values(inputRow(run)).compile(),
      ],
    ]);
    if (created === true) return { kind: 'created', lease: { runId: run.id, owner: claim.owner, epoch: 1, expiresAt } };
    const known =
      run.idempotencyKey === undefined
        ? undefined
        : await this.#runs()
            .where('tenant', '=', run.tenant)
            .where('name', '=', run.name)
            .where('idempotency_key', '=', run.idempotencyKey)
            .executeTakeFirst();
    if (known !== undefined) return { kind: 'exists', run: toRun(known) };
    throw new WorkflowError('ERR_WORKFLOW_DAG_STORE', `A run with the id ${run.id} exists already.`);
  }

  #runs() {
    return this.#db.selectFrom('wf_run').innerJoin('wf_input', 'wf_input.run_id', 'wf_run.id').selectAll();
  }

  async getRun(runId: string): Promise<RunRecord | undefined> {
    const row = await this.#runs().where('id', '=', runId).executeTakeFirst();
    return row === undefined ? undefined : toRun(row);
  }

  async getSteps(runId: string): Promise<readonly StepRecord[]> {
    const rows = await this.#db.selectFrom('wf_step').selectAll().where('run_id', '=', runId).orderBy('seq').execute();
    return rows.map(toStep);
  }

  async getElicitations(runId: string): Promise<readonly ElicitationRecord[]> {
    const rows = await this.#db
      .selectFrom('wf_elicit')
      .selectAll()
      .where('run_id', '=', runId)
      .orderBy('created_at')
      .orderBy('step_id')
      .execute();
    return rows.map(toElicitation);
  }

  async listRuns(filter: RunFilter): Promise<RunPage> {
    let query = this.#runs()
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(filter.limit + 1);
    if (filter.status !== undefined) query = query.where('status', 'in', [...filter.status, '']);
    if (filter.name !== undefined) query = query.where('name', '=', filter.name);
    if (filter.principal !== undefined) query = query.where('principal', '=', filter.principal);
    if (filter.createdSince !== undefined) query = query.where('created_at', '>=', filter.createdSince);
    if (filter.cursor !== undefined) {
      const { createdAt, id } = parseCursor(filter.cursor);
      query = query.where(({ eb, or, and }) =>
        or([eb('created_at', '<', createdAt), and([eb('created_at', '=', createdAt), eb('id', '<', id)])]),
      );
    }
    const rows = await query.execute();
    const runs = rows.slice(0, filter.limit).map(toRun);
    const last = runs.at(-1);
    return { runs, cursor: rows.length > runs.length && last !== undefined ? cursorOf(last) : undefined };
  }

  async countRuns(): Promise<ReadonlyMap<RunStatus, number>> {
    const rows = await this.#db
      .selectFrom('wf_run')
      .select(({ fn }) => ['status', fn.countAll<number | string>().as('count')])
      .groupBy('status')
      .execute();
    return new Map(rows.map(({ status, count }) => [status as RunStatus, Number(count)]));
  }

  async leaseOwners(): Promise<readonly string[]> {
    const rows = await this.#db
      .selectFrom('wf_run')
      .select('lease_owner')
      .distinct()
      .where('status', 'not in', FINAL_STATUSES)
      .where('lease_owner', 'is not', null)
      .execute();
    return rows.map((row) => row.lease_owner ?? '');
  }

  async claim(options: {
    readonly owner: string;
    readonly ttlMs: number;
    readonly limit: number;
    readonly runId?: string | undefined;
    readonly deadOwners?: readonly string[] | undefined;
  }): Promise<readonly Lease[]> {
    const now = this.#clock.now();
    const dead = options.deadOwners ?? [];
    let query = this.#db
      .selectFrom('wf_run')
      .select(['id', 'lease_epoch', 'lease_owner', 'recoveries'])
      .where('status', 'not in', FINAL_STATUSES)
      .where(({ eb, or }) =>
        or([
          eb('lease_expires_at', 'is', null),
          eb('lease_expires_at', '<=', now),
          ...(dead.length === 0 ? [] : [eb('lease_owner', 'in', dead)]),
        ]),
      )
      .orderBy('created_at')
      .limit(options.limit);
    if (options.runId !== undefined) query = query.where('id', '=', options.runId);
    const leases: Lease[] = [];
    for (const row of await query.execute()) {
      // Compare and set on the epoch: of two engines that see the same free run one gets it.
      const epoch = Number(row.lease_epoch) + 1;
      const expiresAt = now + options.ttlMs;
      const updated = await this.#db
        .updateTable('wf_run')
        .set({
          lease_owner: options.owner,
          lease_epoch: epoch,
          lease_expires_at: expiresAt,
          recoveries: Number(row.recoveries) + (row.lease_owner === null ? 0 : 1),
          version: sql`version + 1`,
        })
        .where('id', '=', row.id)
        .where('lease_epoch', '=', row.lease_epoch)
        .where('status', 'not in', FINAL_STATUSES)
        .where(({ eb, or }) =>
          or([
            eb('lease_expires_at', 'is', null),
            eb('lease_expires_at', '<=', now),
            ...(dead.length === 0 ? [] : [eb('lease_owner', 'in', dead)]),
          ]),
        )
        .executeTakeFirst();
      if (updated.numUpdatedRows === 1n) leases.push({ runId: row.id, owner: options.owner, epoch, expiresAt });
    }
    return leases;
  }

  async heartbeat(
    lease: Lease,
    ttlMs: number,
  ): Promise<{ readonly ok: boolean; readonly cancelRequested: boolean; readonly cancelReason: string | undefined }> {
    const row = await this.#db
      .updateTable('wf_run')
      .set({ lease_expires_at: this.#clock.now() + ttlMs })
      .where('id', '=', lease.runId)
      .where('lease_owner', '=', lease.owner)
      .where('lease_epoch', '=', lease.epoch)
      .returning(['cancel_requested_at', 'cancel_reason'])
      .executeTakeFirst();
    return {
      ok: row !== undefined,
      cancelRequested: row !== undefined && row.cancel_requested_at !== null,
      cancelReason: row?.cancel_reason ?? undefined,
    };
  }

  async release(lease: Lease): Promise<void> {
    await this.#db
      .updateTable('wf_run')
      .set({ lease_owner: null, lease_expires_at: null, version: sql`version + 1` })
      .where('id', '=', lease.runId)
      .where('lease_owner', '=', lease.owner)
      .where('lease_epoch', '=', lease.epoch)
      .execute();
  }

  async commit(lease: Lease, changes: readonly Change[]): Promise<void> {
    await this.#commits.add(lease, this.#statements.of(lease, changes, this.#clock.now()));
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
    const run = await this.getRun(runId);
    if (run?.status !== 'failed') return undefined;
    const epoch = run.leaseEpoch + 1;
    const expiresAt = this.#clock.now() + options.ttlMs;
    const fence = this.#db
      .updateTable('wf_run')
      .set({
        status: 'running',
        deadline_at: options.deadlineAt,
        ended_at: null,
        output: null,
        error: null,
        cancel_requested_at: null,
        cancel_reason: null,
        lease_owner: options.owner,
        lease_epoch: epoch,
        lease_expires_at: expiresAt,
        version: sql`version + 1`,
      })
      .where('id', '=', runId)
      .where('status', '=', 'failed')
      .where('lease_epoch', '=', run.leaseEpoch);
    const [reopened] = await this.#write([[fence.compile(), ...this.#forget(runId, options.forgetSteps)]]);
    return reopened === true ? { runId, owner: options.owner, epoch, expiresAt } : undefined;
  }

  #forget(runId: string, stepIds: readonly string[]): readonly CompiledQuery[] {
    return stepIds.flatMap((stepId) => [
      this.#db.deleteFrom('wf_step').where('run_id', '=', runId).where('step_id', '=', stepId).compile(),
      this.#db.deleteFrom('wf_elicit').where('run_id', '=', runId).where('step_id', '=', stepId).compile(),
    ]);
  }

  async answerElicitation(
    runId: string,
    stepId: string,
    answer: { readonly action: 'accept' | 'decline' | 'cancel'; readonly content: unknown; readonly at: number },
  ): Promise<AnswerOutcome> {
    const updated = await this.#db
      .updateTable('wf_elicit')
      .set({ state: 'answered', action: answer.action, content: encode(answer.content), responded_at: answer.at })
      .where('run_id', '=', runId)
      .where('step_id', '=', stepId)
      .where('state', '=', 'pending')
      .where('expires_at', '>', answer.at)
      .where(({ exists, selectFrom }) =>
        exists(selectFrom('wf_run').select('id').where('id', '=', runId).where('status', 'not in', FINAL_STATUSES)),
      )
      .executeTakeFirst();
    if (updated.numUpdatedRows === 1n) return 'answered';
    const row = await this.#db
      .selectFrom('wf_elicit')
      .select('state')
      .where('run_id', '=', runId)
      .where('step_id', '=', stepId)
      .executeTakeFirst();
    if (row === undefined) return 'missing';
    return row.state === 'answered' ? 'already' : 'expired';
  }

  async requestCancel(runId: string, reason: string): Promise<CancelOutcome> {
    const updated = await this.#db
      .updateTable('wf_run')
      .set({
        cancel_requested_at: sql`coalesce(cancel_requested_at, ${this.#clock.now()})`,
        cancel_reason: sql`coalesce(cancel_reason, ${reason})`,
        version: sql`version + 1`,
      })
      .where('id', '=', runId)
      .where('status', 'not in', FINAL_STATUSES)
      .executeTakeFirst();
    if (updated.numUpdatedRows === 1n) return { kind: 'requested' };
    const run = await this.getRun(runId);
    return run === undefined ? { kind: 'missing' } : { kind: 'final', status: run.status };
  }

  cacheGet(key: string): Promise<CacheEntry | undefined> {
    return this.#cache.get(key);
  }

  cachePut(entry: CacheEntry): Promise<void> {
    return this.#cache.put(entry);
  }

  cacheLock(key: string, ttlMs: number): Promise<boolean> {
    return this.#cache.lock(key, ttlMs);
  }

  cacheUnlock(key: string): Promise<void> {
    return this.#cache.unlock(key);
  }

  cacheDelete(filter: CacheFilter): Promise<number> {
    return this.#cache.delete(filter);
  }

  async deleteRun(runId: string): Promise<boolean> {
    const deleted = await this.#db
      .deleteFrom('wf_run')
      .where('id', '=', runId)
      .where('status', 'in', FINAL_STATUSES)
      .executeTakeFirst();
    return deleted.numDeletedRows === 1n;
  }

  async purge(options: { readonly endedBefore: number; readonly limit: number }): Promise<number> {
    const old = this.#db
      .selectFrom('wf_run')
      .select('id')
      .where('ended_at', '<', options.endedBefore)
      .where('status', 'in', FINAL_STATUSES)
      .orderBy('ended_at')
      .limit(options.limit);
    const deleted = await this.#db.deleteFrom('wf_run').where('id', 'in', old).executeTakeFirst();
    await this.#cache.purge();
    return Number(deleted.numDeletedRows);
  }

  close(): Promise<void> {
    this.#closed ??= this.#commits.idle().then(() => this.#db.destroy());
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
