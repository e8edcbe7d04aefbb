import type { WorkflowDefinition } from './definition.js';
import { WorkflowError } from './errors.js';
import type { Owner } from './owner.js';
import type { Services } from './step-host.js';
import type { Lease, RunRecord } from './store/port.js';

type Keeping = Pick<Services, 'store' | 'clock' | 'leaseTtlMs'>;

/**
 * Takes a run whose owner is gone.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_BUSY`
 */
export async function takeOver({ store, leaseTtlMs }: Keeping, owner: Owner, record: RunRecord): Promise<Lease> {
  const last = record.leaseOwner;
  const deadOwners = last !== undefined && !owner.isAlive(last) ? [last] : [];
  const [lease] = await store.claim({ owner: owner.id, ttlMs: leaseTtlMs, limit: 1, runId: record.id, deadOwners });
  if (lease !== undefined) return lease;
  const until = record.leaseExpiresAt === undefined ? 'soon' : `at ${new Date(record.leaseExpiresAt).toISOString()}`;
  throw new WorkflowError(
    'ERR_WORKFLOW_DAG_BUSY',
    `Run ${record.id} belongs to another process. Its lease ends ${until}, unless that process is alive and renews it. Try again then.`,
    { details: { runId: record.id, leaseExpiresAt: record.leaseExpiresAt } },
  );
}

/** Takes runs whose owners are gone, at most `limit`. */
export async function takeAbandoned(
  { store, leaseTtlMs }: Keeping,
  owner: Owner,
  limit: number,
): Promise<readonly Lease[]> {
  const deadOwners = (await store.leaseOwners()).filter((id) => !owner.isAlive(id));
  return store.claim({ owner: owner.id, ttlMs: leaseTtlMs, limit, deadOwners });
}

/**
 * Opens a failed run again, without the steps that failed.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_RUN_FINAL`
 */
export async function reopenFailed(
  { store, clock, leaseTtlMs }: Keeping,
  owner: Owner,
  record: RunRecord,
  retryFailed: boolean,
): Promise<Lease> {
  if (record.status !== 'failed' || !retryFailed) throw finalError(record, retryFailed);
  const steps = await store.getSteps(record.id);
  // A failure after which the run went on has been dealt with: its dependents have run.
  const forgetSteps = steps
    .filter(({ iteration, status, decided }) => iteration < 0 && status === 'failed' && decided?.['handled'] !== true)
    .map(({ stepId }) => stepId);
  const deadlineAt = clock.now() + (record.definition as WorkflowDefinition).timeoutMs;
  const lease = await store.reopen(record.id, { owner: owner.id, ttlMs: leaseTtlMs, forgetSteps, deadlineAt });
  if (lease === undefined) throw finalError(record, retryFailed);
  return lease;
}

/** The refusal for a run that is over. */
export function finalError(run: Pick<RunRecord, 'id' | 'status'>, retryFailed: boolean): WorkflowError {
  const hint = run.status === 'failed' && !retryFailed ? ' (retryFailed runs its failed steps again)' : '';
  return new WorkflowError(
    'ERR_WORKFLOW_DAG_RUN_FINAL',
    `workflow ${run.id} is already in terminal state: ${run.status}${hint}`,
    { details: { runId: run.id, status: run.status } },
  );
}

/** The refusal of an idempotency key that stands for something else. */
export function keyConflict(runId: string): WorkflowError {
  return new WorkflowError(
    'ERR_WORKFLOW_DAG_CONFLICT',
    `The idempotency key belongs to run ${runId}, which has other input. Take a new key.`,
    { details: { runId } },
  );
}
