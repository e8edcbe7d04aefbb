import type { TemplateData } from './context.js';
import { LIMITS, type ForEachStep } from './definition.js';
import { WorkflowError } from './errors.js';
import type { ToolInfo } from './ports.js';
import { DEFAULT_RETRY_DELAY_MS, MAX_RETRIES, NO_RETRY, type RetryPolicy } from './retry.js';
import { repeatRule } from './resume.js';
import { messageOf, planCall, runCall } from './run-step.js';
import type { StepHost, StepOutcome, StepStart } from './step-host.js';
import { checkSize } from './step-output.js';
import type { StepState } from './step-state.js';
import type { Change, StepRecord } from './store/port.js';

type IterationStatus = 'completed' | 'failed' | 'cancelled';

interface Iteration {
  status: IterationStatus | undefined;
  output: unknown;
  error: string | undefined;
  /** Attempts that an earlier process made, when it died in the middle. */
  spent: number;
  startedAt: number;
}

/**
 * Resolves the collection of a `forEach` step; the items are kept, so that a resumed step has the same.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_ITERATION`
 */
export function prepareForEach(host: StepHost, state: StepState, step: ForEachStep): StepStart {
  const kept = state.restored?.record.decided?.['items'];
  const items = Array.isArray(kept) ? (kept as readonly unknown[]) : resolveItems(host, step);
  const limit = Math.min(step.maxIterations, host.services.limits.maxIterations);
  if (items.length > limit) {
    throw failure(step.id, `collection size ${items.length} exceeds maxIterations ${limit}`);
  }
  const data = host.data();
  // A snapshot: an iteration that starts late must not see what siblings of the step have done meanwhile.
  const snapshot = { ...data, steps: new Map(data.steps) };
  state.decided = { ...state.decided, items };
  state.attempt = 1;
  const loop = new ForEachLoop(host, state, step, items, snapshot);
  state.partial = () => loop.aggregate();
  return () => loop.run();
}

function resolveItems(host: StepHost, step: ForEachStep): readonly unknown[] {
  let text: string;
  try {
    text = host.services.templates.render(step.collection, host.data());
  } catch (error) {
    throw failure(step.id, `failed to expand collection template: ${messageOf(error)}`, error);
  }
  let items: unknown;
  try {
    items = JSON.parse(text);
  } catch {
    items = undefined;
  }
  if (items === null) return [];
  if (Array.isArray(items)) return items;
  const runes = Array.from(text.slice(0, 400));
  const shown = runes.length > 100 ? `${runes.slice(0, 100).join('')}…` : text;
  throw failure(
    step.id,
    `collection must resolve to a JSON array, got: ${shown} (render it with json, for example {{json .steps.a.output.items}})`,
  );
}

function failure(stepId: string, reason: string, cause?: unknown): WorkflowError {
  return new WorkflowError('ERR_WORKFLOW_DAG_ITERATION', `forEach step ${stepId}: ${reason}`, {
    cause,
    details: { stepId },
  });
}

class ForEachLoop {
  readonly #host: StepHost;
  readonly #state: StepState;
  readonly #step: ForEachStep;
  readonly #items: readonly unknown[];
  readonly #data: TemplateData;
  readonly #iterations: Iteration[];
  readonly #retry: RetryPolicy;
  readonly #goesOn: boolean;
  readonly #parallel: number;
  #next = 0;
  #active = 0;
  #ended = 0;
  #bytes = 0;
  #settle: { readonly resolve: (outcome: StepOutcome) => void; readonly reject: (error: unknown) => void } | undefined;

