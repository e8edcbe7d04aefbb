import { createHash } from 'node:crypto';
import { withCache } from './cache.js';
import { coerceArguments } from './coerce.js';
import type { ToolCallConfig, ToolStep } from './definition.js';
import type { TemplateData } from './context.js';
import { WorkflowError } from './errors.js';
import { expandValue } from './expand.js';
import type { JsonObject } from './json.js';
import type { Principal, ToolCall, ToolInfo, ToolResult } from './ports.js';
import { nextDelay, type RetryPolicy } from './retry.js';
import { sleep, type StepHost, type StepOutcome, type StepStart } from './step-host.js';
import { checkSize, errorText, toStepOutput } from './step-output.js';
import type { StepState } from './step-state.js';
import { applyTransform } from './transform.js';

/** One call of a tool with its repetitions: a step, or an iteration of one. */
export interface CallPlan {
  readonly config: ToolCallConfig;
  readonly tool: ToolInfo;
  readonly arguments: JsonObject;
  readonly iteration: number | undefined;
  readonly retry: RetryPolicy;
  /** Attempts that an earlier process made. */
  readonly spent: number;
  readonly data: TemplateData;
  /** Told before each attempt but the first of this process. */
  readonly onAttempt?: (attempt: number) => Promise<void>;
}

/**
 * Expands and coerces the arguments of a tool step.
 *
 * @throws `WorkflowError` for templates and routing: such failures are not retried.
 */
export function prepareTool(host: StepHost, state: StepState, step: ToolStep): StepStart {
  const data = host.data();
  const call = planCall(host, state.id, step, data, {
    iteration: undefined,
    retry: state.plan.retry,
    spent: state.restored?.record.attempt ?? 0,
    onAttempt: async (attempt) => {
      state.attempt = attempt;
      if (host.services.store.durable) await host.write([{ kind: 'step', step: state.toRecord(host.leaseEpoch) }]);
    },
  });
  state.attempt = call.spent + 1;
  return () => runCall(host, state, call);
}

/** Everything that is known of a call before it is made. */
export function planCall(
  host: StepHost,
  stepId: string,
  config: ToolCallConfig,
  data: TemplateData,
  rest: Pick<CallPlan, 'iteration' | 'retry' | 'spent' | 'onAttempt'>,
): CallPlan {
  const tool = host.tool(config.tool, stepId);
  let expanded: JsonObject;
  try {
    expanded = expandValue(host.services.templates, config.arguments, data) as JsonObject;
  } catch (error) {
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_TEMPLATE',
      `template expansion failed: step ${stepId}: ${(error as Error).message}`,
      {
        cause: error,
        details: { stepId },
      },
    );
  }
  const coerced = coerceArguments(expanded, tool.inputSchema, { strictGo: host.services.strictGo });
  return { config, tool, arguments: coerced, data, ...rest };
}

/** Makes the call, from the cache where the step allows it, and reshapes the output. */
export async function runCall(host: StepHost, state: StepState, call: CallPlan): Promise<StepOutcome> {
  const { config } = call;
  const outcome =
    config.cache === undefined
      ? await callTool(host, state, call)
      : await withCache(host, state, call, config.cache, () => callTool(host, state, call));
  if (config.transform === undefined) return outcome;
  return { ...outcome, output: applyTransform(host.services, config.transform, outcome, call.data, state.id) };
}

async function callTool(host: StepHost, state: StepState, call: CallPlan): Promise<StepOutcome> {
  const { clock, random, limits, tools } = host.services;
  const startedAt = clock.now();
  for (let attempt = call.spent + 1; ; attempt += 1) {
    if (attempt > call.spent + 1) await call.onAttempt?.(attempt);
    let failure: unknown;
    try {
      const result = await tools.call(new Call(host, state, call, attempt));
      failure = failureOf(result);
      if (failure === undefined) {
        const { output, content } = toStepOutput(result, host.services.structuredValueKey);
        checkSize(output, limits.maxStepOutputBytes, `The output of step ${state.id}`);
        return { output, content, retryCount: attempt - 1 };
      }
    } catch (error) {
      failure = error;
    }
    state.retryCount = call.iteration === undefined ? attempt - 1 : state.retryCount;
    const failed = { attempt, elapsedMs: clock.now() - startedAt, error: failure };
    const delayMs = state.isOver ? undefined : nextDelay(call.retry, failed, () => random.next());
    if (delayMs === undefined) throw toolFailure(state.id, call, failure);
    if (call.iteration === undefined) {
      host.emit({ type: 'step_retrying', stepId: state.id, attempt, delayMs, error: messageOf(failure) });
    }
    await sleep(host, state, delayMs);
  }
}

function failureOf(result: ToolResult | undefined): unknown {
  if (typeof result !== 'object' || result === null)
    return new Error('tool execution failed: the tool answered nothing');
  return result.isError === true ? new Error(`tool execution failed: ${errorText(result)}`) : undefined;
}

function toolFailure(stepId: string, call: CallPlan, cause: unknown): WorkflowError {
  if (WorkflowError.is(cause, 'ERR_WORKFLOW_DAG_LIMIT')) return cause;
  return new WorkflowError(
    'ERR_WORKFLOW_DAG_TOOL',
    `tool call failed: tool ${call.config.tool} in step ${stepId}: ${messageOf(cause)}`,
    {
      cause,
      details: { stepId, tool: call.config.tool },
    },
  );
}

/** The text of whatever was thrown. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === 'string' ? error : 'unknown error';
}

class Call implements ToolCall {
  readonly #host: StepHost;
  readonly #state: StepState;
  readonly #plan: CallPlan;
  readonly attempt: number;

  constructor(host: StepHost, state: StepState, plan: CallPlan, attempt: number) {
    this.#host = host;
    this.#state = state;
    this.#plan = plan;
    this.attempt = attempt;
  }

  get reference(): string {
    return this.#plan.config.tool;
  }

  get tool(): ToolInfo {
    return this.#plan.tool;
  }

  get arguments(): JsonObject {
    return this.#plan.arguments;
  }

  get runId(): string {
    return this.#host.runId;
  }

  get stepId(): string {
    return this.#state.id;
  }

  get iteration(): number | undefined {
    return this.#plan.iteration;
  }

  get principal(): Principal | undefined {
    return this.#host.principal;
  }

  get idempotencyKey(): string {
    return idempotencyKey(this.#host.runId, this.#state.id, this.#plan.iteration ?? -1);
  }

  get signal(): AbortSignal {
    return this.#state.signal;
  }
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** The same for all attempts at a step. Parts are joined as JSON, so that no two triples give the same text. */
export function idempotencyKey(runId: string, stepId: string, iteration: number): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([runId, stepId, iteration]))
    .digest();
  let text = '';
  let bits = 0;
  let value = 0;
  for (const byte of digest) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      text += BASE32.charAt((value >>> (bits - 5)) & 31);
      bits -= 5;
    }
    value &= 31;
  }
  return bits > 0 ? text + BASE32.charAt((value << (5 - bits)) & 31) : text;
}
