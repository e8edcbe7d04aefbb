import type { WorkflowDefinition } from './definition.js';
import type { JsonObject } from './json.js';
import type { RunOptions } from './options.js';
import type { PlanStats } from './plan.js';
import type { Run, StepResult } from './run-types.js';
import type { CacheFilter, RunStatus, StoredError } from './store/port.js';

/** A run in a listing. Times are milliseconds since 1970 UTC. */
export interface RunSummary {
  readonly runId: string;
  readonly name: string;
  readonly status: RunStatus;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly updatedAt: number;
  readonly endedAt: number | undefined;
  /** Until now where the run is not over. */
  readonly durationMs: number;
  readonly error: StoredError | undefined;
  /** The run is not over and nobody works on it: its process is gone. `resume` goes on with it. */
  readonly interrupted: boolean;
  /** How often another process took over. */
  readonly recoveries: number;
  /** Key of the principal; the empty text for nobody. */
  readonly principal: string;
  /** Rises with every change. */
  readonly version: number;
}

/** A question that waits for its answer. */
export interface PendingElicitation {
  readonly stepId: string;
  readonly message: string;
  readonly schema: object;
  readonly expiresAt: number;
}

/** All that is known of a run. Ids are in the order in which the steps began. */
export interface WorkflowStatus extends RunSummary {
  readonly currentSteps: readonly string[];
  readonly completedSteps: readonly string[];
  readonly failedSteps: readonly string[];
  readonly skippedSteps: readonly string[];
  readonly pendingElicitations: readonly PendingElicitation[];
  /** Steps that began, by id; without prototype. */
  readonly steps: Readonly<Record<string, StepResult>>;
  readonly params: Readonly<Record<string, unknown>>;
  readonly output: Readonly<Record<string, unknown>> | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly stats: PlanStats;
}

/** Which runs to list. */
export interface ListOptions {
  readonly status?: readonly RunStatus[];
  readonly name?: string;
  /** As {@link RunSummary.principal}. */
  readonly principal?: string;
  /** Milliseconds since 1970 UTC. */
  readonly createdSince?: number;
  /** @defaultValue 50 */
  readonly limit?: number;
  readonly cursor?: string;
}

/** How many runs there are. */
export type RunStats = Readonly<Record<RunStatus | 'total', number>>;

/** How to go on with a run. */
export interface ResumeOptions {
  /** Run failed steps of a failed run again; without it such a run is over. @defaultValue false */
  readonly retryFailed?: boolean;
  readonly signal?: AbortSignal;
}

/** What the user says to a question. */
export interface ElicitationAnswer {
  readonly action: 'accept' | 'decline' | 'cancel';
  /** Only with `accept`; must match the question's schema. */
  readonly content?: JsonObject;
}

/** Runs workflows. One engine serves any number of runs and of definitions. */
export interface Engine {
  /**
   * Starts a run. Defaults are applied and parameters checked before anything happens.
   *
   * @param definition - Kept by reference and not changed; its copy is stored with the run.
   * @throws `WorkflowError` `ERR_WORKFLOW_DAG_PARAMETERS`, `ERR_WORKFLOW_DAG_LIMIT`, `ERR_WORKFLOW_DAG_CONFLICT`,
   * `ERR_WORKFLOW_DAG_CLOSED`, `ERR_WORKFLOW_DAG_CYCLE`, `ERR_WORKFLOW_DAG_INVALID`
   */
  run(definition: WorkflowDefinition, params?: JsonObject, options?: RunOptions): Promise<Run>;
  /**
   * Goes on with a run whose process is gone. Completed steps are not repeated; a step that was under way follows its
   * `resume` rule. A run of this engine is answered as it is.
   *
   * @throws `WorkflowError` `ERR_WORKFLOW_DAG_RUN_NOT_FOUND`, `ERR_WORKFLOW_DAG_RUN_FINAL`, `ERR_WORKFLOW_DAG_BUSY`
   */
  resume(runId: string, options?: ResumeOptions): Promise<Run>;
  /** Takes over runs whose owner is gone, at most `limit`. @defaultValue limit 100 */
  recover(options?: { readonly limit?: number }): Promise<readonly Run[]>;
  /** Calls {@link Engine.recover} now and then, about every `intervalMs`, until the engine is closed. @defaultValue 15000 */
  startRecovery(options?: { readonly intervalMs?: number }): void;
  /** The run of an id, while this engine moves it. */
  live(runId: string): Run | undefined;
  /** @throws `WorkflowError` `ERR_WORKFLOW_DAG_RUN_NOT_FOUND` */
  status(runId: string): Promise<WorkflowStatus>;
  /** How many runs the store has, in all and by status. */
  stats(): Promise<RunStats>;
  list(options?: ListOptions): Promise<{ readonly runs: readonly RunSummary[]; readonly cursor: string | undefined }>;
  /**
   * Cancels a run, wherever it is: here at once, elsewhere with the owner's next heartbeat, and a run without owner
   * before it can start anything.
   *
   * @throws `WorkflowError` `ERR_WORKFLOW_DAG_RUN_NOT_FOUND`, `ERR_WORKFLOW_DAG_RUN_FINAL`
   */
  cancel(runId: string, reason?: string): Promise<void>;
  /**
   * Answers a question of a run, wherever it is.
   *
   * @throws `WorkflowError` `ERR_WORKFLOW_DAG_RUN_NOT_FOUND`; `ERR_WORKFLOW_DAG_CONFLICT` where it has been answered or
   * is over; `ERR_WORKFLOW_DAG_ELICITATION` where the content does not match the schema, and the question stays open.
   */
  answer(runId: string, stepId: string, answer: ElicitationAnswer): Promise<void>;
  /** Deletes a run that is over. @throws `WorkflowError` `ERR_WORKFLOW_DAG_RUN_NOT_FOUND`, `ERR_WORKFLOW_DAG_CONFLICT` */
  delete(runId: string): Promise<void>;
  /** Forgets cached results; answers how many. */
  forgetCached(filter: CacheFilter): Promise<number>;
  /**
   * Stops. In a durable store runs stay as they are and can be resumed; in memory they are cancelled. Steps under way
   * get `drainMs` to finish. Idempotent. @defaultValue drainMs 0
   */
  close(options?: { readonly drainMs?: number }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
