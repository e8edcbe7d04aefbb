import { WorkflowError } from './errors.js';
import type { ToolContent, ToolResult } from './ports.js';

/** What later steps see of a step. */
export interface StepOutput {
  readonly output: Readonly<Record<string, unknown>>;
  readonly content: Readonly<Record<string, unknown>>;
}

/** The output of a tool that answered nothing. */
const EMPTY: Readonly<Record<string, unknown>> = Object.freeze(Object.create(null) as Record<string, unknown>);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Makes a step's output from a tool's result: structured content where it is an object, otherwise the content items by
 * kind (`text`, `text_1`, `image_0`, `resource`, …). The items are available as `content` in either case.
 */
export function toStepOutput(result: ToolResult, valueKey?: string): StepOutput {
  const content = contentMap(result.content);
  const { structuredContent } = result;
  if (isObject(structuredContent)) return { output: structuredContent, content };
  if (valueKey === undefined || structuredContent === undefined || structuredContent === null)
    return { output: content, content };
  return { output: { ...content, [valueKey]: structuredContent }, content };
}

function contentMap(items: readonly ToolContent[] | undefined): Readonly<Record<string, unknown>> {
  if (!Array.isArray(items) || items.length === 0) return EMPTY;
  const map = Object.create(null) as Record<string, unknown>;
  let texts = 0;
  let images = 0;
  let resources = 0;
  for (const item of items as readonly ToolContent[]) {
    if (!isObject(item)) continue;
    if (item['type'] === 'text' && typeof item['text'] === 'string') {
      map[texts === 0 ? 'text' : `text_${texts}`] = item['text'];
      texts += 1;
    } else if (item['type'] === 'image' && typeof item['data'] === 'string') {
      map[`image_${images}`] = item['data'];
      images += 1;
    } else if (item['type'] === 'resource' && isObject(item['resource'])) {
      const { text, blob } = item['resource'];
      map[resources === 0 ? 'resource' : `resource_${resources}`] =
        typeof text === 'string' && text !== '' ? text : (blob ?? text ?? '');
      resources += 1;
    }
  }
  return map;
}

/** The text of a result that has `isError`: its first text, a member of its structured content, or a general one. */
export function errorText(result: ToolResult): string {
  for (const item of result.content ?? []) {
    if (isObject(item) && item['type'] === 'text' && typeof item['text'] === 'string' && item['text'] !== '')
      return item['text'];
  }
  if (isObject(result.structuredContent)) {
    for (const name of ['error', 'message', 'text']) {
      const text = Object.hasOwn(result.structuredContent, name) ? result.structuredContent[name] : undefined;
      if (typeof text === 'string' && text !== '') return text;
    }
  }
  return 'tool execution error';
}

/** Deeper values would overflow the stack of whoever walks them. */
const MAX_DEPTH = 500;

/**
 * Bounds a value from outside, in size of its JSON (about) and in depth, without writing it out.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_LIMIT`
 */
export function checkSize(value: unknown, maxBytes: number, what: string): number {
  let bytes = 0;
  const walk = (item: unknown, depth: number): void => {
    if (typeof item === 'string') bytes += item.length + 2;
    else if (typeof item !== 'object' || item === null) bytes += 5;
    else if (depth > MAX_DEPTH) {
      throw new WorkflowError(
        'ERR_WORKFLOW_DAG_LIMIT',
        `${what} is nested deeper than ${MAX_DEPTH} levels. Return a flatter value.`,
      );
    } else if (Array.isArray(item)) {
      bytes += 2 + item.length;
      for (const entry of item) walk(entry, depth + 1);
    } else {
      bytes += 2;
      for (const key of Object.keys(item)) {
        bytes += key.length + 4;
        walk((item as Record<string, unknown>)[key], depth + 1);
      }
    }
    if (bytes > maxBytes) {
      throw new WorkflowError(
        'ERR_WORKFLOW_DAG_LIMIT',
        `${what} is larger than ${maxBytes} bytes. Return less, or raise \`limits.maxStepOutputBytes\`.`,
      );
    }
  };
  walk(value, 0);
  return bytes;
}
