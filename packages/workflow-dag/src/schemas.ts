import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as formats from 'ajv-formats';
import { own, type JsonObject, type JsonValue } from './json.js';

/** One thing that a JSON Schema has against a value. */
export interface SchemaProblem {
  /** JSON Pointer (RFC 6901) into the value; empty for the whole. */
  readonly pointer: string;
  readonly message: string;
}

/** A compiled JSON Schema. */
export interface Schema {
  /** All problems of a value; none: it fits. */
  check(value: unknown): readonly SchemaProblem[];
}

/** A schema that could not be compiled. The pointers lead into the schema. */
export interface BrokenSchema {
  readonly problems: readonly SchemaProblem[];
}

const OPTIONS: Options = {
  strict: false,
  allErrors: true,
  useDefaults: false,
  coerceTypes: false,
  validateSchema: false,
  logger: false,
  // Schemas of strangers often repeat an $id; nothing is looked up by it.
  addUsedSchema: false,
};
const MAX_PROBLEMS = 20;

const compiled = new WeakMap<object, Schema | BrokenSchema>();

/**
 * Compiles a JSON Schema of 2020-12, or of draft-07 where it says so or only then makes sense. Nothing is fetched.
 *
 * @returns What is wrong with the schema, where it does not compile.
 */
export function compileSchema(schema: JsonObject): Schema | BrokenSchema {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const made = compile(schema);
  compiled.set(schema, made);
  return made;
}

function compile(schema: JsonObject): Schema | BrokenSchema {
  const dialect = own(schema, '$schema');
  const old = typeof dialect === 'string' && /draft-0[467]|schema#?$/.test(dialect) && !dialect.includes('2020-12');
  const first = compileAs(schema, old ? 'draft-07' : '2020-12');
  if ('check' in first || old || dialect !== undefined) return first;
  const second = compileAs(schema, 'draft-07');
  return 'check' in second ? second : first;
}

type Dialect = '2020-12' | 'draft-07';

const META = {
  '2020-12': 'https://json-schema.org/draft/2020-12/schema',
  'draft-07': 'http://json-schema.org/draft-07/schema',
} as const;

/** The schemas of schemas take long to compile, and are the same for all. */
const metas = new Map<Dialect, Ajv | Ajv2020>();

function instance(dialect: Dialect): Ajv | Ajv2020 {
  const ajv = dialect === '2020-12' ? new Ajv2020(OPTIONS) : new Ajv(OPTIONS);
  formats.default.default(ajv);
  return ajv;
}

function compileAs(schema: JsonObject, dialect: Dialect): Schema | BrokenSchema {
  const meta = metas.get(dialect) ?? instance(dialect);
  metas.set(dialect, meta);
  const { $schema: _dialect, ...body } = schema;
  try {
    if (meta.validate(META[dialect], body) !== true) return { problems: problemsOf(meta.errors) };
    // An instance a schema: a shared one would remember every $id that it ever saw.
    const validate = instance(dialect).compile(body);
    return { check: (value) => check(validate, value) };
  } catch (error) {
    return { problems: [{ pointer: '', message: error instanceof Error ? error.message : String(error) }] };
  }
}

function check(validate: ValidateFunction, value: unknown): readonly SchemaProblem[] {
  return validate(value) === true ? [] : problemsOf(validate.errors);
}

function problemsOf(errors: readonly ErrorObject[] | null | undefined): readonly SchemaProblem[] {
  const problems = new Map<string, SchemaProblem>();
  for (const { instancePath, message = 'is invalid', params } of withoutAlternatives(errors ?? [])) {
    const problem = { pointer: instancePath, message: `${message}${detail(params)}` };
    problems.set(`${problem.pointer} ${problem.message}`, problem);
    if (problems.size >= MAX_PROBLEMS) break;
  }
  return [...problems.values()];
}

/** Where none of several alternatives fits, one word about it is enough: the values that are allowed, if any are. */
function withoutAlternatives(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const chosen = new Map<string, ErrorObject>();
  for (const { keyword, instancePath } of errors) {
    if (keyword !== 'anyOf' && keyword !== 'oneOf') continue;
    const here = errors.filter((error) => error.instancePath === instancePath);
    const best = here.find((error) => error.keyword === 'enum') ?? here[0];
    if (best !== undefined) chosen.set(instancePath, best);
  }
  return errors.filter((error) => (chosen.get(error.instancePath) ?? error) === error);
}

function detail(params: Readonly<Record<string, unknown>>): string {
  if (typeof params['additionalProperty'] === 'string') return ` (${JSON.stringify(params['additionalProperty'])})`;
  const allowed = params['allowedValues'];
  return Array.isArray(allowed) ? ` (${allowed.map((value: JsonValue) => JSON.stringify(value)).join(', ')})` : '';
}
