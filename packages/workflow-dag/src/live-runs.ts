import type { ActiveRun } from './active-run.js';
import { WorkflowError } from './errors.js';

/** The runs that an engine moves, and how many each principal has. */
export class LiveRuns {
  readonly #maxPerPrincipal: number;
  readonly #runs = new Map<string, ActiveRun>();
  readonly #counts = new Map<string, number>();

  constructor(maxPerPrincipal: number) {
    this.#maxPerPrincipal = maxPerPrincipal;
  }

  get size(): number {
    return this.#runs.size;
  }

  get(runId: string): ActiveRun | undefined {
    return this.#runs.get(runId);
  }

  all(): readonly ActiveRun[] {
    return [...this.#runs.values()];
  }

  add(run: ActiveRun): void {
    this.#runs.set(run.id, run);
  }

  /** Answers the run, once. */
  remove(runId: string): ActiveRun | undefined {
    const run = this.#runs.get(runId);
    this.#runs.delete(runId);
    return run;
  }

  /**
   * Counts a run before anything is done for it, so that two at the same moment are two. A run that goes on is counted
   * but never refused.
   *
   * @returns Takes the count back, once.
   * @throws `WorkflowError` `ERR_WORKFLOW_DAG_LIMIT`
   */
  reserve(principal: string, goesOn = false): () => void {
    const count = this.#counts.get(principal) ?? 0;
    if (count >= this.#maxPerPrincipal && !goesOn) {
      throw new WorkflowError(
        'ERR_WORKFLOW_DAG_LIMIT',
        `${count} workflows of this caller are under way already. Wait for one to end, or raise \`limits.maxRunsPerPrincipal\`.`,
        { details: { maxRunsPerPrincipal: this.#maxPerPrincipal } },
      );
    }
    this.#counts.set(principal, count + 1);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const left = (this.#counts.get(principal) ?? 1) - 1;
      if (left > 0) this.#counts.set(principal, left);
      else this.#counts.delete(principal);
    };
  }
}
