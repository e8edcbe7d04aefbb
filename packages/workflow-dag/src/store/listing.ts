import { WorkflowError } from '../errors.js';
import type { Lease } from './port.js';

/** Position of a run in a listing: its time of creation, then its id. */
export function cursorOf(run: { readonly createdAt: number; readonly id: string }): string {
  return `${String(run.createdAt).padStart(16, '0')}:${run.id}`;
}

/** @throws `WorkflowError` `ERR_WORKFLOW_DAG_ARGUMENT` */
export function parseCursor(cursor: string): { readonly createdAt: number; readonly id: string } {
  const match = /^([0-9]{1,16}):(.+)$/s.exec(cursor);
  if (match === null) {
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_ARGUMENT',
      `Expected \`cursor\` to be that of an earlier page, got \`${cursor.slice(0, 100)}\``,
    );
  }
  return { createdAt: Number(match[1]), id: match[2] ?? '' };
}

/** The refusal of a write whose lease is not the newest. */
export function leaseLost({ runId, epoch }: Lease): WorkflowError {
  return new WorkflowError('ERR_WORKFLOW_DAG_LEASE_LOST', `Another engine took over run ${runId}; this one stops.`, {
    details: { runId, epoch },
  });
}
