/** Where a run stands. The last four are final and never change again. */
export type RunStatus =
  'pending' | 'running' | 'waiting_for_elicitation' | 'completed' | 'failed' | 'cancelled' | 'timed_out';

/** Where a step stands; a step that has not begun has no record. */
export type StepStatus = 'running' | 'completed' | 'failed' | 'skipped';

/** Statuses that never change again. */
export const FINAL_STATUSES: readonly RunStatus[] = ['completed', 'failed', 'cancelled', 'timed_out'];

/** An error as it is stored and shown. */
export interface StoredError {
  readonly code: string;
  readonly message: string;
}

/** A run that is to be created. Values are JSON, with `bigint` for Go's int and `NIL_MAP`, and are not changed later. */
export interface NewRun {
  readonly id: string;
  readonly name: string;
  /** The definition as it was at the start; a resumed run uses it and nothing else. */
  readonly definition: object;
  /** Version of the snapshot's format. */
  readonly schemaVersion: number;
  /** Hash of definition, params and vars: tells whether a repeated idempotency key means the same. */
  readonly inputHash: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly vars: Readonly<Record<string, unknown>>;
  readonly options: Readonly<Record<string, unknown>>;
  /** Key of the principal; the empty text for nobody. */
  readonly principal: string;
  readonly tenant: string;
  readonly idempotencyKey: string | undefined;
  readonly createdAt: number;
  /** The whole run must be over by then. Milliseconds since 1970 UTC. */
  readonly deadlineAt: number;
}

/** A run as it is stored. */
export interface RunRecord extends NewRun {
  readonly status: RunStatus;
  readonly startedAt: number | undefined;
  readonly updatedAt: number;
  readonly endedAt: number | undefined;
  readonly output: unknown;
  readonly error: StoredError | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly cancelRequestedAt: number | undefined;
  readonly cancelReason: string | undefined;
  readonly leaseOwner: string | undefined;
  readonly leaseEpoch: number;
  readonly leaseExpiresAt: number | undefined;
  /** How often an owner vanished and another took over. */
  readonly recoveries: number;
  /** Rises with every change. */
  readonly version: number;
}

/** A step, or one iteration of a `forEach` step. */
export interface StepRecord {
  readonly stepId: string;
  /** -1 for the step itself, otherwise the index of the iteration. */
  readonly iteration: number;
  readonly status: StepStatus;
  /** Attempts begun. */
  readonly attempt: number;
  /** What was decided when the step began: the items of a `forEach` step, whether a failure counts as handled. */
  readonly decided: Readonly<Record<string, unknown>> | undefined;
  readonly output: unknown;
  readonly content: unknown;
  readonly error: StoredError | undefined;
  readonly retryCount: number;
  readonly fromCache: boolean;
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** Epoch of the lease under which it was written last. */
  readonly leaseEpoch: number;
}

/** State of a question. */
export type ElicitationState = 'pending' | 'answered' | 'expired' | 'withdrawn';

/** A question to the user. */
export interface ElicitationRecord {
  readonly stepId: string;
  readonly state: ElicitationState;
  readonly message: string;
  readonly schema: object;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly respondedAt: number | undefined;
  readonly action: 'accept' | 'decline' | 'cancel' | undefined;
  readonly content: unknown;
}

/** The right to work on a run until `expiresAt`. The epoch rises with each owner and fences the one before. */
export interface Lease {
  readonly runId: string;
  readonly owner: string;
  readonly epoch: number;
  readonly expiresAt: number;
}

/** One write of a runner. */
export type Change =
  | { readonly kind: 'step'; readonly step: StepRecord }
  | { readonly kind: 'elicitation'; readonly elicitation: ElicitationRecord }
  | {
      readonly kind: 'run';
      readonly status: RunStatus;
      readonly at: number;
      readonly output?: unknown;
      readonly error?: StoredError | undefined;
      readonly meta?: Readonly<Record<string, unknown>>;
    };

/** Which runs to list. */
export interface RunFilter {
  readonly status?: readonly RunStatus[] | undefined;
  readonly name?: string | undefined;
  readonly principal?: string | undefined;
  readonly createdSince?: number | undefined;
  readonly limit: number;
  /** Answer of the page before. */
  readonly cursor?: string | undefined;
}

/** A page of runs, newest first. */
export interface RunPage {
  readonly runs: readonly RunRecord[];
  readonly cursor: string | undefined;
}

/** A stored result of a tool. */
export interface CacheEntry {
  readonly key: string;
  readonly workflow: string;
  readonly tool: string;
  readonly output: unknown;
  readonly content: unknown;
  readonly bytes: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Until then an expired entry may still stand in for a failing tool. */
  readonly staleUntil: number;
}