  constructor(host: StepHost, state: StepState, step: ForEachStep, items: readonly unknown[], data: TemplateData) {
    this.#host = host;
    this.#state = state;
    this.#step = step;
    this.#items = items;
    this.#data = data;
    this.#iterations = items.map(() => ({
      status: undefined,
      output: undefined,
      error: undefined,
      spent: 0,
      startedAt: 0,
    }));
    this.#retry = innerRetry(step, host);
    this.#goesOn = step.onError.action === 'continue';
    this.#parallel = Math.min(step.maxParallel ?? host.services.limits.maxParallel, LIMITS.parallel);
    for (const record of state.restored?.iterations ?? []) this.#restore(record);
  }

  #restore(record: StepRecord): void {
    const iteration = this.#iterations[record.iteration];
    if (iteration === undefined) return;
    iteration.startedAt = record.startedAt;
    if (record.status === 'running') {
      iteration.spent = record.attempt;
      return;
    }
    iteration.status = record.status === 'completed' ? 'completed' : 'failed';
    iteration.output = record.output;
    iteration.error = record.error?.message;
    this.#ended += 1;
  }

  /** Resolves when all iterations are over, or rejects with the first failure that nothing forgives. */
  run(): Promise<StepOutcome> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      const broken = this.#goesOn ? -1 : this.#iterations.findIndex(({ status }) => status === 'failed');
      if (broken >= 0) this.#giveUp(broken);
      else this.#pump([]);
    });
  }

  #pump(changes: Change[]): void {
    const begun: number[] = [];
    while (this.#active < this.#parallel && this.#next < this.#items.length) {
      const index = this.#next++;
      const iteration = this.#iterations[index];
      if (iteration === undefined || iteration.status !== undefined) continue;
      if (iteration.spent === 0) iteration.startedAt = this.#host.services.clock.now();
      this.#active += 1;
      begun.push(index);
      if (this.#host.services.store.durable) changes.push(this.#change(index, iteration.spent + 1));
    }
    if (changes.length === 0) return this.#launch(begun);
    // A lost store ends the whole run; nobody waits here then.
    this.#host.write(changes).then(
      () => this.#launch(begun),
      () => undefined,
    );
  }

  #launch(begun: readonly number[]): void {
    if (this.#state.isOver) return;
    for (const index of begun) this.#start(index);
    if (this.#ended === this.#items.length) this.#settle?.resolve({ output: this.aggregate(), content: {} });
  }

  #start(index: number): void {
    this.#call(index).then(
      (outcome) => this.#end(index, 'completed', outcome, undefined),
      (error: unknown) => this.#end(index, 'failed', undefined, error),
    );
  }

  async #call(index: number): Promise<StepOutcome> {
    const data = { ...this.#data, forEach: { [this.#step.itemVar]: this.#items[index], index: BigInt(index) } };
    const spent = this.#iterations[index]?.spent ?? 0;
    const call = planCall(this.#host, this.#state.id, this.#step.step, data, {
      iteration: index,
      retry: this.#retry,
      spent,
      onAttempt: async (attempt) => {
        if (this.#host.services.store.durable) await this.#host.write([this.#change(index, attempt)]);
      },
    });
    if (spent > 0) this.#checkDoubt(index, call.tool);
    return runCall(this.#host, this.#state, call);
  }

  #checkDoubt(index: number, tool: ToolInfo): void {
    if (repeatRule(this.#step.resume, this.#step.step, tool) === 'retry') return;
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_IN_DOUBT',
      `iteration ${index} was under way when its process died, and nothing says that ${tool.name} may be called twice`,
    );
  }

  #end(index: number, status: 'completed' | 'failed', outcome: StepOutcome | undefined, error: unknown): void {
    const iteration = this.#iterations[index];
    if (this.#state.isOver || iteration === undefined || this.#settle === undefined) return;
    this.#active -= 1;
    this.#ended += 1;
    iteration.status = status;
    iteration.output = outcome?.output;
    iteration.error = error === undefined ? undefined : messageOf(error);
    try {
      this.#bytes +=
        outcome === undefined
          ? 0
          : checkSize(
              outcome.output,
              this.#host.services.limits.maxStepOutputBytes,
              `The output of step ${this.#step.id}`,
            );
      if (this.#bytes > this.#host.services.limits.maxStepOutputBytes) {
        throw failure(
          this.#step.id,
          `its iterations return more than ${this.#host.services.limits.maxStepOutputBytes} bytes`,
        );
      }
    } catch (tooMuch) {
      this.#settle.reject(tooMuch);
      return;
    }
    if (status === 'failed') {
      this.#host.emit({ type: 'iteration_failed', stepId: this.#state.id, index, error: iteration.error ?? '' });
      if (!this.#goesOn) return this.#giveUp(index);
    } else {
      this.#host.emit({ type: 'iteration_completed', stepId: this.#state.id, index });
    }
    this.#pump(this.#host.services.store.durable ? [this.#change(index, 0)] : []);
  }

  #giveUp(index: number): void {
    const reason = this.#iterations[index]?.error ?? '';
    this.#settle?.reject(
      new WorkflowError('ERR_WORKFLOW_DAG_ITERATION', `forEach step ${this.#step.id} iteration ${index}: ${reason}`, {
        details: { stepId: this.#step.id, index },
      }),
    );
  }

  #change(index: number, attempt: number): Change {
    const iteration = this.#iterations[index];
    const over = iteration?.status !== undefined;
    return {
      kind: 'step',
      step: {
        stepId: this.#state.id,
        iteration: index,
        status: over ? (iteration.status === 'completed' ? 'completed' : 'failed') : 'running',
        attempt: Math.max(attempt, 1),
        decided: undefined,
        output: iteration?.output,
        content: undefined,
        error:
          iteration?.error === undefined ? undefined : { code: 'ERR_WORKFLOW_DAG_ITERATION', message: iteration.error },
        retryCount: 0,
        fromCache: false,
        startedAt: iteration?.startedAt ?? 0,
        endedAt: over ? this.#host.services.clock.now() : undefined,
        leaseEpoch: this.#host.leaseEpoch,
      },
    };
  }

  /** The output so far; iterations that are not over count as cancelled. Counters are Go integers. */
  aggregate(): Record<string, unknown> {
    let completed = 0;
    const iterations = this.#iterations.map(({ status = 'cancelled', output, error }, index) => {
      if (status === 'completed') completed += 1;
      return {
        index: BigInt(index),
        item: this.#items[index],
        status,
        output: output ?? {},
        ...(error === undefined ? {} : { error }),
      };
    });
    return {
      iterations,
      count: BigInt(iterations.length),
      completed: BigInt(completed),
      failed: BigInt(iterations.length - completed),
    };
  }
}

function innerRetry(step: ForEachStep, host: StepHost): RetryPolicy {
  const { onError } = step.step;
  if (onError.action !== 'retry') return NO_RETRY;
  return {
    retries: Math.min(onError.retryCount, MAX_RETRIES),
    initialDelayMs: onError.retryDelayMs > 0 ? onError.retryDelayMs : DEFAULT_RETRY_DELAY_MS,
    cap: host.services.retryCap,
  };
}

/** The output of a loop that never began. */
export function noIterations(): Record<string, unknown> {
  return { iterations: [], count: 0n, completed: 0n, failed: 0n };
}
