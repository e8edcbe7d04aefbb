import { coerceDefault, coerceText, typeName } from './coerce.js';
import { toPublic } from './context.js';
import type { OutputConfig, OutputProperty, OutputType } from './definition.js';
import { WorkflowError, type WorkflowErrorCode } from './errors.js';
import type { Templates } from './expand.js';
import { parseValuePath, readPath, type ValuePath } from './value-path.js';

const NO_VALUE = '<no value>';

/** How properties are made. */
export interface PropertyOptions {
  readonly templates: Templates;
  /** What templates see as `.`, and where paths begin. */
  readonly data: unknown;
  readonly strictGo: boolean;
  readonly code: Extract<WorkflowErrorCode, 'ERR_WORKFLOW_DAG_OUTPUT' | 'ERR_WORKFLOW_DAG_TRANSFORM'>;
}

/**
 * Makes the output of a workflow.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_OUTPUT` that names the property.
 */
export function constructOutput(config: OutputConfig, options: Omit<PropertyOptions, 'code'>): Record<string, unknown> {
  const output = constructProperties(config.properties, { ...options, code: 'ERR_WORKFLOW_DAG_OUTPUT' });
  for (const name of config.required) {
    const state = !Object.hasOwn(output, name) ? 'missing' : output[name] === null ? 'nil' : undefined;
    if (state !== undefined) {
      throw new WorkflowError('ERR_WORKFLOW_DAG_OUTPUT', `required output field "${name}" is ${state}`, {
        details: { name },
      });
    }
  }
  return output;
}

/** Makes one value for each property, in the order written. */
export function constructProperties(
  properties: readonly OutputProperty[],
  options: PropertyOptions,
  prefix = '',
): Record<string, unknown> {
  const output = Object.create(null) as Record<string, unknown>;
  for (const property of properties) {
    const path = prefix === '' ? property.name : `${prefix}.${property.name}`;
    const value = construct(property, options, path);
    if (value !== undefined) output[property.name] = value;
  }
  return output;
}

function construct(property: OutputProperty, options: PropertyOptions, path: string): unknown {
  if (property.properties !== undefined) return constructProperties(property.properties, options, path);
  const found =
    property.from === undefined ? fromTemplate(property, options) : fromPath(property, property.from, options);
  if (found.ok) return found.value;
  const fallback = property.default;
  if (fallback === undefined || fallback === null) throw failure(options, path, found.reason, found.cause);
  if (property.type === undefined) return fallback;
  const read = coerceDefault(fallback, property.type, (value) => options.templates.render('{{.}}', value));
  if (!read.ok) throw failure(options, path, read.message);
  return read.value;
}

type Found =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string; readonly cause?: unknown };

function fromTemplate(property: OutputProperty, { templates, data, strictGo }: PropertyOptions): Found {
  let text: string;
  try {
    text = templates.render(property.value ?? '', data);
  } catch (error) {
    return { ok: false, reason: `failed to expand template: ${(error as Error).message}`, cause: error };
  }
  const hasDefault = property.default !== undefined && property.default !== null;
  if (text === NO_VALUE && hasDefault) return { ok: false, reason: 'nothing there' };
  const read = coerceText(text, property.type ?? 'string', { strictGo });
  return read.ok ? read : { ok: false, reason: read.message };
}

const paths = new Map<string, ValuePath>();

/** Paths come from definitions, of which a process knows few; the bound is for those that make them up. */
function pathOf(text: string): ValuePath {
  let path = paths.get(text);
  if (path === undefined) {
    if (paths.size >= 1000) paths.clear();
    paths.set(text, (path = parseValuePath(text)));
  }
  return path;
}

function fromPath(property: OutputProperty, from: string, { data }: PropertyOptions): Found {
  const value = toPublic(readPath(data, pathOf(from)));
  if (value === undefined) return { ok: false, reason: `nothing at ${from}` };
  if (property.type === undefined || fits(value, property.type)) return { ok: true, value };
  if (typeof value === 'string') {
    const read = coerceText(value, property.type);
    return read.ok ? read : { ok: false, reason: read.message };
  }
  return { ok: false, reason: `${from} is of type ${typeName(value)}, expected ${property.type}` };
}

function fits(value: unknown, type: OutputType): boolean {
  switch (type) {
    case 'integer':
      return Number.isSafeInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

function failure({ code }: PropertyOptions, path: string, reason: string, cause?: unknown): WorkflowError {
  return new WorkflowError(code, `failed to construct output property "${path}": ${reason}`, {
    details: { path },
    cause,
  });
}
