import type { Deadline } from './deadlines.js';
import type { Step } from './definition.js';
import type { RetryPolicy } from './retry.js';
import type { ElicitationRecord, StepRecord, StepStatus, StoredError } from './store/port.js';

/** A step of a compiled definition. */
export interface StepPlan {
  readonly index: number;
  readonly step: Step;
  readonly retry: RetryPolicy;
  /** The run goes on when the step has failed for good. */
  readonly failureHandled: boolean;
}

/** What an earlier process left behind of a step that was not over. */
export interface Restored {
  readonly record: StepRecord;
  readonly iterations: readonly StepRecord[];
  readonly elicitation: ElicitationRecord | undefined;
}

/** One step of one run. */
export class StepState {
  readonly plan: StepPlan;
  status: StepStatus | undefined;
  attempt = 0;
  retryCount = 0;
  startedAt = 0;
  endedAt = 0;
  output: unknown;
  content: unknown;
  error: StoredError | undefined;
  fromCache = false;
  decided: Record<string, unknown> | undefined;
  deadline: Deadline | undefined;
  restored: Restored | undefined;
  /** What a step that ends from outside has achieved so far. */
  partial: (() => unknown) | undefined;
  #controller: AbortController | undefined;
  #abortReason: unknown;
  #cleanups: Set<() => void> | undefined;

  constructor(plan: StepPlan) {
    this.plan = plan;
  }

  get id(): string {
    return this.plan.step.id;
  }

  get isOver(): boolean {
    return this.status !== undefined && this.status !== 'running';
  }

  /** Made when first read: most tools never look at it, and a controller for each step costs more than the step. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  /** Tells whoever works for the step to stop, and stops its timers. */
  abort(reason: unknown): void {
    this.#abortReason ??= reason;
    this.#controller?.abort(reason);
    this.runCleanups();
  }

  /** Calls back when the step is over; the answer takes that back. */
  onOver(cleanup: () => void): () => void {
    (this.#cleanups ??= new Set()).add(cleanup);
    return () => this.#cleanups?.delete(cleanup);
  }

  runCleanups(): void {
    if (this.#cleanups === undefined) return;
    const cleanups = this.#cleanups;
    this.#cleanups = undefined;
    for (const cleanup of cleanups) cleanup();
  }

  toRecord(leaseEpoch: number): StepRecord {
    return {
      stepId: this.plan.step.id,
      iteration: -1,
      status: this.status ?? 'running',
      attempt: this.attempt,
      decided: this.decided,
      output: this.output,
      content: this.content,
      error: this.error,
      retryCount: this.retryCount,
      fromCache: this.fromCache,
      startedAt: this.startedAt,
      endedAt: this.endedAt === 0 ? undefined : this.endedAt,
      leaseEpoch,
    };
  }
}
