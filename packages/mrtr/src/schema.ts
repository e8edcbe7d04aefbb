import { isObject, own } from './json.js';
import type { JsonObject, JsonValue } from './types.js';

/** A field of a form. The protocol knows these and no others. */
export type FormField =
  | {
      readonly type: 'string';
      readonly title?: string;
      readonly description?: string;
      readonly minLength?: number;
      readonly maxLength?: number;
      readonly pattern?: string;
      readonly format?: 'email' | 'uri' | 'date' | 'date-time';
      readonly enum?: readonly string[];
      readonly enumNames?: readonly string[];
      readonly oneOf?: readonly { readonly const: string; readonly title: string }[];
      readonly default?: string;
    }
  | {
      readonly type: 'number' | 'integer';
      readonly title?: string;
      readonly description?: string;
      readonly minimum?: number;
      readonly maximum?: number;
      readonly default?: number;
    }
  | { readonly type: 'boolean'; readonly title?: string; readonly description?: string; readonly default?: boolean }
  | {
      readonly type: 'array';
      readonly title?: string;
      readonly description?: string;
      readonly minItems?: number;
      readonly maxItems?: number;
      readonly items:
        | { readonly type: 'string'; readonly enum: readonly string[] }
        | { readonly anyOf: readonly { readonly const: string; readonly title: string }[] };
      readonly default?: readonly string[];
    };

/**
 * The schema of a form: a flat object of simple fields.
 *
 * @see https://modelcontextprotocol.io/specification — "Elicitation", requested schema
 */
export interface FormSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, FormField>>;
  readonly required?: readonly string[];
}

type FieldValue<F> = F extends { readonly type: 'string' }
  ? F extends { readonly enum: readonly (infer Word)[] }
    ? Word
    : string
  : F extends { readonly type: 'number' | 'integer' }
    ? number
    : F extends { readonly type: 'boolean' }
      ? boolean
      : readonly string[];

type RequiredKeys<S extends FormSchema> = S extends { readonly required: readonly (infer Key)[] } ? Key : never;

/** What a form with this schema gives. */
export type FormContent<S extends FormSchema> = {
  readonly [Key in keyof S['properties'] as Key extends RequiredKeys<S> ? Key : never]: FieldValue<
    S['properties'][Key]
  >;
} & {
  readonly [Key in keyof S['properties'] as Key extends RequiredKeys<S> ? never : Key]?: FieldValue<
    S['properties'][Key]
  >;
};

const MAX_TEXT = 100_000;

/** What is wrong with the content of a form, a sentence each; none: it fits. Fields that were not asked are ignored. */
export function formProblems(schema: FormSchema, content: unknown): readonly string[] {
  if (!isObject(content)) return ['the content must be an object'];
  const problems: string[] = [];
  for (const key of schema.required ?? []) {
    if (own(content, key) === undefined) problems.push(`${key} is required`);
  }
  for (const key of Object.keys(schema.properties)) {
    const field = schema.properties[key];
    const value = own(content, key);
    const problem = value === undefined || field === undefined ? undefined : fieldProblem(field, value);
    if (problem !== undefined) problems.push(`${key} ${problem}`);
  }
  return problems;
}

/** The content without what was not asked, and with the defaults of what was left out. */
export function formContent(schema: FormSchema, content: JsonObject): JsonObject {
  const entries = Object.entries(schema.properties).flatMap(([key, field]) => {
    const value = own(content, key) ?? field.default;
    return value === undefined ? [] : [[key, value as JsonValue] as const];
  });
  return Object.fromEntries(entries);
}

function fieldProblem(field: FormField, value: unknown): string | undefined {
  switch (field.type) {
    case 'string':
      return stringProblem(field, value);
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false';
    case 'array':
      return listProblem(field, value);
    default:
      return numberProblem(field, value);
  }
}

function stringProblem(field: Extract<FormField, { type: 'string' }>, value: unknown): string | undefined {
  if (typeof value !== 'string') return 'must be text';
  const words = field.enum ?? field.oneOf?.map((choice) => choice.const);
  if (words !== undefined) return words.includes(value) ? undefined : `must be one of: ${words.join(', ')}`;
  const length = Array.from(value.slice(0, MAX_TEXT)).length;
  if (value.length > MAX_TEXT) return `must have at most ${MAX_TEXT} characters`;
  if (field.minLength !== undefined && length < field.minLength)
    return `must have at least ${field.minLength} characters`;
  if (field.maxLength !== undefined && length > field.maxLength)
    return `must have at most ${field.maxLength} characters`;
  return field.format === undefined || FORMATS[field.format](value) ? undefined : `must be ${NAMES[field.format]}`;
}

const NAMES = { email: 'an e-mail address', uri: 'a URI', date: 'a date', 'date-time': 'a date with time' } as const;

const FORMATS: Readonly<Record<keyof typeof NAMES, (value: string) => boolean>> = {
  email: (value) => value.length <= 320 && /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)*$/.test(value),
  uri: (value) => URL.canParse(value),
  date: isDate,
  'date-time': (value) =>
    /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/.test(value) &&
    isDate(value.slice(0, 10)) &&
    !Number.isNaN(Date.parse(value)),
};

function isDate(value: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(value)) return false;
  const date = new Date(`${value}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
}

function numberProblem(field: Extract<FormField, { type: 'number' | 'integer' }>, value: unknown): string | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number';
  if (field.type === 'integer' && !Number.isInteger(value)) return 'must be a whole number';
  if (field.minimum !== undefined && value < field.minimum) return `must be at least ${field.minimum}`;
  if (field.maximum !== undefined && value > field.maximum) return `must be at most ${field.maximum}`;
  return undefined;
}

function listProblem(field: Extract<FormField, { type: 'array' }>, value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'must be a list';
  const words = 'enum' in field.items ? field.items.enum : field.items.anyOf.map((choice) => choice.const);
  const wrong = value.find((item) => !words.includes(item as string));
  if (wrong !== undefined) return `must have items of: ${words.join(', ')}`;
  if (field.minItems !== undefined && value.length < field.minItems)
    return `must have at least ${field.minItems} items`;
  if (field.maxItems !== undefined && value.length > field.maxItems) return `must have at most ${field.maxItems} items`;
  return undefined;
}
