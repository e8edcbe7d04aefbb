import { decode, encode } from './codec.js';
import type { CacheEntry, ElicitationRecord, NewRun, RunRecord, StepRecord, StoredError } from './port.js';
import type { CacheRow, ElicitRow, InputRow, RunRow, StepRow } from './schema.js';

/** PostgreSQL's driver answers 64-bit integers as text. */
function integer(value: number | string): number {
  return Number(value);
}

function optional(value: number | string | null): number | undefined {
  return value === null ? undefined : Number(value);
}

type Values = Readonly<Record<string, unknown>>;

export function runRow(run: NewRun, lease: { readonly owner: string; readonly expiresAt: number }): RunRow {
  return {
    id: run.id,
    name: run.name,
    schema_version: run.schemaVersion,
    input_hash: run.inputHash,
    principal: run.principal,
    tenant: run.tenant,
    idempotency_key: run.idempotencyKey ?? null,
    created_at: run.createdAt,
    deadline_at: run.deadlineAt,
    status: 'pending',
    started_at: null,
    updated_at: run.createdAt,
    ended_at: null,
    output: null,
    error: null,
    meta: '{}',
    cancel_requested_at: null,
    cancel_reason: null,
    lease_owner: lease.owner,
    lease_epoch: 1,
    lease_expires_at: lease.expiresAt,
    recoveries: 0,
    version: 1,
  };
}

export function inputRow(run: NewRun): InputRow {
  return {
    run_id: run.id,
    definition: definitionText(run.definition),
    params: encode(run.params) ?? '',
    vars: encode(run.vars) ?? '',
    options: encode(run.options) ?? '',
  };
}

const definitionTexts = new WeakMap<object, string>();

/** One definition runs many times. */
function definitionText(definition: object): string {
  let text = definitionTexts.get(definition);
  if (text === undefined) definitionTexts.set(definition, (text = encode(definition) ?? ''));
  return text;
}

export function toRun(row: RunRow & InputRow): RunRecord {
  return {
    id: row.id,
    name: row.name,
    definition: decode(row.definition) as object,
    schemaVersion: integer(row.schema_version),
    inputHash: row.input_hash,
    params: decode(row.params) as Values,
    vars: decode(row.vars) as Values,
    options: decode(row.options) as Values,
    principal: row.principal,
    tenant: row.tenant,
    idempotencyKey: row.idempotency_key ?? undefined,
    createdAt: integer(row.created_at),
    deadlineAt: integer(row.deadline_at),
    status: row.status as RunRecord['status'],
    startedAt: optional(row.started_at),
    updatedAt: integer(row.updated_at),
    endedAt: optional(row.ended_at),
    output: decode(row.output),
    error: decode(row.error) as StoredError | undefined,
    meta: decode(row.meta) as Values,
    cancelRequestedAt: optional(row.cancel_requested_at),
    cancelReason: row.cancel_reason ?? undefined,
    leaseOwner: row.lease_owner ?? undefined,
    leaseEpoch: integer(row.lease_epoch),
    leaseExpiresAt: optional(row.lease_expires_at),
    recoveries: integer(row.recoveries),
    version: integer(row.version),
  };
}

export function stepRow(runId: string, step: StepRecord): Omit<StepRow, 'seq'> {
  return {
    run_id: runId,
    step_id: step.stepId,
    iteration: step.iteration,
    status: step.status,
    attempt: step.attempt,
    decided: encode(step.decided),
    output: encode(step.output),
    content: encode(step.content),
    error: encode(step.error),
    retry_count: step.retryCount,
    from_cache: step.fromCache ? 1 : 0,
    started_at: step.startedAt,
    ended_at: step.endedAt ?? null,
    lease_epoch: step.leaseEpoch,
  };
}

export function toStep(row: Omit<StepRow, 'seq'>): StepRecord {
  return {
    stepId: row.step_id,
    iteration: integer(row.iteration),
    status: row.status as StepRecord['status'],
    attempt: integer(row.attempt),
    decided: decode(row.decided) as Values | undefined,
    output: decode(row.output),
    content: decode(row.content),
    error: decode(row.error) as StoredError | undefined,
    retryCount: integer(row.retry_count),
    fromCache: integer(row.from_cache) === 1,
    startedAt: integer(row.started_at),
    endedAt: optional(row.ended_at),
    leaseEpoch: integer(row.lease_epoch),
  };
}

export function elicitRow(runId: string, question: ElicitationRecord): ElicitRow {
  return {
    run_id: runId,
    step_id: question.stepId,
    state: question.state,
    message: question.message,
    schema: encode(question.schema) ?? '',
    created_at: question.createdAt,
    expires_at: question.expiresAt,
    responded_at: question.respondedAt ?? null,
    action: question.action ?? null,
    content: encode(question.content),
  };
}

export function toElicitation(row: ElicitRow): ElicitationRecord {
  return {
    stepId: row.step_id,
    state: row.state as ElicitationRecord['state'],
    message: row.message,
    schema: decode(row.schema) as object,
    createdAt: integer(row.created_at),
    expiresAt: integer(row.expires_at),
    respondedAt: optional(row.responded_at),
    action: (row.action ?? undefined) as ElicitationRecord['action'],
    content: decode(row.content),
  };
}

export function cacheRow(entry: CacheEntry): CacheRow {
  return {
    key: entry.key,
    workflow: entry.workflow,
    tool: entry.tool,
    output: encode(entry.output) ?? '',
    content: encode(entry.content) ?? '',
    bytes: entry.bytes,
    created_at: entry.createdAt,
    expires_at: entry.expiresAt,
    stale_until: entry.staleUntil,
  };
}

export function toCacheEntry(row: CacheRow): CacheEntry {
  return {
    key: row.key,
    workflow: row.workflow,
    tool: row.tool,
    output: decode(row.output),
    content: decode(row.content),
    bytes: integer(row.bytes),
    createdAt: integer(row.created_at),
    expiresAt: integer(row.expires_at),
    staleUntil: integer(row.stale_until),
  };
}
