import { NIL_MAP } from '@thv/go-template';
import { toPublic, type StepView, type TemplateData } from './context.js';
import type { OutputConfig } from './definition.js';
import { WorkflowError } from './errors.js';
import { constructOutput } from './output.js';
import { messageOf } from './run-step.js';
import type { StepResult, WorkflowResult } from './run-types.js';
import type { Services } from './step-host.js';
import type { StepState } from './step-state.js';
import type { StoredError } from './store/port.js';

/**
 * The output of a run whose steps are all over: the one that the definition describes, or that of the step which
 * completed last.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_OUTPUT`
 */
export function finalOutput(
  config: OutputConfig | undefined,
  states: readonly StepState[],
  data: TemplateData,
  { templates, clock, strictGo }: Services,
  startedAt: number,
): Record<string, unknown> {
  if (config === undefined) return lastOutput(states);
  const completed = states.filter(({ status }) => status === 'completed').length;
  const workflow = {
    ...data.workflow,
    status: 'completed',
    step_count: BigInt(completed),
    duration_ms: BigInt(Math.max(0, Math.round(clock.now() - startedAt))),
  };
  return constructOutput(config, { templates, data: { ...data, workflow }, strictGo });
}

function lastOutput(states: readonly StepState[]): Record<string, unknown> {
  let last: StepState | undefined;
  for (const state of states) {
    if (state.status === 'completed' && (last === undefined || state.endedAt >= last.endedAt)) last = state;
  }
  return last === undefined ? {} : (publicOutput(last) as Record<string, unknown>);
}

/** The result of a run that is over. */
export function toResult(
  run: { readonly id: string; readonly workflow: string; readonly startedAt: number },
  states: readonly StepState[],
  end: Pick<WorkflowResult, 'status' | 'output' | 'endedAt' | 'metadata' | 'stats'> & {
    readonly error: StoredError | undefined;
  },
): WorkflowResult {
  const { error, ...rest } = end;
  return {
    runId: run.id,
    name: run.workflow,
    ...stepResults(states),
    ...rest,
    ...(error === undefined ? {} : { error }),
    startedAt: run.startedAt,
    durationMs: end.endedAt - run.startedAt,
  };
}

function stepResults(states: readonly StepState[]): {
  readonly steps: Readonly<Record<string, StepResult>>;
  readonly failedSteps: readonly string[];
} {
  const steps = Object.create(null) as Record<string, StepResult>;
  const failedSteps: string[] = [];
  for (const state of states) {
    if (state.status === undefined) continue;
    if (state.status === 'failed') failedSteps.push(state.id);
    steps[state.id] = resultOf(state);
  }
  return { steps, failedSteps };
}

export function cancelText(reason: string | undefined): string {
  return reason === undefined || reason === '' ? 'workflow cancelled' : `workflow cancelled: ${reason}`;
}

/** What templates see of a step that is over. */
export function viewOf(state: StepState): StepView {
  const { status = 'running', output, content, error } = state;
  return status === 'failed' && error !== undefined
    ? { status, output, content, error: error.message }
    : { status, output, content };
}

/** Whatever was thrown, as it is stored. */
export function toStored(error: unknown): StoredError {
  return { code: WorkflowError.is(error) ? error.code : 'ERR_WORKFLOW_DAG_TOOL', message: messageOf(error) };
}

/** What a tool gave is JSON already: copying it would cost more than the rest of the step. */
function publicOutput({ output, plan }: StepState): unknown {
  if (output === NIL_MAP) return undefined;
  return plan.step.type === 'tool' ? output : toPublic(output);
}

function resultOf(state: StepState): StepResult {
  return {
    stepId: state.id,
    status: state.status ?? 'running',
    output: publicOutput(state),
    content: state.content === NIL_MAP ? {} : state.content,
    error: state.error,
    startedAt: state.startedAt,
    endedAt: state.endedAt,
    durationMs: state.endedAt - state.startedAt,
    retryCount: state.retryCount,
    fromCache: state.fromCache,
  };
}

/** The failure of a step whose tool does not exist. */
export function unroutable(reference: string, stepId: string): WorkflowError {
  return new WorkflowError(
    'ERR_WORKFLOW_DAG_ROUTING',
    `failed to route tool: ${reference} in step ${stepId} is not among the tools that can be called`,
    { details: { stepId, tool: reference } },
  );
}
