import type { ActiveRun } from './active-run.js';
import { WorkflowError } from './errors.js';
import type { Services } from './step-host.js';

/** Renews the leases of all live runs on one timer, and hears at the same time whether somebody wants one cancelled. */
export class LeaseKeeper {
  readonly #services: Services;
  readonly #everyMs: number;
  readonly #renewedAt = new Map<ActiveRun, number>();
  #stop: (() => void) | undefined;
  #renewing = false;

  constructor(services: Services, everyMs: number) {
    this.#services = services;
    this.#everyMs = everyMs;
  }

  add(run: ActiveRun): void {
    this.#renewedAt.set(run, this.#services.clock.now());
    this.#arm();
  }

  remove(run: ActiveRun): void {
    this.#renewedAt.delete(run);
    if (this.#renewedAt.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
  }

  #arm(): void {
    if (this.#renewing) return;
    this.#stop ??= this.#services.clock.setTimer(this.#everyMs, () => {
      this.#stop = undefined;
      this.#renewing = true;
      void Promise.all([...this.#renewedAt.keys()].map((run) => this.#renew(run))).then(() => {
        this.#renewing = false;
        if (this.#renewedAt.size > 0) this.#arm();
      });
    });
  }

  async #renew(run: ActiveRun): Promise<void> {
    const { store, clock, leaseTtlMs } = this.#services;
    try {
      const beat = await store.heartbeat(run.lease, leaseTtlMs);
      if (!this.#renewedAt.has(run)) return;
      if (!beat.ok) {
        const text = `Another engine took over run ${run.id}; this one stops.`;
        run.giveUp(new WorkflowError('ERR_WORKFLOW_DAG_LEASE_LOST', text, { details: { runId: run.id } }));
        return;
      }
      this.#renewedAt.set(run, clock.now());
      if (beat.cancelRequested) void run.cancel(beat.cancelReason).catch(() => undefined);
      else run.lookForAnswers();
    } catch (error) {
      this.#services.report(error);
      // Past its lease an engine must assume that another one has the run.
      if (clock.now() - (this.#renewedAt.get(run) ?? 0) < leaseTtlMs) return;
      const text = `The lease of run ${run.id} could not be renewed. The run stops here and can be resumed.`;
      run.giveUp(new WorkflowError('ERR_WORKFLOW_DAG_STORE', text, { cause: error, details: { runId: run.id } }));
    }
  }
}
