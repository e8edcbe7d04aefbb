import type { WorkflowDefinition } from './definition.js';
import { WorkflowError } from './errors.js';
import { isObject, own, type JsonObject, type JsonValue } from './json.js';
import { compileSchema, type SchemaProblem } from './schemas.js';

/** How the parameters of a run are prepared. */
export interface ParameterOptions {
  /**
   * Check the values against the schema.
   *
   * @defaultValue true
   */
  readonly validate?: boolean;
}

/**
 * Makes the parameters of a run from the caller's arguments: fills in the defaults of the schema's own properties, then
 * checks everything. An explicit `null` counts as given.
 *
 * @returns A new object; the arguments stay as they are.
 * @throws WorkflowError `ERR_WORKFLOW_DAG_PARAMETERS` with every problem in `details.problems`.
 */
export function prepareParameters(
  definition: Pick<WorkflowDefinition, 'name' | 'parameters'>,
  given: JsonObject,
  { validate = true }: ParameterOptions = {},
): JsonObject {
  if (!isObject(given)) {
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_PARAMETERS',
      `Invalid arguments for composite tool "${definition.name}": expected a JSON object, got ${JSON.stringify(given)}`,
      { details: { problems: [] } },
    );
  }
  const { parameters } = definition;
  if (parameters === undefined) return { ...given };
  const values = withDefaults(parameters, given);
  const problems = validate ? problemsOf(parameters, values) : [];
  if (problems.length === 0) return values;
  const texts = problems.map(({ pointer, message }) => `${nameOf(pointer)} ${message}`.trim());
  throw new WorkflowError(
    'ERR_WORKFLOW_DAG_PARAMETERS',
    `Invalid arguments for composite tool "${definition.name}": ${texts.join('; ')}`,
    { details: { problems } },
  );
}

function withDefaults(parameters: JsonObject, given: JsonObject): JsonObject {
  const properties = own(parameters, 'properties');
  const defaults: [string, JsonValue][] = [];
  for (const [name, property] of isObject(properties) ? Object.entries(properties) : []) {
    if (Object.hasOwn(given, name) || !isObject(property)) continue;
    const value = own(property, 'default');
    if (value !== undefined) defaults.push([name, value]);
  }
  return Object.fromEntries([...defaults, ...Object.entries(given)]);
}

function problemsOf(parameters: JsonObject, values: JsonObject): readonly SchemaProblem[] {
  const schema = compileSchema(parameters);
  return 'check' in schema ? schema.check(values) : schema.problems;
}

/** `/a/0/b` as `a[0].b`. */
function nameOf(pointer: string): string {
  const segments = pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
  return segments.reduce((path, segment) => {
    if (/^\d+$/.test(segment)) return `${path}[${segment}]`;
    return path === '' ? segment : `${path}.${segment}`;
  }, '');
}
