import {
  DEFAULTS,
  type AnnotationOverrides,
  type DefinitionForm,
  type FailureMode,
  type ObjectMeta,
  type OutputConfig,
  type WorkflowDefinition,
} from '../definition.js';
import type { JsonObject } from '../json.js';
import type { Cursor } from './cursor.js';
import { bool, choice, duration, object, text, texts, report } from './fields.js';
import { readProperties } from './properties.js';
import { readStep } from './step.js';

/** Keys of a workflow in either form. */
export const WORKFLOW_KEYS = [
  'name',
  'description',
  'parameters',
  'timeout',
  'failureMode',
  'steps',
  'output',
  'annotations',
] as const;

/** What comes from around the workflow. */
export interface Envelope {
  readonly form: DefinitionForm;
  readonly apiVersion?: string;
  readonly metadata?: ObjectMeta;
}

/** Reads a workflow; what is wrong is reported at the cursor, and replaced by its default. */
export function readWorkflow(root: Cursor, envelope: Envelope): WorkflowDefinition {
  root.allowKeys(WORKFLOW_KEYS, { params: 'did you mean "parameters"?', onError: 'onError belongs to a step' });
  const parameters = readParameters(root.get('parameters'));
  const output = readOutput(root.get('output'));
  const annotations = readAnnotations(root.get('annotations'));
  return {
    ...envelope,
    name: readName(root.get('name')),
    description: readDescription(root.get('description')),
    ...(parameters === undefined ? {} : { parameters }),
    timeoutMs: duration(root.get('timeout')) ?? DEFAULTS.workflowTimeoutMs,
    failureMode: readFailureMode(root.get('failureMode')),
    steps: readSteps(root.get('steps')),
    ...(output === undefined ? {} : { output }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

function readName(field: Cursor): string {
  const name = text(field, 'workflow/name');
  if (!field.present || name === '') {
    field.report('workflow/name', `${field.path} is required`, { hint: 'give the workflow a name such as deploy_app' });
  }
  return name ?? '';
}

function readDescription(field: Cursor): string {
  const description = text(field, 'workflow/description');
  if (!field.present || description?.trim() === '') {
    field.report('workflow/description', `${field.path} is required`, {
      hint: 'say in a sentence what the workflow does',
    });
  }
  return description ?? '';
}

function readFailureMode(field: Cursor): FailureMode {
  const removed = field.value === 'best_effort' ? 'best_effort is gone; write continue' : undefined;
  return choice(field, ['abort', 'continue'], 'workflow/failure-mode', removed) ?? 'abort';
}

function readSteps(field: Cursor): WorkflowDefinition['steps'] {
  if (field.present && !Array.isArray(field.value)) {
    report(field, 'workflow/steps', 'a list', 'write each step as an item: - id: …');
    return [];
  }
  const steps = field.items();
  if (steps.length === 0) {
    field.report('workflow/steps', `${field.path} must have at least one step`, {
      hint: 'add a step with id and tool',
    });
  }
  return steps.map(readStep);
}

/** The rules of the shape alone: whether it is a JSON Schema is checked with the templates. */
function readParameters(field: Cursor): JsonObject | undefined {
  const parameters = object(field, 'workflow/parameters');
  if (parameters === undefined || Object.keys(parameters).length === 0) return undefined;
  const { path } = field;
  const complain = (at: Cursor, message: string, hint: string): void =>
    at.report('workflow/parameters', `${path}: ${message}`, { hint });
  const type = field.get('type');
  const legacy = Object.values(parameters).some(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && 'type' in value,
  );
  if (type.value === undefined || (typeof type.value === 'object' && legacy)) {
    const hint = legacy
      ? 'the parameters stand at the top: move them below "properties", and the required ones into a list "required"'
      : 'add type: object';
    complain(type, "must have 'type' field (should be 'object' for JSON Schema)", hint);
  } else if (typeof type.value !== 'string') {
    complain(type, "'type' field must be a string", 'write type: object');
  } else if (type.value !== 'object') {
    complain(
      type,
      `'type' must be 'object' (got '${type.value}')`,
      'write type: object and list the parameters below properties',
    );
  }
  const properties = field.get('properties');
  if (
    properties.value !== undefined &&
    (typeof properties.value !== 'object' || properties.value === null || Array.isArray(properties.value))
  ) {
    complain(properties, "'properties' must be an object", 'write each parameter as a key below properties');
  }
  const required = field.get('required');
  if (required.value !== undefined && !Array.isArray(required.value)) {
    complain(required, "'required' must be an array", 'write required: [name, …] beside properties');
  }
  return parameters;
}

function readOutput(field: Cursor): OutputConfig | undefined {
  if (object(field, 'workflow/output') === undefined) return undefined;
  field.allowKeys(['properties', 'required']);
  const properties = readProperties(field.get('properties'), {
    code: 'workflow/output',
    label: field.path,
    empty: 'output properties cannot be empty',
  });
  const names = new Set(properties.map(({ name }) => name));
  const required: string[] = [];
  for (const item of texts(field.get('required'), 'workflow/output')) {
    const name = String(item.value);
    if (!names.has(name)) {
      const message = `${field.path}: required field ${JSON.stringify(name)} does not exist in properties`;
      item.report('workflow/output', message, { hint: `properties: ${[...names].join(', ')}` });
    }
    required.push(name);
  }
  return { properties, required };
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

function readAnnotations(field: Cursor): AnnotationOverrides | undefined {
  if (object(field, 'workflow/annotations') === undefined) return undefined;
  field.allowKeys(['title', ...HINTS]);
  const title = text(field.get('title'), 'workflow/annotations');
  const hints = HINTS.map((name) => [name, bool(field.get(name), 'workflow/annotations')] as const);
  return Object.fromEntries([['title', title] as const, ...hints].filter(([, value]) => value !== undefined));
}
