import type { NewRun, RunRecord } from './port.js';

/** The same members, to be written. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Written out: spreading so many members costs more than ten steps. */
export function newRecord(run: NewRun, leaseOwner: string, leaseExpiresAt: number): Writable<RunRecord> {
  return {
    id: run.id,
    name: run.name,
    definition: run.definition,
    schemaVersion: run.schemaVersion,
    inputHash: run.inputHash,
    params: run.params,
    vars: run.vars,
    options: run.options,
    principal: run.principal,
    tenant: run.tenant,
    idempotencyKey: run.idempotencyKey,
    createdAt: run.createdAt,
    deadlineAt: run.deadlineAt,
    status: 'pending',
    startedAt: undefined,
    updatedAt: run.createdAt,
    endedAt: undefined,
    output: undefined,
    error: undefined,
    meta: {},
    cancelRequestedAt: undefined,
    cancelReason: undefined,
    leaseOwner,
    leaseEpoch: 1,
    leaseExpiresAt,
    recoveries: 0,
    version: 1,
  };
}
