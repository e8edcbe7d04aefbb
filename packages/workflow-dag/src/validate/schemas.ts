import type { ElicitationStep } from '../definition.js';
import { isObject, own, type JsonObject, type JsonValue } from '../json.js';
import type { Cursor } from '../parse/cursor.js';
import { compileSchema } from '../schemas.js';
import { reportStep, type PlacedStep, type ValidationContext } from './context.js';

/** Bounds of the schema of a question. */
const MAX_BYTES = 100 * 1024;
const MAX_DEPTH = 10;

/** The JSON Schemas of parameters and questions. */
export function checkSchemas({ definition, root, steps }: ValidationContext): void {
  if (definition.parameters !== undefined) checkParameters(root.get('parameters'), definition.parameters);
  for (const placed of steps) if (placed.step.type === 'elicitation') checkQuestion(placed, placed.step);
}

function checkParameters(field: Cursor, parameters: JsonObject): void {
  // What is not even of type object has been reported; its other faults would only repeat that.
  if (own(parameters, 'type') !== 'object') return;
  const schema = compileSchema(parameters);
  if (!('check' in schema)) {
    for (const { pointer, message } of schema.problems) {
      const at = field.deep(pointer, field.path);
      const where = pointer === '' ? '' : ` ${pointer}`;
      at.report('workflow/parameters', `${field.path}: invalid JSON Schema:${where} ${message}`, {
        hint: 'correct the schema; see json-schema.org',
      });
    }
    return;
  }
  const properties = field.get('properties');
  if (!isObject(properties.value)) return;
  for (const name of Object.keys(properties.value)) checkDefault(properties.get(name), name, field.path);
  for (const item of field.get('required').items()) {
    if (typeof item.value !== 'string' || Object.hasOwn(properties.value, item.value)) continue;
    const message = `${field.path}: required parameter ${JSON.stringify(item.value)} does not exist in properties`;
    item.report('workflow/parameters', message, { severity: 'warning', hint: 'declare it below properties' });
  }
}

function checkDefault(property: Cursor, name: string, path: string): void {
  const fallback = property.get('default');
  if (fallback.value === undefined || !isObject(property.value)) return;
  const schema = compileSchema(property.value);
  if (!('check' in schema)) return;
  for (const { message } of schema.check(fallback.value)) {
    const text = `${path}: the default of parameter ${JSON.stringify(name)} ${message}`;
    fallback.report('workflow/parameters', text, { severity: 'warning', hint: 'change the default or the schema' });
  }
}

function checkQuestion(placed: PlacedStep, step: ElicitationStep): void {
  const field = placed.cursor.get('schema');
  if (!isObject(field.value)) return;
  const bytes = Buffer.byteLength(JSON.stringify(field.value));
  const depth = depthOf(field.value);
  const complain = (message: string, hint: string): void =>
    reportStep(field, 'workflow/schema', `${field.path}: ${message}`, placed, { hint });
  if (bytes > MAX_BYTES) complain(`schema too large: ${bytes} bytes (max ${MAX_BYTES})`, 'ask for less at once');
  if (depth > MAX_DEPTH) {
    complain(`schema nesting too deep: ${depth} levels (max ${MAX_DEPTH})`, 'ask with a flat object');
    return;
  }
  const schema = compileSchema(step.schema);
  if (!('check' in schema)) {
    for (const { pointer, message } of schema.problems) {
      complain(
        `invalid JSON Schema:${pointer === '' ? '' : ` ${pointer}`} ${message}`,
        'correct the schema; see json-schema.org',
      );
    }
    return;
  }
  if (step.defaultResponse === undefined) return;
  const at = placed.cursor.get('defaultResponse');
  for (const { pointer, message } of schema.check(step.defaultResponse)) {
    const where = pointer === '' || step.wrapped ? '' : ` ${pointer}`;
    const text = `${at.path} does not match the schema:${where} ${message}`;
    reportStep(at, 'workflow/default-response', text, placed, { hint: 'write an answer that the schema allows' });
  }
}

/** Levels of objects and lists below the outermost. */
function depthOf(value: JsonValue): number {
  let deepest = 0;
  const queue: (readonly [JsonValue, number])[] = [[value, 0]];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const [item, depth] = next;
    if (typeof item !== 'object' || item === null) continue;
    deepest = Math.max(deepest, depth);
    for (const inner of Object.values(item)) queue.push([inner as JsonValue, depth + 1]);
  }
  return deepest;
}
