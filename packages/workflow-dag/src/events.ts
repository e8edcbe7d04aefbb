import type { RunStatus, StepStatus } from './store/port.js';

interface Base {
  /** Rises by one within a run, from 1. */
  readonly seq: number;
  /** Milliseconds since 1970 UTC. */
  readonly at: number;
  readonly runId: string;
}

/** The run began, or went on after a crash or in another process. */
export interface RunStartedEvent extends Base {
  readonly type: 'run_started' | 'run_resumed';
  readonly name: string;
  readonly totalSteps: number;
}

/** The run is over; nothing follows. */
export interface RunEndedEvent extends Base {
  readonly type: 'run_completed' | 'run_failed' | 'run_cancelled' | 'run_timed_out';
  readonly status: RunStatus;
  readonly durationMs: number;
  readonly error: string | undefined;
}

/** A step began. */
export interface StepStartedEvent extends Base {
  readonly type: 'step_started';
  readonly stepId: string;
  /** Reference of the tool; absent for a question. */
  readonly tool: string | undefined;
}

/** An attempt failed and another follows after `delayMs`. */
export interface StepRetryingEvent extends Base {
  readonly type: 'step_retrying';
  readonly stepId: string;
  /** The attempt that failed, from 1. */
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: string;
}

/** A step reached its final status. */
export interface StepEndedEvent extends Base {
  readonly type: 'step_completed' | 'step_failed' | 'step_skipped';
  readonly stepId: string;
  readonly status: StepStatus;
  readonly durationMs: number;
  readonly retryCount: number;
  readonly fromCache: boolean;
  /** How many steps of the run are final now, and how many there are. */
  readonly finished: number;
  readonly totalSteps: number;
  readonly error: string | undefined;
}

/** One item of a `forEach` step is done. */
export interface IterationEvent extends Base {
  readonly type: 'iteration_completed' | 'iteration_failed';
  readonly stepId: string;
  readonly index: number;
  readonly error?: string;
}

/** A question goes to the user. */
export interface ElicitationRequestedEvent extends Base {
  readonly type: 'elicitation_requested';
  readonly stepId: string;
  readonly message: string;
  /** Milliseconds since 1970 UTC. */
  readonly expiresAt: number;
}

/** A question has been answered, or not in time. The answer itself is not told. */
export interface ElicitationAnsweredEvent extends Base {
  readonly type: 'elicitation_answered';
  readonly stepId: string;
  readonly action: 'accept' | 'decline' | 'cancel' | 'timeout';
}

/** This reader was too slow: `count` events were dropped before the next one. */
export interface EventsDroppedEvent extends Base {
  readonly type: 'events_dropped';
  readonly count: number;
}

/** What happens during a run. No event carries arguments or outputs. */
export type WorkflowEvent =
  | RunStartedEvent
  | RunEndedEvent
  | StepStartedEvent
  | StepRetryingEvent
  | StepEndedEvent
  | IterationEvent
  | ElicitationRequestedEvent
  | ElicitationAnsweredEvent
  | EventsDroppedEvent;

/**
 * The events of one run for any number of readers. Each reader starts at the oldest event kept, and a reader that falls
 * behind by more than `capacity` events is told how many it missed. Nothing waits for a reader.
 */
export class EventLog implements AsyncIterable<WorkflowEvent> {
  readonly #capacity: number;
  readonly #runId: string;
  #kept: WorkflowEvent[] = [];
  /** Events before `#kept[0]`. */
  #dropped = 0;
  #ended = false;
  #waiting: (() => void)[] = [];

  constructor(runId: string, capacity: number) {
    this.#runId = runId;
    this.#capacity = capacity;
  }

  /** Number of the next event. */
  get nextSeq(): number {
    return this.#dropped + this.#kept.length + 1;
  }

  /** Appends an event whose `seq` is {@link nextSeq}. */
  push(event: WorkflowEvent): void {
    this.#kept.push(event);
    // Cutting in halves keeps an append constant in cost; a shift per event would not be.
    if (this.#kept.length >= this.#capacity * 2) {
      this.#dropped += this.#kept.length - this.#capacity;
      this.#kept = this.#kept.slice(-this.#capacity);
    }
    if (this.#waiting.length > 0) this.#wake();
  }

  /** No event follows. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<WorkflowEvent> {
    let position = 0;
    for (;;) {
      if (position < this.#dropped) {
        const next = this.#kept[0];
        yield {
          type: 'events_dropped',
          seq: this.#dropped,
          at: next?.at ?? 0,
          runId: this.#runId,
          count: this.#dropped - position,
        };
        position = this.#dropped;
        continue;
      }
      const event = this.#kept[position - this.#dropped];
      if (event !== undefined) {
        position += 1;
        yield event;
      } else if (this.#ended) {
        return;
      } else {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
    }
  }
}
