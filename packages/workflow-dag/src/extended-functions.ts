import {
  extraFunctions,
  NIL_MAP,
  parseTemplate,
  type GoValue,
  type RenderBudget,
  type TemplateFunction,
} from '@thv/go-template';
import { formatGoDate } from './go-date.js';
import { compileRegex, type LinearRegex } from './linear-regex.js';

const print = parseTemplate('{{.}}', { name: 'toString' });
const truth = parseTemplate('{{if .}}t{{end}}', { name: 'default' });

function text(value: GoValue): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : print.execute(value);
}

function isSet(value: GoValue): boolean {
  return truth.execute(value) === 't';
}

function list(name: string, value: GoValue): readonly GoValue[] {
  if (Array.isArray(value)) return value as readonly GoValue[];
  if (value === null || value === undefined || value === NIL_MAP) return [];
  throw new Error(`${name} expects a list, got ${typeof value}`);
}

function entries(name: string, value: GoValue): readonly (readonly [string, GoValue])[] {
  if (value instanceof Map) return [...value] as [string, GoValue][];
  if (value === null || value === undefined || value === NIL_MAP) return [];
  if (typeof value === 'object' && !Array.isArray(value)) return Object.entries(value) as [string, GoValue][];
  throw new Error(`${name} expects a map, got ${Array.isArray(value) ? 'a list' : typeof value}`);
}

function toMap(pairs: readonly (readonly [string, GoValue])[]): GoValue {
  return new Map(pairs);
}

function toInt(value: GoValue): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) {
    throw new Error(`toInt cannot convert ${JSON.stringify(text(value).slice(0, 50))}`);
  }
  return typeof value === 'string' && /^[+-]?\d+$/.test(value) ? BigInt(value) : BigInt(Math.trunc(number));
}

/** Numbers before text, each in their order; what is missing comes first. */
function compare(a: GoValue, b: GoValue): number {
  const [left, right] = [rank(a), rank(b)];
  if (left !== right) return left - right;
  if (left === 1) return Number(a) - Number(b);
  const [one, other] = [text(a), text(b)];
  return one < other ? -1 : one > other ? 1 : 0;
}

function rank(value: GoValue): number {
  if (value === null || value === undefined) return 0;
  return typeof value === 'number' || typeof value === 'bigint' ? 1 : 2;
}

function member(value: GoValue, key: string): GoValue {
  if (value instanceof Map) return value.get(key) as GoValue;
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.hasOwn(value, key) ? (value as Record<string, GoValue>)[key] : undefined;
}

const regexes = new Map<string, LinearRegex>();

function regex(pattern: string): LinearRegex {
  let found = regexes.get(pattern);
  if (found === undefined) {
    if (regexes.size >= 200) regexes.clear();
    regexes.set(pattern, (found = compileRegex(pattern)));
  }
  return found;
}

function replaceAll([from, to, source]: readonly string[], budget: RenderBudget): string {
  const pieces = (source ?? '').split(from ?? '');
  budget.fits((source ?? '').length + Math.max(0, pieces.length - 1) * ((to ?? '').length - (from ?? '').length));
  return pieces.join(to ?? '');
}

function joinAll(separator: string, values: readonly GoValue[], budget: RenderBudget): string {
  const pieces = values.map(text);
  budget.fits(pieces.reduce((sum, piece) => sum + piece.length + separator.length, 0));
  return pieces.join(separator);
}

function define(
  parameters: TemplateFunction['parameters'],
  call: (args: readonly GoValue[], budget: RenderBudget) => GoValue,
  variadic?: TemplateFunction['variadic'],
): TemplateFunction {
  const spent: TemplateFunction['call'] = (args, budget) => {
    for (const arg of args) {
      if (typeof arg === 'string') budget.spend(Math.ceil(arg.length / 256));
      else if (Array.isArray(arg)) budget.spend(arg.length);
      else if (arg instanceof Map) budget.spend(arg.size);
    }
    return call(args, budget);
  };
  return variadic === undefined ? { parameters, call: spent } : { parameters, variadic, call: spent };
}

const changeText = (change: (value: string) => string): TemplateFunction =>
  define(['any'], ([value], budget) => {
    const changed = change(text(value));
    budget.fits(changed.length);
    return changed;
  });

/**
 * Functions of a transformation that asks for `functions: extended`, beside Go's own and {@link extraFunctions}. All are
 * pure. What is worked on comes last, so that they can be piped: `{{.output.names | join ", "}}`.
 */
export const extendedFunctions: Readonly<Record<string, TemplateFunction>> = Object.freeze({
  ...extraFunctions,
  toInt: define(['any'], ([value]) => toInt(value)),
  toString: define(['any'], ([value]) => text(value)),
  default: define(['any', 'any'], ([fallback, value]) => (isSet(value) ? value : fallback)),
  coalesce: define([], (values) => values.find(isSet) ?? null, 'any'),
  first: define(['any'], ([value]) => list('first', value)[0] ?? null),
  join: define(['string', 'any'], ([separator, value], budget) =>
    joinAll(separator as string, list('join', value), budget),
  ),
  split: define(['string', 'string'], ([separator, value]) => (value as string).split(separator as string)),
  replace: define(['string', 'string', 'string'], (args, budget) => replaceAll(args as readonly string[], budget)),
  trim: changeText((value) => value.trim()),
  lower: changeText((value) => value.toLowerCase()),
  upper: changeText((value) => value.toUpperCase()),
  keys: define(['any'], ([value]) =>
    entries('keys', value)
      .map(([key]) => key)
      .sort(),
  ),
  pick: define(
    ['any'],
    ([value, ...keys]) => toMap(entries('pick', value).filter(([key]) => keys.includes(key))),
    'string',
  ),
  omit: define(
    ['any'],
    ([value, ...keys]) => toMap(entries('omit', value).filter(([key]) => !keys.includes(key))),
    'string',
  ),
  sortBy: define(['string', 'any'], ([key, value]) =>
    [...list('sortBy', value)].sort((a, b) => compare(member(a, key as string), member(b, key as string))),
  ),
  regexMatch: define(['string', 'string'], ([pattern, value], budget) =>
    regex(pattern as string).test(value as string, (units) => budget.spend(units)),
  ),
  date: define(['string', 'string'], ([layout, value]) => formatGoDate(layout as string, value as string)),
});
