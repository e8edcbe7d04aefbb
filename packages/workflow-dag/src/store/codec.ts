import { NIL_MAP } from '@thv/go-template';
import { WorkflowError } from '../errors.js';

/*
 * JSON that keeps what JSON cannot say: Go's integers are `{"$int":"3"}`, its nil map is `{"$nilmap":true}`, numbers
 * without JSON form are `{"$float":"-0"}`, and an object that looks like one of these is wrapped in `{"$esc":…}`.
 * Without this `gt .steps.a.output.failed 0` would be a type error after a resume.
 */
const MARKS = ['$int', '$nilmap', '$float', '$esc'] as const;
const MAX_DEPTH = 1000;

function isOddNumber(value: unknown): value is number {
  return typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0));
}

function looksMarked(object: object): boolean {
  return MARKS.some((mark) => Object.hasOwn(object, mark));
}

function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'bigint' || value === NIL_MAP || isOddNumber(value)) return false;
  if (typeof value !== 'object' || value === null) return true;
  if (depth > MAX_DEPTH) throw tooDeep();
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth + 1));
  return !looksMarked(value) && Object.values(value).every((item) => isPlain(item, depth + 1));
}

function tooDeep(): WorkflowError {
  return new WorkflowError(
    'ERR_WORKFLOW_DAG_STORE',
    `A value is nested deeper than ${MAX_DEPTH} levels and cannot be stored.`,
  );
}

function mark(value: unknown, depth: number): unknown {
  if (typeof value === 'bigint') return { $int: value.toString() };
  if (value === NIL_MAP) return { $nilmap: true };
  if (isOddNumber(value)) return { $float: Object.is(value, -0) ? '-0' : String(value) };
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) throw tooDeep();
  if (Array.isArray(value)) return value.map((item) => mark(item, depth + 1));
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, item] of Object.entries(value)) copy[key] = mark(item, depth + 1);
  return looksMarked(value) ? { $esc: copy } : copy;
}

function unmark(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(unmark);
  const entries = Object.entries(value);
  const [first] = entries;
  if (entries.length === 1 && first !== undefined) {
    const [key, inner] = first;
    if (key === '$int') return BigInt(inner as string);
    if (key === '$nilmap') return NIL_MAP;
    if (key === '$float') return Number(inner);
    if (key === '$esc') return unmarkMembers(Object.entries(inner as object));
  }
  return unmarkMembers(entries);
}

function unmarkMembers(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  // Object.fromEntries makes `__proto__` a key like any other.
  return Object.fromEntries(entries.map(([key, item]) => [key, unmark(item)]));
}

/** Writes a value; `undefined` is null. */
export function encode(value: unknown): string | null {
  if (value === undefined) return null;
  return JSON.stringify(isPlain(value, 0) ? value : mark(value, 0));
}

/** Reads what {@link encode} wrote. */
export function decode(text: string | null): unknown {
  if (text === null) return undefined;
  const value: unknown = JSON.parse(text);
  return text.includes('"$') ? unmark(value) : value;
}
