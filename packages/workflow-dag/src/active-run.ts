import { NIL_MAP } from '@thv/go-template';
import { rfc3339, RUNNING, type StepView, type TemplateData } from './context.js';
import { Deadlines } from './deadlines.js';
import { formatMilliseconds } from './duration.js';
import { WorkflowError } from './errors.js';
import type { EventLog } from './events.js';
import { noIterations } from './for-each.js';
import type { Principal, ToolInfo } from './ports.js';
import { prepareInDoubt, prepareStep } from './prepare-step.js';
import { restoreStates } from './resume.js';
import { cancelText, finalOutput, toResult, toStored, unroutable, viewOf } from './run-result.js';
import { RunFeed } from './run-feed.js';
import type { RunStart } from './run-start.js';
import type { Run, WorkflowResult } from './run-types.js';
import { createScheduler, type Scheduler } from './scheduler.js';
import type { NewEvent, Services, StepHost, StepOutcome, StepStart } from './step-host.js';
import { StepState } from './step-state.js';
import type { Change, Lease, RunStatus, StoredError } from './store/port.js';
import { RunWriter } from './run-writer.js';

interface Stop {
  readonly status: Extract<RunStatus, 'failed' | 'cancelled' | 'timed_out'>;
  readonly error: StoredError;
}

/** A run that this engine moves: a state machine that only its own callbacks drive. */
export class ActiveRun implements Run, StepHost {
  readonly id: string;
  readonly workflow: string;
  readonly services: Services;
  readonly principal: Principal | undefined;
  readonly noCache: boolean;
  readonly events: EventLog;
  readonly result: Promise<WorkflowResult>;
  readonly startedAt: number;
  readonly #start: RunStart;
  readonly #states: readonly StepState[];
  readonly #scheduler: Scheduler;
  readonly #deadlines: Deadlines;
  readonly #writer: RunWriter;
  readonly #feed: RunFeed;
  readonly #views = new Map<string, StepView>();
  readonly #data: TemplateData;
  readonly #answerListeners = new Map<string, () => void>();
  #resolve: (result: WorkflowResult) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #active = 0;
  #over = 0;
  #waiting = 0;
  #driving = false;
  #draining = false;
  #drained = false;
  #onIdle: (() => void) | undefined;
  #stop: Stop | undefined;
  #ended = false;
  #meta: Record<string, unknown> = {};