/** Which cache entries to forget. */
export type CacheFilter =
  | { readonly tool: string }
  | { readonly workflow: string }
  | { readonly keyPrefix: string }
  | { readonly expiredBefore: number };

/** What became of an answer to a question. */
export type AnswerOutcome = 'answered' | 'missing' | 'already' | 'expired';

/** What became of a request to cancel. */
export type CancelOutcome =
  { readonly kind: 'requested' | 'missing' } | { readonly kind: 'final'; readonly status: RunStatus };

/**
 * Keeps runs. Every implementation passes the same contract tests.
 *
 * A runner's writes go through {@link Store.commit} with its lease; a lease whose epoch is not the newest writes nothing
 * (`ERR_WORKFLOW_DAG_LEASE_LOST`), so that two engines never both move a run.
 */
export interface Store {
  /** True where a committed change survives the process. Dependents then start only after the commit. */
  readonly durable: boolean;
  /** Creates a run and gives its lease, or answers the run that has the same tenant, name and idempotency key. */
  createRun(
    run: NewRun,
    claim: { readonly owner: string; readonly ttlMs: number },
  ): Promise<
    { readonly kind: 'created'; readonly lease: Lease } | { readonly kind: 'exists'; readonly run: RunRecord }
  >;
  getRun(runId: string): Promise<RunRecord | undefined>;
  /** All steps and iterations of a run, in the order of their first write. */
  getSteps(runId: string): Promise<readonly StepRecord[]>;
  getElicitations(runId: string): Promise<readonly ElicitationRecord[]>;
  listRuns(filter: RunFilter): Promise<RunPage>;
  /** How many runs there are of each status; those of which there are none may be missing. */
  countRuns(): Promise<ReadonlyMap<RunStatus, number>>;
  /** Who has a lease, over or not, on a run that is not final; each once. */
  leaseOwners(): Promise<readonly string[]>;
  /**
   * Takes runs that are not final and whose lease is free, over, or of an owner that is known to be dead; `runId` limits
   * it to one.
   */
  claim(options: {
    readonly owner: string;
    readonly ttlMs: number;
    readonly limit: number;
    readonly runId?: string | undefined;
    readonly deadOwners?: readonly string[] | undefined;
  }): Promise<readonly Lease[]>;
  /** Extends a lease. `ok` is false when it is lost. */
  heartbeat(
    lease: Lease,
    ttlMs: number,
  ): Promise<{ readonly ok: boolean; readonly cancelRequested: boolean; readonly cancelReason: string | undefined }>;
  /** Gives a lease back before its time. */
  release(lease: Lease): Promise<void>;
  /**
   * Writes all changes or none. A run's final status is written once: a later `run` change is ignored.
   *
   * @throws `WorkflowError` `ERR_WORKFLOW_DAG_LEASE_LOST` when the lease is not the newest.
   */
  commit(lease: Lease, changes: readonly Change[]): Promise<void>;
  /** Puts a failed run back to `running` and takes its lease; answers undefined where the run is not `failed`. */
  reopen(
    runId: string,
    options: {
      readonly owner: string;
      readonly ttlMs: number;
      readonly forgetSteps: readonly string[];
      readonly deadlineAt: number;
    },
  ): Promise<Lease | undefined>;
  /** Answers a pending question, from whichever process. */
  answerElicitation(
    runId: string,
    stepId: string,
    answer: { readonly action: 'accept' | 'decline' | 'cancel'; readonly content: unknown; readonly at: number },
  ): Promise<AnswerOutcome>;
  /** Leaves word for the owner of a run, or the next one, to cancel it. */
  requestCancel(runId: string, reason: string): Promise<CancelOutcome>;
  /** An entry whose `staleUntil` has not passed; the caller looks at `expiresAt`. */
  cacheGet(key: string): Promise<CacheEntry | undefined>;
  cachePut(entry: CacheEntry): Promise<void>;
  /**
   * Notes that somebody is about to make the result of a key; false where somebody else has, less than `ttlMs` ago.
   * It only spares work: who waits in vain makes the result as well.
   */
  cacheLock(key: string, ttlMs: number): Promise<boolean>;
  cacheUnlock(key: string): Promise<void>;
  /** Answers how many entries were forgotten. */
  cacheDelete(filter: CacheFilter): Promise<number>;
  /** Deletes a final run with everything that belongs to it; false where it is missing or not final. */
  deleteRun(runId: string): Promise<boolean>;
  /** Deletes final runs that ended before a time, at most `limit`; answers how many. */
  purge(options: { readonly endedBefore: number; readonly limit: number }): Promise<number>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
