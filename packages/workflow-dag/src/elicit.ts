import type { ElicitationHandler, ElicitationStep } from './definition.js';
import { DEFAULTS } from './definition.js';
import { WorkflowError } from './errors.js';
import { isObject, type JsonObject } from './json.js';
import type { ElicitAnswer } from './ports.js';
import { messageOf } from './run-step.js';
import { compileSchema } from './schemas.js';
import type { StepHost, StepOutcome, StepStart } from './step-host.js';
import type { StepState } from './step-state.js';
import type { ElicitationRecord, ElicitationState } from './store/port.js';

const MAX_SCHEMA_BYTES = 100 * 1024;
const MAX_CONTENT_BYTES = 1024 * 1024;
const MAX_DEPTH = 10;

type Ending =
  | { readonly action: 'accept'; readonly content: unknown }
  | { readonly action: 'decline' | 'cancel' | 'timeout' | 'unsupported' };

/**
 * Makes the question of an elicitation step ready.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_ELICITATION`
 */
export function prepareElicitation(host: StepHost, state: StepState, step: ElicitationStep): StepStart {
  const kept = state.restored?.elicitation;
  const now = host.services.clock.now();
  state.attempt = 1;
  const question: ElicitationRecord = kept ?? {
    stepId: step.id,
    state: 'pending',
    message: host.services.templates.render(step.message, host.data()),
    schema: step.schema,
    createdAt: now,
    expiresAt: now + Math.min(step.timeoutMs, DEFAULTS.maxElicitationTimeoutMs),
    respondedAt: undefined,
    action: undefined,
    content: undefined,
  };
  if (question.message === '') throw failure(step.id, 'elicitation message is required');
  checkBounds(step.id, 'schema', step.schema, MAX_SCHEMA_BYTES);
  if (kept === undefined && host.services.elicitor === undefined && step.defaultResponse === undefined) {
    throw failure(step.id, `elicitation requester not configured: step ${step.id}`);
  }
  return () => ask(host, state, step, question);
}

function failure(stepId: string, message: string, cause?: unknown): WorkflowError {
  return new WorkflowError('ERR_WORKFLOW_DAG_ELICITATION', message, { details: { stepId }, cause });
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let deepest = 0;
  for (const item of Object.values(value)) {
    if (typeof item === 'object' && item !== null) deepest = Math.max(deepest, 1 + depthOf(item));
  }
  return deepest;
}

function checkBounds(stepId: string, what: 'schema' | 'response', value: unknown, maxBytes: number): void {
  let text: string;
  try {
    text = JSON.stringify(value) ?? '';
  } catch (error) {
    throw failure(stepId, `${what} is no JSON: ${messageOf(error)}`, error);
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) throw failure(stepId, `${what} too large: ${bytes} bytes (max ${maxBytes})`);
  const depth = depthOf(value);
  if (depth > MAX_DEPTH) throw failure(stepId, `${what} nesting too deep: ${depth} levels (max ${MAX_DEPTH})`);
}

async function ask(
  host: StepHost,
  state: StepState,
  step: ElicitationStep,
  question: ElicitationRecord,
): Promise<StepOutcome> {
  if (question.state === 'answered') return conclude(step, endingOf(question));
  // A question that an earlier process asked may still be answered from outside, though nobody here can ask.
  const asked = state.restored?.elicitation !== undefined;
  if (host.services.elicitor === undefined && !asked) return conclude(step, { action: 'unsupported' });
  host.waiting(1);
  try {
    await host.write([{ kind: 'elicitation', elicitation: question }]);
    host.emit({
      type: 'elicitation_requested',
      stepId: step.id,
      message: question.message,
      expiresAt: question.expiresAt,
    });
    const ending = await firstAnswer(host, state, step, question);
    const action = ending.action === 'unsupported' ? 'cancel' : ending.action;
    host.emit({ type: 'elicitation_answered', stepId: step.id, action });
    return await conclude(step, ending, (settled) =>
      host.write([{ kind: 'elicitation', elicitation: closed(host, question, settled) }]),
    );
  } finally {
    host.waiting(-1);
  }
}

function closed(host: StepHost, question: ElicitationRecord, ending: Ending): ElicitationRecord {
  const state: ElicitationState =
    ending.action === 'timeout' ? 'expired' : ending.action === 'unsupported' ? 'withdrawn' : 'answered';
  return {
    ...question,
    state,
    action: ending.action === 'timeout' || ending.action === 'unsupported' ? undefined : ending.action,
    content: ending.action === 'accept' ? ending.content : undefined,
    respondedAt: host.services.clock.now(),
  };
}

