import { decodeHeaderValue } from '@thv/transport';
import type { JsonObject, Message } from '@thv/transport';
import { isObject, own, paramsOf } from '../meta.js';

/** An argument that must be mirrored in a header. */
export interface HeaderMark {
  /** Lower-case name, `mcp-param-` included. */
  readonly header: string;
  /** From the arguments to the value. */
  readonly path: readonly string[];
  readonly type: 'integer' | 'string' | 'boolean';
}

/** What disagrees. */
export interface HeaderProblem {
  readonly message: string;
  readonly data: { readonly header: string | null; readonly body: string | null };
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const MAX_DEPTH = 10;

/**
 * The marks `x-mcp-header` of an input schema, found through `properties` alone. A schema whose marks break the rules
 * has none that count: clients must not use such a tool over HTTP, and it is theirs to refuse it.
 *
 * @see https://modelcontextprotocol.io/specification — "Transports", custom headers of 2026-07-28
 */
export function headerMarks(inputSchema: unknown): readonly HeaderMark[] {
  const marks: HeaderMark[] = [];
  return collectMarks(inputSchema, [], marks) ? marks : [];
}

function collectMarks(schema: unknown, path: readonly string[], marks: HeaderMark[]): boolean {
  const properties = own(schema, 'properties');
  if (!isObject(properties) || path.length >= MAX_DEPTH) return true;
  for (const key of Object.keys(properties)) {
    const property = properties[key];
    const here = [...path, key];
    const mark = own(property, 'x-mcp-header');
    if (mark !== undefined) {
      const type = own(property, 'type');
      const header = typeof mark === 'string' ? `mcp-param-${mark.toLowerCase()}` : '';
      const isType = type === 'integer' || type === 'string' || type === 'boolean';
      if (!isType || typeof mark !== 'string' || !TOKEN.test(mark)) return false;
      if (marks.some((other) => other.header === header)) return false;
      marks.push({ header, path: here, type });
    }
    if (!collectMarks(property, here, marks)) return false;
  }
  return true;
}

/** Compares the mirrored arguments of a `tools/call` with their headers. Headers that no mark names are ignored. */
export function checkParamHeaders(
  message: Message,
  marks: readonly HeaderMark[],
  header: (name: string) => string | undefined,
): HeaderProblem | undefined {
  if (marks.length === 0) return undefined;
  const args = own(paramsOf(message), 'arguments');
  for (const mark of marks) {
    const value = valueAt(isObject(args) ? args : {}, mark.path);
    const sent = header(mark.header);
    const problem = compare(mark, value, sent);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function valueAt(args: JsonObject, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const key of path) value = own(value, key);
  return value;
}

function compare(
  { header, path, type }: HeaderMark,
  value: unknown,
  sent: string | undefined,
): HeaderProblem | undefined {
  if (value === undefined || value === null) {
    if (sent === undefined) return undefined;
    return { message: `The ${header} header has no argument ${path.join('.')}`, data: { header: sent, body: null } };
  }
  const decoded = sent === undefined ? undefined : decodeHeaderValue(sent);
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  const same =
    decoded !== undefined &&
    (type === 'integer' && typeof value === 'number'
      ? /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(decoded) && Number(decoded) === value
      : decoded === body);
  if (same) return undefined;
  return {
    message: `The ${header} header must equal arguments.${path.join('.')}`,
    data: { header: sent ?? null, body },
  };
}
