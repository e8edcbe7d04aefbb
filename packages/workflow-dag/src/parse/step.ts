import {
  DEFAULTS,
  LIMITS,
  type ElicitationHandler,
  type ElicitationStep,
  type ForEachStep,
  type Step,
  type StepBase,
  type StepType,
  type ToolStep,
} from '../definition.js';
import type { JsonObject, JsonValue } from '../json.js';
import { isObject, own } from '../json.js';
import { typeName } from '../coerce.js';
import { readToolCall } from './calls.js';
import type { Cursor } from './cursor.js';
import { choice, duration, object, report, text, texts } from './fields.js';
import { readForEach } from './for-each.js';

const BASE_KEYS = ['id', 'type', 'condition', 'dependsOn', 'timeout', 'defaultResults', 'resume'];
const TOOL_KEYS = ['tool', 'arguments', 'onError', 'idempotent', 'cache', 'transform'];
const ELICITATION_KEYS = ['message', 'schema', 'onDecline', 'onCancel', 'defaultResponse'];
const FOR_EACH_KEYS = ['collection', 'itemVar', 'maxParallel', 'maxIterations', 'step', 'onError'];

/** Every key that a step of any type may have. */
export const STEP_KEYS: readonly string[] = [
  ...new Set([...BASE_KEYS, ...TOOL_KEYS, ...ELICITATION_KEYS, ...FOR_EACH_KEYS]),
];

const KEYS_OF: Readonly<Record<StepType, readonly string[]>> = {
  tool: [...BASE_KEYS, ...TOOL_KEYS],
  elicitation: [...BASE_KEYS, ...ELICITATION_KEYS],
  forEach: [...BASE_KEYS, ...FOR_EACH_KEYS],
};

/** Reads a step; what is wrong is reported at the cursor, and replaced by its default. */
export function readStep(field: Cursor): Step {
  if (!isObject(field.value)) {
    report(field, 'workflow/type', 'an object', 'write a step as a mapping with id and tool');
  }
  field.allowKeys(STEP_KEYS, {
    depends: 'did you mean "dependsOn"?',
    needs: 'did you mean "dependsOn"?',
    retry: 'write onError: {action: retry, maxRetries: 3}',
    maxRetries: 'maxRetries belongs below onError',
    retryCount: 'retryCount belongs below onError',
    retryDelay: 'retryDelay belongs below onError',
    failureMode: 'failureMode belongs to the workflow; write onError: {action: continue}',
    when: 'did you mean "condition"?',
    if: 'did you mean "condition"?',
    args: 'did you mean "arguments"?',
  });
  const type = readType(field);
  const base = readBase(field, type);
  reportUnused(field, type, base.id);
  if (type === 'elicitation') return readElicitation(field, base);
  if (type === 'forEach') return { ...base, type, ...readForEach(field, base.id) } satisfies ForEachStep;
  const call = readToolCall(field, base.id);
  if (!field.get('tool').present || call.tool === '') {
    const hint = field.get('collection').present ? 'write type: forEach' : 'add tool: workload.tool_name';
    field
      .get('tool')
      .report('workflow/tool', `${field.path}.tool is required when type is tool`, { hint, stepId: base.id });
  }
  return { ...base, type: 'tool', ...call } satisfies ToolStep;
}

function readType(field: Cursor): StepType {
  const type = field.get('type');
  if (type.present && type.value !== '') {
    return choice(type, ['tool', 'elicitation', 'forEach'], 'workflow/step-type') ?? guessType(field);
  }
  if (field.get('tool').present && field.get('message').present) {
    const message = `${field.path} cannot have both tool and message fields - use explicit type (tool or elicitation)`;
    field.report('workflow/step-type', message, { hint: 'add type: tool or type: elicitation' });
  }
  return guessType(field);
}

function guessType(field: Cursor): StepType {
  return field.get('message').present && !field.get('tool').present ? 'elicitation' : 'tool';
}

function readBase(field: Cursor, type: StepType): StepBase {
  const id = readId(field.get('id'));
  const condition = text(field.get('condition'));
  const defaultResults = object(field.get('defaultResults'));
  const usual = type === 'elicitation' ? DEFAULTS.elicitationTimeoutMs : DEFAULTS.stepTimeoutMs;
  const timeoutMs = duration(field.get('timeout')) ?? usual;
  const capped = type === 'elicitation' && timeoutMs > DEFAULTS.maxElicitationTimeoutMs;
  if (capped) {
    const message = `${field.path}.timeout is more than a question may wait: it is cut to 10m`;
    field
      .get('timeout')
      .report('workflow/value', message, { severity: 'warning', hint: 'write at most 10m', stepId: id });
  }
  const resume = choice(field.get('resume'), ['auto', 'retry', 'fail', 'skip'], 'workflow/value') ?? 'auto';
  return {
    id,
    ...(condition === undefined || condition === '' ? {} : { condition }),
    dependsOn: readDependencies(field.get('dependsOn'), id),
    timeoutMs: capped ? DEFAULTS.maxElicitationTimeoutMs : timeoutMs,
    ...(defaultResults === undefined ? {} : { defaultResults }),
    resume,
  };
}

