import { extraFunctions, parseTemplate, references } from '@thv/go-template';
import type { Step, WorkflowDefinition } from './definition.js';
import { WorkflowError } from './errors.js';
import { refuseHalfRead } from './parse/origin.js';
import { buildPlan, type Plan } from './plan.js';
import type { Principal, ToolCaller, ToolInfo } from './ports.js';
import { DEFAULT_RETRY_DELAY_MS, MAX_RETRIES, NO_RETRY, type RetryCap, type RetryPolicy } from './retry.js';
import type { StepPlan } from './step-state.js';

/** A definition made ready to run. */
export interface CompiledWorkflow {
  readonly definition: WorkflowDefinition;
  readonly plan: Plan;
  readonly steps: readonly StepPlan[];
  /** Every tool that a step may call, once. */
  readonly tools: readonly string[];
}

/**
 * Makes a definition ready to run.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_CYCLE`, `ERR_WORKFLOW_DAG_INVALID`, `ERR_WORKFLOW_DAG_LIMIT`
 */
export function compileWorkflow(definition: WorkflowDefinition, maxSteps: number, cap: RetryCap): CompiledWorkflow {
  const { steps } = definition;
  refuseHalfRead(definition);
  if (steps.length > maxSteps) throw tooManySteps(steps.length, maxSteps);
  const plan = buildPlan(definition);
  const observed = observedSteps(steps);
  const tools = new Set<string>();
  const plans = steps.map((step, index): StepPlan => {
    if (step.type === 'tool') tools.add(step.tool);
    else if (step.type === 'forEach') tools.add(step.step.tool);
    return { index, step, retry: retryOf(step, cap), failureHandled: isHandled(step, definition, observed) };
  });
  return { definition, plan, steps: plans, tools: [...tools] };
}

/** The refusal of a definition that is too long. */
export function tooManySteps(steps: number, maxSteps: number): WorkflowError {
  return new WorkflowError('ERR_WORKFLOW_DAG_LIMIT', `too many steps: ${steps} (max ${maxSteps})`, {
    details: { steps, maxSteps },
  });
}

function retryOf(step: Step, cap: RetryCap): RetryPolicy {
  if (step.type !== 'tool' || step.onError.action !== 'retry') return NO_RETRY;
  const { retryCount, retryDelayMs } = step.onError;
  return {
    retries: Math.min(retryCount, MAX_RETRIES),
    initialDelayMs: retryDelayMs > 0 ? retryDelayMs : DEFAULT_RETRY_DELAY_MS,
    cap,
  };
}

function isHandled(step: Step, definition: WorkflowDefinition, observed: ReadonlySet<string>): boolean {
  if (definition.failureMode === 'continue') return true;
  if (step.type === 'elicitation') return false;
  if (step.onError.action === 'continue') return true;
  return step.onError.action === 'retry' && (step.onError.onExhausted === 'continue' || observed.has(step.id));
}

/** Steps whose status the condition of a direct dependent reads: it decides what a failure means. */
function observedSteps(steps: readonly Step[]): ReadonlySet<string> {
  const observed = new Set<string>();
  for (const step of steps) {
    if (step.condition === undefined || !step.condition.includes('status')) continue;
    for (const id of statusReads(step.condition)) if (step.dependsOn.includes(id)) observed.add(id);
  }
  return observed;
}

const STATUS = /^\.steps\.([^.]+)\.status$/;
/** `references` leaves chains of variables out, and `$` is one. */
const ROOT_STATUS = /\$\.steps\.([\p{L}\p{N}_]+)\.status/gu;

function statusReads(condition: string): readonly string[] {
  try {
    const template = parseTemplate(condition, { name: 'extract', functions: extraFunctions });
    const direct = references(template).map((path) => STATUS.exec(path)?.[1]);
    const throughRoot = [...condition.matchAll(ROOT_STATUS)].map(([, id]) => id);
    return [...direct, ...throughRoot].filter((id) => id !== undefined);
  } catch {
    // A condition that does not parse fails its own step when it is evaluated.
    return [];
  }
}

/** Looks every tool up once; those that do not exist are left out, and fail the steps that want them. */
export async function resolveTools(
  caller: ToolCaller,
  references: readonly string[],
  principal: Principal | undefined,
): Promise<ReadonlyMap<string, ToolInfo>> {
  const tools = new Map<string, ToolInfo>();
  for (const reference of references) {
    const answer = caller.resolve(reference, { principal });
    const tool = answer instanceof Promise ? await answer : answer;
    if (tool !== undefined) tools.set(reference, tool);
  }
  return tools;
}
