import { sql, type CompiledQuery, type Kysely } from 'kysely';
import { encode } from './codec.js';
import type { Change, ElicitationRecord, Lease } from './port.js';
import { FINAL_STATUSES } from './port.js';
import { elicitRow, stepRow } from './rows.js';
import type { Tables } from './schema.js';

/** Columns of a step in the order in which {@link stepRow} makes them. */
const STEP_UPDATES = [
  'status',
  'attempt',
  'decided',
  'output',
  'content',
  'error',
  'retry_count',
  'from_cache',
  'started_at',
  'ended_at',
  'lease_epoch',
] as const;

/** Makes the statements of a commit. The two that every step needs are compiled once: building costs more than running. */
export class CommitStatements {
  readonly #db: Kysely<Tables>;
  readonly #fence: CompiledQuery;
  readonly #upsertStep: CompiledQuery;

  constructor(db: Kysely<Tables>) {
    this.#db = db;
    this.#fence = compileFence(db);
    this.#upsertStep = compileUpsertStep(db);
  }

  /**
   * The fence, then one statement for each change. The fence changes one row where the lease is the newest, and takes the
   * write lock; where it changes none, nothing else may run.
   */
  of(lease: Lease, changes: readonly Change[], now: number): readonly CompiledQuery[] {
    const fence = { ...this.#fence, parameters: [now, lease.runId, lease.owner, lease.epoch] };
    return [fence, ...changes.map((change) => this.#statement(lease.runId, change))];
  }

  #statement(runId: string, change: Change): CompiledQuery {
    if (change.kind === 'step') return { ...this.#upsertStep, parameters: Object.values(stepRow(runId, change.step)) };
    if (change.kind === 'elicitation') return elicitationQuery(this.#db, runId, change.elicitation);
    return runQuery(this.#db, runId, change);
  }
}

function compileFence(db: Kysely<Tables>): CompiledQuery {
  return db
    .updateTable('wf_run')
    .set({ updated_at: 0, version: sql`version + 1` })
    .where('id', '=', '')
    .where('lease_owner', '=', '')
    .where('lease_epoch', '=', 0)
    .compile();
}

function compileUpsertStep(db: Kysely<Tables>): CompiledQuery {
  const sample = stepRow('', {
    stepId: '',
    iteration: -1,
    status: 'running',
    attempt: 1,
    decided: undefined,
    output: undefined,
    content: undefined,
    error: undefined,
    retryCount: 0,
    fromCache: false,
    startedAt: 0,
    endedAt: undefined,
    leaseEpoch: 0,
  });
  return db
    .insertInto('wf_step')
    .values(sample)
    .onConflict((conflict) =>
      conflict
        .columns(['run_id', 'step_id', 'iteration'])
        .doUpdateSet((eb) => Object.fromEntries(STEP_UPDATES.map((column) => [column, eb.ref(`excluded.${column}`)]))),
    )
    .compile();
}

function elicitationQuery(db: Kysely<Tables>, runId: string, question: ElicitationRecord): CompiledQuery {
  const { run_id, step_id, ...rest } = elicitRow(runId, question);
  return (
    db
      .insertInto('wf_elicit')
      .values({ run_id, step_id, ...rest })
      // An answer from outside is not written over by the question that it answers.
      .onConflict((conflict) =>
        conflict.columns(['run_id', 'step_id']).doUpdateSet(rest).where('wf_elicit.state', '!=', 'answered'),
      )
      .compile()
  );
}

function runQuery(db: Kysely<Tables>, runId: string, change: Extract<Change, { kind: 'run' }>): CompiledQuery {
  const final = FINAL_STATUSES.includes(change.status);
  let meta: string | undefined;
  if (change.meta !== undefined && Object.keys(change.meta).length > 0) meta = encode(change.meta) ?? '{}';
  return db
    .updateTable('wf_run')
    .set({
      status: change.status,
      updated_at: change.at,
      started_at: sql`coalesce(started_at, ${change.at})`,
      ...(change.output === undefined ? {} : { output: encode(change.output) }),
      ...(change.error === undefined ? {} : { error: encode(change.error) }),
      ...(meta === undefined ? {} : { meta }),
      ...(final ? { ended_at: change.at, lease_owner: null, lease_expires_at: null } : {}),
    })
    .where('id', '=', runId)
    .where('status', 'not in', FINAL_STATUSES)
    .compile();
}
