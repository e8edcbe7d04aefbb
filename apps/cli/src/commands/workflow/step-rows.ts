import type { StepResult, StepStatus, WorkflowDefinition, WorkflowEvent } from '@thv/workflow-dag';

/** A step as the table shows it. */
export interface StepRow {
  readonly id: string;
  readonly status: 'waiting' | 'asking' | StepStatus;
  /** `2/4`: second of at most four attempts. */
  readonly attempt: string;
  /** Milliseconds; `undefined` before the start. */
  readonly elapsedMs: number | undefined;
  readonly note: string;
}

interface State {
  status: StepRow['status'];
  attempt: number;
  startedAt: number | undefined;
  durationMs: number | undefined;
  note: string;
  done: number;
  failed: number;
  readonly attempts: number;
  readonly after: readonly string[];
}

/** Follows the events of a run and knows how each step stands. */
export class StepRows {
  readonly #steps: Map<string, State>;

  constructor({ steps }: Pick<WorkflowDefinition, 'steps'>) {
    this.#steps = new Map(
      steps.map((step): [string, State] => {
        const retries =
          step.type === 'tool' && step.onError.action === 'retry' ? Math.min(10, step.onError.retryCount) : 0;
        const state = { attempt: 0, startedAt: undefined, durationMs: undefined, note: '', done: 0, failed: 0 };
        return [step.id, { ...state, status: 'waiting', attempts: retries + 1, after: step.dependsOn }];
      }),
    );
  }

  /** Takes in steps that were over before the events began. */
  restore(results: Readonly<Record<string, StepResult>>): void {
    for (const [id, { status, durationMs, retryCount, error, startedAt }] of Object.entries(results)) {
      const state = this.#steps.get(id);
      if (state === undefined || state.status !== 'waiting' || status === 'running') continue;
      const attempt = status === 'skipped' ? 0 : retryCount + 1;
      Object.assign(state, { status, attempt, durationMs, startedAt, note: error?.message ?? 'before' });
    }
  }

  /** Takes an event in; answers the id of a step that has changed. */
  apply(event: WorkflowEvent): string | undefined {
    if (!('stepId' in event)) return undefined;
    const state = this.#steps.get(event.stepId);
    if (state === undefined) return undefined;
    switch (event.type) {
      case 'step_started':
        Object.assign(state, { status: 'running', attempt: Math.max(1, state.attempt), startedAt: event.at, note: '' });
        break;
      case 'step_retrying':
        Object.assign(state, {
          attempt: event.attempt + 1,
          note: `retry in ${seconds(event.delayMs)}: ${event.error}`,
        });
        break;
      case 'iteration_completed':
      case 'iteration_failed':
        if (event.type === 'iteration_completed') state.done += 1;
        else state.failed += 1;
        state.note = counts(state);
        break;
      case 'elicitation_requested':
        Object.assign(state, { status: 'asking', note: event.message });
        break;
      case 'elicitation_answered':
        Object.assign(state, { status: 'running', note: event.action });
        break;
      default:
        this.#end(state, event);
    }
    return event.stepId;
  }

  #end(state: State, event: Extract<WorkflowEvent, { type: 'step_completed' | 'step_failed' | 'step_skipped' }>): void {
    state.status = event.status;
    state.durationMs = event.durationMs;
    if (event.status !== 'skipped') state.attempt = event.retryCount + 1;
    state.note =
      event.error ?? (event.fromCache ? 'from the cache' : state.done + state.failed > 0 ? counts(state) : '');
  }

  row(id: string, now: number): StepRow | undefined {
    const state = this.#steps.get(id);
    if (state === undefined) return undefined;
    const elapsed =
      state.durationMs ?? (state.startedAt === undefined ? undefined : Math.max(0, now - state.startedAt));
    const note = state.status === 'waiting' && state.after.length > 0 ? `after ${state.after.join(', ')}` : state.note;
    const attempt =
      state.attempt === 0
        ? ''
        : state.attempts > 1 && state.attempt > 1
          ? `${state.attempt}/${state.attempts}`
          : `${state.attempt}`;
    return { id, status: state.status, attempt, elapsedMs: elapsed, note };
  }

  rows(now: number): StepRow[] {
    return [...this.#steps.keys()].flatMap((id) => this.row(id, now) ?? []);
  }
}

function counts({ done, failed }: State): string {
  return failed === 0 ? `${done} done` : `${done} done, ${failed} failed`;
}

/** `0.8s`, `75s` as `1m15s`. */
export function seconds(milliseconds: number): string {
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)}s`;
  const whole = Math.round(milliseconds / 1000);
  return `${Math.floor(whole / 60)}m${whole % 60}s`;
}
