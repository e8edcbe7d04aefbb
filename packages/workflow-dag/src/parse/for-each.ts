import { DEFAULTS, LIMITS, type ForEachStep, type InnerStep } from '../definition.js';
import { isObject } from '../json.js';
import { readOnError, readToolCall } from './calls.js';
import type { Cursor } from './cursor.js';
import { integer, report, shortValue, text } from './fields.js';

const INNER_KEYS = ['id', 'type', 'tool', 'arguments', 'onError', 'idempotent', 'cache', 'transform'];
const WITHOUT_EFFECT = ['condition', 'timeout', 'dependsOn', 'defaultResults', 'resume'];

type ForEachPart = Pick<ForEachStep, 'collection' | 'itemVar' | 'maxParallel' | 'maxIterations' | 'step' | 'onError'>;

/** Reads what only a `forEach` step has. */
export function readForEach(field: Cursor, id: string): ForEachPart {
  const { path } = field;
  const complain = (at: Cursor, message: string, hint: string): void =>
    at.report('workflow/for-each', message, { hint, stepId: id });
  for (const key of ['tool', 'message']) {
    const at = field.get(key);
    if (at.present) complain(at, `${path}: forEach step must not have '${key}' field`, `move it below step`);
  }
  const collection = text(field.get('collection'), 'workflow/for-each');
  if (!field.get('collection').present || collection === '') {
    const hint = 'add collection: "{{json .steps.<id>.output.<list>}}"';
    complain(field.get('collection'), `${path}.collection is required for forEach steps`, hint);
  }
  const maxParallel = readBound(field.get('maxParallel'), LIMITS.parallel, complain);
  const onError = readOnError(field.get('onError'), id);
  if (onError.action === 'retry') {
    const message = `${path}.onError.action: retry on a forEach step behaves like abort`;
    const hint = 'write the retries below step.onError';
    field.get('onError').get('action').report('workflow/retry', message, { severity: 'warning', hint, stepId: id });
  }
  return {
    collection: collection ?? '',
    itemVar: readItemVar(field.get('itemVar'), complain),
    ...(maxParallel === undefined ? {} : { maxParallel }),
    maxIterations: readBound(field.get('maxIterations'), LIMITS.iterations, complain) ?? DEFAULTS.maxIterations,
    step: readInner(field.get('step'), id, complain),
    onError,
  };
}

type Complain = (at: Cursor, message: string, hint: string) => void;

function readItemVar(field: Cursor, complain: Complain): string {
  const name = text(field, 'workflow/for-each');
  if (name === undefined || name === '') return DEFAULTS.itemVar;
  if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name)) {
    complain(
      field,
      `${field.path} must be a valid Go identifier (got ${JSON.stringify(name)})`,
      'use letters, digits and _',
    );
  } else if (name === 'index') {
    complain(field, `${field.path} cannot be 'index' (reserved)`, 'choose another name');
  }
  return name;
}

/** Zero and absent mean the default. */
function readBound(field: Cursor, most: number, complain: Complain): number | undefined {
  const bound = integer(field, 'workflow/for-each');
  if (bound === undefined || bound === 0) return undefined;
  if (bound < 0) complain(field, `${field.path} must be non-negative (got ${bound})`, 'leave it out for the default');
  else if (bound > most) complain(field, `${field.path} must be <= ${most} (got ${bound})`, `write at most ${most}`);
  else return bound;
  return undefined;
}

function readInner(field: Cursor, outerId: string, complain: Complain): InnerStep {
  if (!field.present) {
    complain(field, `${field.path} is required for forEach steps`, 'add step: {tool: …, arguments: {…}}');
  } else if (!isObject(field.value)) {
    report(field, 'workflow/for-each', 'an object', 'write step: {tool: …, arguments: {…}}');
  }
  field.allowKeys([...INNER_KEYS, ...WITHOUT_EFFECT]);
  for (const key of WITHOUT_EFFECT) {
    const unused = field.get(key);
    if (!unused.present) continue;
    const message = `${unused.path} has no effect on the inner step of a forEach step`;
    unused.report('workflow/unused-key', message, {
      severity: 'warning',
      hint: 'write it on the forEach step',
      atKey: true,
    });
  }
  const type = field.get('type');
  if (type.present && type.value !== '' && type.value !== 'tool') {
    const message = `${type.path} must be 'tool' (got ${JSON.stringify(shortValue(type.value))}) for the inner step of a forEach step`;
    complain(type, message, 'move the other step out of the loop');
  }
  const call = readToolCall(field, outerId);
  if (isObject(field.value) && call.tool === '') {
    complain(
      field.get('tool'),
      `${field.path}.tool is required for the inner step of a forEach step`,
      'add tool: workload.tool_name',
    );
  }
  return { id: text(field.get('id'), 'workflow/step-id') ?? `${outerId}[]`, ...call };
}
