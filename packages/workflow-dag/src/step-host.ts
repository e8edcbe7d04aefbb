import type { TemplateData } from './context.js';
import type { WorkflowEvent } from './events.js';
import type { Templates } from './expand.js';
import type { EngineLimits } from './options.js';
import type { Clock, Elicitor, Principal, Random, ToolCaller, ToolInfo } from './ports.js';
import type { RetryCap } from './retry.js';
import type { StepState } from './step-state.js';
import type { Change, Store } from './store/port.js';
import type { SingleFlight } from './cache.js';

/** What all runs of an engine share. */
export interface Services {
  readonly tools: ToolCaller;
  readonly elicitor: Elicitor | undefined;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly templates: Templates;
  /** With the functions that a transformation may ask for in addition. */
  readonly extendedTemplates: Templates;
  readonly limits: EngineLimits;
  readonly retryCap: RetryCap;
  readonly strictGo: boolean;
  readonly structuredValueKey: string | undefined;
  readonly trimConditions: boolean;
  readonly leaseTtlMs: number;
  readonly flights: SingleFlight;
  readonly onEvent: ((event: WorkflowEvent) => void) | undefined;
  /** Takes note of a failure that ends nothing. Never throws. */
  report(error: unknown): void;
}

type WithoutStamp<T> = T extends unknown ? Omit<T, 'seq' | 'at' | 'runId'> : never;

/** An event before it has number and time. */
export type NewEvent = WithoutStamp<WorkflowEvent>;

/** What a step may ask of the run that it belongs to. */
export interface StepHost {
  readonly runId: string;
  readonly workflow: string;
  readonly services: Services;
  readonly principal: Principal | undefined;
  readonly noCache: boolean;
  readonly leaseEpoch: number;
  /** What templates see; the steps in it change while the run goes on. */
  data(): TemplateData;
  /** @throws `WorkflowError` `ERR_WORKFLOW_DAG_ROUTING` */
  tool(reference: string, stepId: string): ToolInfo;
  emit(event: NewEvent): void;
  /** Resolves when the changes are stored; where the store is not durable, at once. */
  write(changes: readonly Change[]): Promise<void>;
  /** Notes that one more question, or one less, waits for its answer. */
  waiting(by: 1 | -1): void;
  /** Calls back with the answer that {@link WorkflowEngine.answer} brings; the result takes that back. */
  onAnswer(stepId: string, callback: () => void): () => void;
}

/** How a step ended, unless it failed. */
export interface StepOutcome {
  readonly output: unknown;
  readonly content: unknown;
  readonly retryCount?: number;
  readonly fromCache?: boolean;
  /** Every step that has not begun is skipped. */
  readonly skipRemaining?: boolean;
}

/** What a step does once it is noted as begun. A rejection is its failure. */
export type StepStart = () => Promise<StepOutcome>;

/** Resolves after a time; never, when the step is over before. */
export function sleep(host: StepHost, state: StepState, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const stop = host.services.clock.setTimer(delayMs, () => {
      forget();
      resolve();
    });
    const forget = state.onOver(stop);
  });
}