function readId(field: Cursor): string {
  const id = text(field, 'workflow/step-id');
  if (!field.present || id?.trim() === '') {
    field.report('workflow/step-id', `${field.path} is required`, { hint: 'give the step an id such as fetch_logs' });
  } else if (id !== undefined && id.length > LIMITS.stepIdLength) {
    const message = `${field.path} must be at most ${LIMITS.stepIdLength} characters (got ${id.length})`;
    field.report('workflow/step-id', message, { hint: 'shorten it' });
  }
  return id ?? '';
}

function readDependencies(field: Cursor, stepId: string): readonly string[] {
  const names = new Set<string>();
  for (const item of texts(field)) {
    const name = String(item.value);
    if (names.has(name)) {
      const message = `${field.path} names step ${JSON.stringify(name)} twice`;
      item.report('workflow/duplicate-dependency', message, {
        severity: 'warning',
        hint: 'keep one of the two',
        stepId,
      });
    }
    names.add(name);
  }
  return [...names];
}

/** A key of another type of step does nothing, which its author surely did not intend. */
function reportUnused(field: Cursor, type: StepType, stepId: string): void {
  const known = KEYS_OF[type];
  // These have errors of their own.
  const told = type === 'forEach' ? ['tool', 'message'] : [];
  for (const key of Object.keys(field.object)) {
    if (!STEP_KEYS.includes(key) || known.includes(key) || told.includes(key)) continue;
    const message = `${field.path}.${key} has no effect on a step of type ${type}`;
    field
      .get(key)
      .report('workflow/unused-key', message, { severity: 'warning', hint: 'remove it', atKey: true, stepId });
  }
}

function readElicitation(field: Cursor, base: StepBase): ElicitationStep {
  const { path } = field;
  const stepId = base.id;
  const message = text(field.get('message'));
  if (!field.get('message').present || message === '') {
    const hint = 'add the question to the user as message';
    field
      .get('message')
      .report('workflow/required', `${path}.message is required when type is elicitation`, { hint, stepId });
  }
  const written = object(field.get('schema'), 'workflow/schema');
  if (!field.get('schema').present) {
    const hint = 'add schema: {type: object, properties: {…}}';
    field.get('schema').report('workflow/schema', `${path}.schema is required for elicitation steps`, { hint, stepId });
  }
  const wrapped = written !== undefined && isPrimitive(written);
  const schema: JsonObject = wrapped
    ? { type: 'object', properties: { value: written }, required: ['value'] }
    : (written ?? { type: 'object', properties: {} });
  const onDecline = readHandler(field.get('onDecline'));
  const onCancel = readHandler(field.get('onCancel'));
  const fallback = readDefaultResponse(field.get('defaultResponse'), wrapped);
  return {
    ...base,
    type: 'elicitation',
    message: message ?? '',
    schema,
    wrapped,
    ...(onDecline === undefined ? {} : { onDecline }),
    ...(onCancel === undefined ? {} : { onCancel }),
    ...(fallback === undefined ? {} : { defaultResponse: fallback }),
  };
}

/** The protocol asks with objects alone; anything else becomes the property `value` of one. */
function isPrimitive(schema: JsonObject): boolean {
  const type = own(schema, 'type');
  return type === undefined
    ? own(schema, 'properties') === undefined && own(schema, '$ref') === undefined
    : type !== 'object';
}

function readDefaultResponse(field: Cursor, wrapped: boolean): JsonObject | undefined {
  const { value } = field;
  if (value === undefined) return undefined;
  if (!wrapped) {
    if (isObject(value)) return value;
    const message = `${field.path} must be an object as its schema is (got ${typeName(value)})`;
    field.report('workflow/default-response', message, { hint: 'write the answer as a mapping' });
    return undefined;
  }
  const already = isObject(value) && Object.keys(value).length === 1 && Object.hasOwn(value, 'value');
  return already ? value : { value: value satisfies JsonValue };
}

function readHandler(field: Cursor): ElicitationHandler | undefined {
  if (!field.present) return undefined;
  if (!isObject(field.value)) {
    const shown = typeof field.value === 'string' ? field.value : 'continue';
    report(field, 'workflow/elicitation-action', 'an object', `write {action: ${shown}}`);
    return { action: 'abort' };
  }
  field.allowKeys(['action']);
  const action = choice(field.get('action'), ['abort', 'continue', 'skip_remaining'], 'workflow/elicitation-action');
  return { action: action ?? 'abort' };
}
