import { coerceDefault } from '../coerce.js';
import { LIMITS, type OutputProperty, type OutputType } from '../definition.js';
import { WorkflowError } from '../errors.js';
import type { RuleId } from '../issue.js';
import { typeName } from '../coerce.js';
import { parseValuePath } from '../value-path.js';
import type { Cursor } from './cursor.js';
import { shortValue, text } from './fields.js';
import { nearest } from './nearest.js';

const TYPES: readonly OutputType[] = ['string', 'integer', 'number', 'boolean', 'object', 'array'];
const KEYS = ['type', 'description', 'value', 'from', 'properties', 'default'];

/** Which properties are read: those of an output, or the fields of a transformation. */
export interface PropertyContext {
  readonly code: Extract<RuleId, 'workflow/output' | 'workflow/transform'>;
  /** Path before the name of the property in messages. */
  readonly label: string;
  /** Message for an empty map. */
  readonly empty: string;
}

/** Reads a map of properties, nested ones included. */
export function readProperties(field: Cursor, context: PropertyContext): OutputProperty[] {
  const wrong = field.present && (typeof field.value !== 'object' || Array.isArray(field.value));
  if (wrong || field.entries().length === 0) {
    const message = wrong
      ? `${field.path} must be an object (got ${typeName(field.value)})`
      : `${context.label}: ${context.empty}`;
    field.report(context.code, message, { hint: 'write each property as a key with type and value' });
    return [];
  }
  return readLevel(field, context, '', 1);
}

function readLevel(field: Cursor, context: PropertyContext, prefix: string, depth: number): OutputProperty[] {
  return field.entries().flatMap(([name]) => {
    const at = field.get(name);
    const full = prefix === '' ? name : `${prefix}.${name}`;
    const property = readProperty(at, context, name, full, depth);
    return property === undefined ? [] : [property];
  });
}

function readProperty(
  field: Cursor,
  context: PropertyContext,
  name: string,
  full: string,
  depth: number,
): OutputProperty | undefined {
  const { code, label } = context;
  const complain = (at: Cursor, problem: string, hint: string): void =>
    at.report(code, `${label}: property ${JSON.stringify(full)} ${problem}`, { hint });
  if (depth > LIMITS.outputDepth) {
    complain(field, `exceeds maximum nesting depth ${LIMITS.outputDepth}`, 'make the output flatter');
    return undefined;
  }
  if (!field.present || typeof field.value !== 'object' || Array.isArray(field.value)) {
    complain(field, `must be an object (got ${typeName(field.value)})`, 'write {type: string, value: "{{…}}"}');
    return undefined;
  }
  field.allowKeys(KEYS);
  const type = readType(field.get('type'), field, complain);
  const value = text(field.get('value'), code);
  const from = readFrom(field.get('from'), code);
  const nested = field.get('properties');
  const description = text(field.get('description'), code);
  checkSource(field, type, complain);
  const properties = nested.present ? readNested(nested, context, full, depth, complain) : undefined;
  const fallback = field.get('default').value;
  if (fallback !== undefined && fallback !== null && type !== undefined) {
    const read = coerceDefault(fallback, type, String);
    if (!read.ok) complain(field.get('default'), read.message, `write a default of type ${type}`);
  }
  return {
    name,
    ...(type === undefined ? {} : { type }),
    ...(description === undefined ? {} : { description }),
    ...(value === undefined ? {} : { value }),
    ...(from === undefined ? {} : { from }),
    ...(properties === undefined ? {} : { properties }),
    ...(fallback === undefined ? {} : { default: fallback }),
  };
}

type Complain = (at: Cursor, problem: string, hint: string) => void;

function readNested(
  nested: Cursor,
  context: PropertyContext,
  full: string,
  depth: number,
  complain: Complain,
): OutputProperty[] {
  if (nested.entries().length === 0) {
    complain(nested, 'has no properties', 'write each property as a key with type and value');
    return [];
  }
  return readLevel(nested, context, full, depth + 1);
}

function readType(field: Cursor, owner: Cursor, complain: Complain): OutputType | undefined {
  if (!field.present || field.value === '') {
    if (owner.get('from').present) return undefined;
    complain(field, "is missing required field 'type'", `add type: one of ${TYPES.join(', ')}`);
    return undefined;
  }
  const type = TYPES.find((name) => name === field.value);
  if (type === undefined) {
    const near = typeof field.value === 'string' ? nearest(field.value, TYPES) : undefined;
    const problem = `has invalid type ${JSON.stringify(shortValue(field.value))} (must be one of: ${TYPES.join(', ')})`;
    complain(field, problem, near === undefined ? 'write one of these types' : `did you mean "${near}"?`);
  }
  return type;
}

function readFrom(field: Cursor, code: RuleId): string | undefined {
  const from = text(field, code);
  if (from === undefined) return undefined;
  try {
    parseValuePath(from);
  } catch (error) {
    if (!WorkflowError.is(error)) throw error;
    field.report(code, `${field.path}: ${error.message}`, {
      hint: 'write a path from the root: .steps.a.output.items',
    });
  }
  return from;
}

/** Exactly one of value, from and properties, as the type allows. */
function checkSource(field: Cursor, type: OutputType | undefined, complain: Complain): void {
  const has = (key: string): boolean => field.get(key).present && field.get(key).value !== '';
  const [value, from, properties] = [has('value'), has('from'), has('properties')];
  if (value && properties) {
    complain(field.get('properties'), "cannot have both 'value' and 'properties' fields", 'keep one of the two');
  } else if (from && (value || properties)) {
    complain(field.get('from'), "cannot have 'from' beside 'value' or 'properties'", 'keep one of them');
  } else if (type !== undefined && type !== 'object') {
    if (properties) {
      const problem = `with type ${JSON.stringify(type)} cannot have 'properties' field`;
      complain(field.get('properties'), problem, 'write type: object, or a value');
    } else if (!value && !from) {
      complain(field, `with type ${JSON.stringify(type)} must have 'value' field`, 'add value: "{{…}}"');
    }
  } else if (!value && !from && !properties) {
    complain(field, "must have either 'value' or 'properties' field", 'add value: "{{…}}" or properties');
  }
}
