import { EventLog, type StepEndedEvent, type StepStartedEvent, type WorkflowEvent } from './events.js';
import type { NewEvent, Services } from './step-host.js';
import type { StepState } from './step-state.js';

/** Numbers the events of one run and hands them to its readers. */
export class RunFeed {
  readonly log: EventLog;
  readonly #services: Services;
  readonly #runId: string;
  readonly #totalSteps: number;
  #seq = 0;

  constructor(services: Services, runId: string, totalSteps: number) {
    this.log = new EventLog(runId, services.limits.maxEvents);
    this.#services = services;
    this.#runId = runId;
    this.#totalSteps = totalSteps;
  }

  stamp(event: NewEvent): WorkflowEvent {
    this.#seq += 1;
    return { ...event, seq: this.#seq, at: this.#services.clock.now(), runId: this.#runId };
  }

  // The two events that every step has are written out: spreading costs more than the rest of the step.

  stepStarted({ plan: { step } }: StepState, at: number): StepStartedEvent {
    this.#seq += 1;
    const tool = step.type === 'tool' ? step.tool : step.type === 'forEach' ? step.step.tool : undefined;
    return { type: 'step_started', seq: this.#seq, at, runId: this.#runId, stepId: step.id, tool };
  }

  stepEnded(state: StepState, status: 'completed' | 'failed' | 'skipped', finished: number): StepEndedEvent {
    this.#seq += 1;
    return {
      type: status === 'completed' ? 'step_completed' : status === 'failed' ? 'step_failed' : 'step_skipped',
      seq: this.#seq,
      at: state.endedAt,
      runId: this.#runId,
      stepId: state.id,
      status,
      durationMs: state.endedAt - state.startedAt,
      retryCount: state.retryCount,
      fromCache: state.fromCache,
      finished,
      totalSteps: this.#totalSteps,
      error: state.error?.message,
    };
  }

  publish(event: WorkflowEvent): void {
    this.log.push(event);
    const { onEvent, report } = this.#services;
    if (onEvent === undefined) return;
    try {
      onEvent(event);
    } catch (error) {
      report(error);
    }
  }
}