  constructor(start: RunStart) {
    const { compiled, services, lease } = start;
    this.#start = start;
    this.id = lease.runId;
    this.workflow = compiled.definition.name;
    this.services = services;
    this.principal = start.principal;
    this.noCache = start.noCache;
    this.startedAt = start.startedAt;
    this.#feed = new RunFeed(services, lease.runId, compiled.steps.length);
    this.events = this.#feed.log;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Whoever only reads the events must not end the process.
    this.result.catch(() => undefined);
    this.#deadlines = new Deadlines(services.clock);
    this.#writer = new RunWriter(services, lease, {
      publish: (event) => this.#feed.publish(event),
      launch: (state, begin) => this.#launch(state, begin),
      lost: (error) => this.giveUp(error),
    });
    this.#states = compiled.steps.map((plan) => new StepState(plan));
    const over = start.restored === undefined ? [] : restoreStates(this.#states, start.restored);
    for (const state of over) this.#views.set(state.id, viewOf(state));
    this.#over = over.length;
    this.#meta = { ...start.restored?.run.meta };
    this.#scheduler = createScheduler(
      compiled.plan.graph,
      start.scheduling,
      over.map(({ plan }) => plan.index),
    );
    const workflow = {
      id: this.id,
      duration_ms: 0n,
      step_count: 0n,
      status: 'pending',
      start_time: rfc3339(this.startedAt),
    };
    this.#data = { params: start.params, steps: this.#views, vars: start.vars, workflow };
  }

  get runId(): string {
    return this.id;
  }

  get leaseEpoch(): number {
    return this.#start.lease.epoch;
  }

  get lease(): Lease {
    return this.#start.lease;
  }

  /** Starts, or goes on. */
  begin(): void {
    const { clock } = this.services;
    const now = clock.now();
    this.#writer.push({ kind: 'run', status: 'running', at: this.startedAt });
    const type = this.#start.restored === undefined ? 'run_started' : 'run_resumed';
    this.#writer.announce(this.#feed.stamp({ type, name: this.workflow, totalSteps: this.#states.length }));
    const left = this.#start.deadlineAt - now;
    if (left <= 0) this.#timeOut();
    else this.#deadlines.add(left, now, () => this.#timeOut());
    if (this.#start.refusal !== undefined) this.#stopWith('failed', 'ERR_WORKFLOW_DAG_LIMIT', this.#start.refusal);
    if (this.#start.restored?.run.cancelRequestedAt !== undefined) {
      this.#stopWith('cancelled', 'ERR_WORKFLOW_DAG_CANCELLED', cancelText(this.#start.restored.run.cancelReason));
    }
    this.#drive();
  }

  cancel(reason?: string): Promise<WorkflowResult> {
    this.#stopWith('cancelled', 'ERR_WORKFLOW_DAG_CANCELLED', cancelText(reason));
    this.#drive();
    return this.result;
  }

  /** Starts nothing more; resolves when nothing is under way, or after a time. */
  async drain(forMs: number): Promise<void> {
    this.#drained = true;
    if (forMs <= 0 || this.#ended || this.#active === 0) return;
    await new Promise<void>((resolve) => {
      const stop = this.services.clock.setTimer(forMs, resolve);
      this.#onIdle = () => {
        stop();
        resolve();
      };
    });
  }

  /** Stops without a word to the store: another engine owns the run, or will. */
  giveUp(error: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#writer.close();
    for (const state of this.#states) if (state.status === 'running') state.abort(error);
    this.#tidy();
    this.#reject(error);
  }

  /** Resolves when everything written so far is stored. */
  settled(): Promise<void> {
    return this.#writer.idle();
  }

  #timeOut(): void {
    this.#stopWith('timed_out', 'ERR_WORKFLOW_DAG_TIMEOUT', 'workflow timed out');
    this.#drive();
  }

  #stopWith(status: Stop['status'], code: WorkflowError['code'], message: string): void {
    if (this.#stop !== undefined || this.#ended) return;
    this.#stop = { status, error: { code, message } };
  }

  // ---- the machine

  /** Starts what may start, ends the run when nothing is left, hands what is to be written to the writer. */
  #drive(): void {
    if (this.#driving || this.#ended) return;
    this.#driving = true;
    try {
      while (
        this.#stop === undefined &&
        !this.#draining &&
        !this.#drained &&
        this.#active < this.services.limits.maxParallel
      ) {
        const index = this.#scheduler.next();
        const state = this.#states[index];
        if (state === undefined) break;
        this.#startStep(state);
      }
      if (this.#stop !== undefined) this.#conclude(this.#stop.status, this.#stop.error, {});
      else if (this.#active === 0 && this.#over === this.#states.length) this.#complete();
    } finally {
      this.#driving = false;
    }
    void this.#writer.flush();
    if (this.#active === 0) this.#onIdle?.();
  }

  #startStep(state: StepState): void {
    const { clock } = this.services;
    const { step } = state.plan;
    const now = clock.now();
    state.startedAt = state.restored?.record.startedAt ?? now;
    let begin: StepStart | undefined;
    try {
      begin = state.restored === undefined ? prepareStep(this, state) : prepareInDoubt(this, state);
    } catch (error) {
      this.#fail(state, error);
      return;
    }
    if (begin === undefined) {
      this.#skip(state);
      return;
    }
    state.status = 'running';
    this.#active += 1;
    this.#views.set(step.id, RUNNING);
    // A question has an end of its own, with an outcome of its own.
    if (step.type !== 'elicitation') {
      state.deadline = this.#deadlines.add(step.timeoutMs, now, () => this.#expire(state));
    }
    this.#writer.push({ kind: 'step', step: state.toRecord(this.leaseEpoch) });
    this.#writer.announce(this.#feed.stepStarted(state, now));
    this.#writer.start(state, begin);
  }

  #launch(state: StepState, begin: StepStart): void {
    if (state.status !== 'running' || this.#ended) return;
    begin().then(
      (outcome) => this.#done(state, outcome),
      (error: unknown) => this.#broke(state, error),
    );
  }

  #done(state: StepState, outcome: StepOutcome): void {
    if (state.status !== 'running' || this.#ended) return;
    this.#active -= 1;
    state.retryCount = outcome.retryCount ?? 0;
    state.fromCache = outcome.fromCache ?? false;
    this.#settle(state, 'completed', outcome.output, outcome.content);
    if (outcome.skipRemaining === true) this.#skipRemaining(state.id);
    this.#drive();
  }

  #broke(state: StepState, error: unknown): void {
    if (state.status !== 'running' || this.#ended) return;
    this.#active -= 1;
    this.#fail(state, error);
    this.#drive();
  }

  #expire(state: StepState): void {
    if (state.status !== 'running' || this.#ended) return;
    const { step } = state.plan;
    const text = `step "${step.id}" timed out after ${formatMilliseconds(step.timeoutMs)}`;
    const error = new WorkflowError('ERR_WORKFLOW_DAG_TIMEOUT', text, { details: { stepId: step.id } });
    this.#active -= 1;
    this.#fail(state, error);
    this.#drive();
  }

  #fail(state: StepState, error: unknown): void {
    const { plan } = state;
    state.error = toStored(error);
    const partial = state.partial?.() ?? (plan.step.type === 'forEach' ? noIterations() : undefined);
    const output = plan.failureHandled ? (plan.step.defaultResults ?? partial ?? NIL_MAP) : (partial ?? NIL_MAP);
    if (plan.failureHandled) state.decided = { ...state.decided, handled: true };
    this.#settle(state, 'failed', output, NIL_MAP);
    state.abort(error);
    if (!plan.failureHandled) this.#stop ??= { status: 'failed', error: state.error };
  }

  #skip(state: StepState): void {
    this.#settle(state, 'skipped', state.plan.step.defaultResults ?? NIL_MAP, NIL_MAP);
  }

  #settle(state: StepState, status: 'completed' | 'failed' | 'skipped', output: unknown, content: unknown): void {
    state.status = status;
    state.output = output;
    state.content = content;
    state.endedAt = Math.max(state.startedAt, this.services.clock.now());
    state.partial = undefined;
    if (state.deadline !== undefined) this.#deadlines.remove(state.deadline);
    state.runCleanups();
    this.#views.set(state.id, viewOf(state));
    this.#over += 1;
    this.#scheduler.complete(state.plan.index);
    this.#writer.push({ kind: 'step', step: state.toRecord(this.leaseEpoch) });
    this.#writer.announce(this.#feed.stepEnded(state, status, this.#over));
  }

  /** Skips every step that has not begun; those under way finish. */
  #skipRemaining(stepId: string): void {
    this.#draining = true;
    this.#meta = { ...this.#meta, skippedBy: stepId };
    const now = this.services.clock.now();
    for (const state of this.#states) {
      if (state.status !== undefined) continue;
      state.startedAt = now;
      this.#skip(state);
    }
  }

  // ---- the end

  #complete(): void {
    let output: Record<string, unknown>;
    try {
      const { output: config } = this.#start.compiled.definition;
      output = finalOutput(config, this.#states, this.#data, this.services, this.startedAt);
    } catch (error) {
      const stored = toStored(error);
      this.#conclude('failed', { code: stored.code, message: `output construction failed: ${stored.message}` }, {});
      return;
    }
    this.#conclude('completed', undefined, output);
  }

  #conclude(status: RunStatus, error: StoredError | undefined, output: Record<string, unknown>): void {
    const stopped =
      this.#active > 0
        ? new WorkflowError('ERR_WORKFLOW_DAG_CANCELLED', `stopped: ${error?.message ?? status}`)
        : undefined;
    for (const state of this.#states) {
      if (state.status !== 'running') continue;
      this.#active -= 1;
      state.error = toStored(stopped);
      this.#settle(state, 'failed', state.partial?.() ?? NIL_MAP, NIL_MAP);
      state.abort(stopped);
    }
    this.#ended = true;
    const endedAt = Math.max(this.startedAt, this.services.clock.now());
    const durationMs = endedAt - this.startedAt;
    const { stats } = this.#start.compiled.plan;
    this.#writer.push({ kind: 'run', status, at: endedAt, output, error, meta: this.#meta });
    const type = `run_${status}` as 'run_completed' | 'run_failed' | 'run_cancelled' | 'run_timed_out';
    this.#writer.announce(this.#feed.stamp({ type, status, durationMs, error: error?.message }));
    this.#writer.end().then(
      () => {
        this.#tidy();
        this.#resolve(toResult(this, this.#states, { status, output, error, endedAt, metadata: this.#meta, stats }));
      },
      (failure: unknown) => {
        this.#tidy();
        this.#reject(failure);
      },
    );
  }

  #tidy(): void {
    this.#deadlines.close();
    this.events.end();
    this.#start.onOver();
  }

  // ---- what steps may ask for

  data(): TemplateData {
    return this.#data;
  }

  tool(reference: string, stepId: string): ToolInfo {
    const tool = this.#start.tools.get(reference);
    if (tool !== undefined) return tool;
    throw unroutable(reference, stepId);
  }

  emit(event: NewEvent): void {
    if (this.#ended) return;
    this.#writer.announce(this.#feed.stamp(event));
    void this.#writer.flush();
  }

  async write(changes: readonly Change[]): Promise<void> {
    if (this.#ended) return;
    for (const change of changes) this.#writer.push(change);
    await this.#writer.flush();
  }

  waiting(by: 1 | -1): void {
    this.#waiting += by;
    if (this.#ended) return;
    const status = this.#waiting > 0 ? 'waiting_for_elicitation' : 'running';
    if (by === 1 ? this.#waiting === 1 : this.#waiting === 0)
      this.#writer.push({ kind: 'run', status, at: this.services.clock.now() });
  }

  onAnswer(stepId: string, callback: () => void): () => void {
    this.#answerListeners.set(stepId, callback);
    return () => this.#answerListeners.delete(stepId);
  }

  /** An answer may have come in from outside. */
  lookForAnswers(): void {
    for (const callback of this.#answerListeners.values()) callback();
  }
}
