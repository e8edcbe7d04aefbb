import { WorkflowError } from './errors.js';

/** Keys and indexes, from the outside in. */
export type ValuePath = readonly (string | number)[];

const PART = /\.([\p{L}\p{N}_][\p{L}\p{N}_-]*)|\[(0|[1-9][0-9]{0,8})\]|\["((?:[^"\\]|\\.)*)"\]/uy;

/**
 * Reads a path such as `.steps.a.output.items[0]["odd key"]`.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_SYNTAX` with the position in `details.offset`.
 */
export function parseValuePath(text: string): ValuePath {
  const path: (string | number)[] = [];
  let offset = 0;
  while (offset < text.length) {
    PART.lastIndex = offset;
    const match = PART.exec(text);
    if (match === null) throw broken(text, offset);
    const [whole, name, index, quoted] = match;
    if (name !== undefined) path.push(name);
    else if (index !== undefined) path.push(Number(index));
    else path.push(unquote(quoted ?? '', text, offset));
    offset += whole.length;
  }
  if (path.length === 0) throw broken(text, 0);
  return path;
}

function unquote(body: string, text: string, offset: number): string {
  try {
    return JSON.parse(`"${body}"`) as string;
  } catch {
    throw broken(text, offset);
  }
}

function broken(text: string, offset: number): WorkflowError {
  return new WorkflowError(
    'ERR_WORKFLOW_DAG_SYNTAX',
    `${JSON.stringify(text)} is no path at offset ${offset}; write for example .steps.a.output.items[0]["a key"]`,
    { details: { text, offset } },
  );
}

/** Follows a path into maps, objects and arrays; `undefined` where there is nothing. The value keeps its type. */
export function readPath(root: unknown, path: ValuePath): unknown {
  let value = root;
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value)) value = typeof part === 'number' ? value[part] : undefined;
    else if (value instanceof Map) value = value.get(String(part));
    else value = Object.hasOwn(value, part) ? (value as Record<string | number, unknown>)[part] : undefined;
  }
  return value;
}
