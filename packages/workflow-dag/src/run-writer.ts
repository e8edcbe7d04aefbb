import { WorkflowError } from './errors.js';
import type { WorkflowEvent } from './events.js';
import type { Services, StepStart } from './step-host.js';
import type { StepState } from './step-state.js';
import type { Change, Lease } from './store/port.js';

const DONE: Promise<void> = Promise.resolve();
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2000;

/** What the writer tells the run. */
export interface WriterTarget {
  publish(event: WorkflowEvent): void;
  launch(state: StepState, begin: StepStart): void;
  /** Nothing more can be written, and nothing more may be done. */
  lost(error: unknown): void;
}

/**
 * Puts a run's changes into the store before anybody acts on them: events are published and steps launched only after
 * the changes that belong to them are durable. One commit is under way at a time; what comes meanwhile goes with the
 * next, so that a busy run writes in groups and always in order. In a store that is not durable nothing waits.
 */
export class RunWriter {
  readonly #services: Services;
  readonly #lease: Lease;
  readonly #target: WriterTarget;
  #changes: Change[] = [];
  #events: WorkflowEvent[] = [];
  #starts: { readonly state: StepState; readonly begin: StepStart }[] = [];
  #current: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #closed = false;

  constructor(services: Services, lease: Lease, target: WriterTarget) {
    this.#services = services;
    this.#lease = lease;
    this.#target = target;
  }

  push(change: Change): void {
    this.#changes.push(change);
  }

  announce(event: WorkflowEvent): void {
    this.#events.push(event);
  }

  start(state: StepState, begin: StepStart): void {
    this.#starts.push({ state, begin });
  }

  /** Writes what has gathered; resolves when it is stored. */
  flush(): Promise<void> {
    if (this.#closed) return DONE;
    if (!this.#services.store.durable) return this.#flushLoosely();
    if (this.#changes.length + this.#events.length + this.#starts.length === 0)
      return this.#next ?? this.#current ?? DONE;
    if (this.#current === undefined) return this.#flushDurably();
    if (this.#next === undefined) {
      this.#next = this.#current.then(() => this.#flushDurably());
      this.#next.catch(() => undefined);
    }
    return this.#next;
  }

  /** Writes the last changes and takes no more. */
  end(): Promise<void> {
    const written = this.flush();
    return written.finally(() => {
      this.#closed = true;
    });
  }

  /** Forgets what has gathered and takes no more. */
  close(): void {
    this.#closed = true;
    this.#changes = [];
    this.#events = [];
    this.#starts = [];
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    while (this.#current !== undefined) await this.#current.catch(() => undefined);
  }

  #flushLoosely(): Promise<void> {
    const { store } = this.#services;
    let written = DONE;
    if (this.#changes.length > 0) {
      const changes = this.#changes;
      this.#changes = [];
      written = store.commit(this.#lease, changes);
      written.then(undefined, (error: unknown) => this.#notWritten(error));
    }
    this.#apply();
    return written;
  }

  /** Without durability a failed write ends nothing, unless another engine has the run. */
  #notWritten(error: unknown): void {
    if (WorkflowError.is(error, 'ERR_WORKFLOW_DAG_LEASE_LOST')) this.#target.lost(error);
    else this.#services.report(error);
  }

  #apply(): void {
    const events = this.#events;
    const starts = this.#starts;
    if (events.length > 0) {
      this.#events = [];
      for (const event of events) this.#target.publish(event);
    }
    if (starts.length > 0) {
      this.#starts = [];
      for (const { state, begin } of starts) this.#target.launch(state, begin);
    }
  }

  #flushDurably(): Promise<void> {
    this.#next = undefined;
    const batch = { changes: this.#changes, events: this.#events, starts: this.#starts };
    this.#changes = [];
    this.#events = [];
    this.#starts = [];
    const current = this.#commit(batch.changes).then(() => {
      if (this.#current === current) this.#current = undefined;
      if (this.#closed) return;
      for (const event of batch.events) this.#target.publish(event);
      for (const { state, begin } of batch.starts) this.#target.launch(state, begin);
    });
    this.#current = current;
    current.catch((error: unknown) => {
      this.#current = undefined;
      this.#target.lost(error);
    });
    return current;
  }

  /** Tries again while the lease would live: a full disk or a locked database passes. */
  async #commit(changes: readonly Change[]): Promise<void> {
    if (changes.length === 0) return;
    const { clock, leaseTtlMs, store } = this.#services;
    const giveUpAt = clock.now() + leaseTtlMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
      try {
        await store.commit(this.#lease, changes);
        return;
      } catch (error) {
        if (WorkflowError.is(error, 'ERR_WORKFLOW_DAG_LEASE_LOST')) throw error;
        const hopeless = this.#closed || error instanceof TypeError || WorkflowError.is(error);
        if (hopeless || clock.now() + pauseMs >= giveUpAt) {
          const reason = error instanceof Error ? error.message : String(error);
          throw new WorkflowError(
            'ERR_WORKFLOW_DAG_STORE',
            `The state of run ${this.#lease.runId} could not be written: ${reason}. The run stops here and can be resumed.`,
            { cause: error, details: { runId: this.#lease.runId } },
          );
        }
        this.#services.report(error);
        await new Promise<void>((resolve) => {
          clock.setTimer(pauseMs, resolve);
        });
      }
    }
  }
}