function endingOf(question: ElicitationRecord): Ending {
  if (question.action === 'accept') return { action: 'accept', content: question.content };
  return { action: question.action ?? 'cancel' };
}

/** What comes first: the elicitor's answer, one from outside, or the end of the time. */
function firstAnswer(
  host: StepHost,
  state: StepState,
  step: ElicitationStep,
  question: ElicitationRecord,
): Promise<Ending> {
  const { clock, elicitor, store } = host.services;
  const timeoutMs = Math.max(0, question.expiresAt - clock.now());
  return new Promise((resolve, reject) => {
    const stops: (() => void)[] = [];
    const finish = (settle: () => void): void => {
      for (const stop of stops) stop();
      settle();
    };
    stops.push(clock.setTimer(timeoutMs, () => finish(() => resolve({ action: 'timeout' }))));
    stops.push(
      host.onAnswer(step.id, () => {
        store.getElicitations(host.runId).then(
          (all) => {
            const answered = all.find(({ stepId }) => stepId === step.id);
            if (answered?.state === 'answered') finish(() => resolve(endingOf(answered)));
          },
          (error: unknown) => host.services.report(error),
        );
      }),
    );
    stops.push(state.onOver(() => finish(() => undefined)));
    if (elicitor === undefined) return;
    const request = {
      runId: host.runId,
      stepId: step.id,
      message: question.message,
      schema: step.schema,
      timeoutMs,
      principal: host.principal,
      signal: state.signal,
    };
    Promise.resolve()
      .then(() => elicitor.elicit(request))
      .then(
        (answer) => {
          const ending = readAnswer(answer);
          if (ending !== undefined) finish(() => resolve(ending));
        },
        (error: unknown) => finish(() => reject(failure(step.id, `elicitation failed: ${messageOf(error)}`, error))),
      );
  });
}

function readAnswer(answer: ElicitAnswer | undefined): Ending | undefined {
  switch (answer?.action) {
    case 'accept':
      return { action: 'accept', content: answer.content };
    case 'pending':
      return undefined;
    case 'decline':
    case 'cancel':
    case 'unsupported':
      return { action: answer.action };
    default:
      return { action: 'cancel' };
  }
}

async function conclude(
  step: ElicitationStep,
  ending: Ending,
  note: (ending: Ending) => Promise<void> = async () => undefined,
): Promise<StepOutcome> {
  if (ending.action === 'accept') {
    const content = acceptedContent(step, ending.content);
    await note({ action: 'accept', content });
    return { output: { action: 'accept', content }, content: {} };
  }
  await note(ending);
  if ((ending.action === 'timeout' || ending.action === 'unsupported') && step.defaultResponse !== undefined) {
    return { output: { action: 'accept', content: step.defaultResponse, defaulted: true }, content: {} };
  }
  if (ending.action === 'unsupported') {
    throw failure(step.id, `the user cannot be asked: step ${step.id} (give the step a defaultResponse)`);
  }
  const handler = ending.action === 'decline' ? step.onDecline : step.onCancel;
  return refused(step, handler, ending.action);
}

function refused(
  step: ElicitationStep,
  handler: ElicitationHandler | undefined,
  action: 'decline' | 'cancel' | 'timeout',
): StepOutcome {
  if (handler?.action === 'continue') return { output: { action }, content: {} };
  if (handler?.action === 'skip_remaining')
    return { output: { action, skipped: true }, content: {}, skipRemaining: true };
  const reason = { decline: 'was declined by user', cancel: 'was cancelled by user', timeout: 'timed out' }[action];
  throw failure(step.id, `elicitation request ${reason}: step ${step.id}`);
}

function acceptedContent(step: ElicitationStep, given: unknown): JsonObject {
  const content = given === undefined || given === null ? {} : given;
  if (!isObject(content))
    throw failure(step.id, `elicitation response does not match schema: expected an object (step ${step.id})`);
  checkBounds(step.id, 'response', content, MAX_CONTENT_BYTES);
  const schema = compileSchema(step.schema);
  const problems = 'check' in schema ? schema.check(content) : schema.problems;
  if (problems.length === 0) return content;
  const texts = problems.map(({ pointer, message }) => `${pointer} ${message}`.trim());
  throw failure(step.id, `elicitation response does not match schema: ${texts.join('; ')} (step ${step.id})`);
}
