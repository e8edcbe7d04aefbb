import type { WorkflowEvent } from './events.js';
import type { PlanStats } from './plan.js';
import type { RunStatus, StepStatus, StoredError } from './store/port.js';

/** How one step ended. */
export interface StepResult {
  readonly stepId: string;
  readonly status: StepStatus;
  /** Absent where the step left none: skipped or failed without `defaultResults`. */
  readonly output: unknown;
  /** The items of the tool's content by kind, also where structured content became the output. */
  readonly content: unknown;
  /** Also there when the run went on after the failure. */
  readonly error: StoredError | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly durationMs: number;
  /** Attempts after the first. */
  readonly retryCount: number;
  readonly fromCache: boolean;
}

/** How a run ended. A failed run is a result too: nothing is thrown for it. */
export interface WorkflowResult {
  readonly runId: string;
  readonly name: string;
  readonly status: RunStatus;
  /** The constructed output, that of the step which completed last, or an empty object. */
  readonly output: Readonly<Record<string, unknown>>;
  /** Steps that began, by id. The object has no prototype. */
  readonly steps: Readonly<Record<string, StepResult>>;
  /** Ids of failed steps, those included after which the run went on. */
  readonly failedSteps: readonly string[];
  readonly error?: StoredError;
  /** Milliseconds since 1970 UTC. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly durationMs: number;
  /** `skippedBy`: the question whose answer skipped the rest. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly stats: PlanStats;
}

/** A run under way. */
export interface Run {
  readonly id: string;
  /**
   * Settles when the run is over and its final state is stored. Rejects only where this engine may not say how it ends:
   * `ERR_WORKFLOW_DAG_LEASE_LOST`, `ERR_WORKFLOW_DAG_STORE`, `ERR_WORKFLOW_DAG_CLOSED`.
   */
  readonly result: Promise<WorkflowResult>;
  /**
   * Every reader gets all events that are still kept; a slow one is told how many it missed. A run of another process
   * tells its events there, and none here.
   */
  readonly events: AsyncIterable<WorkflowEvent>;
  /** Stops the run: aborts what is under way, starts nothing more. Resolves when the run is over. */
  cancel(reason?: string): Promise<WorkflowResult>;
}
