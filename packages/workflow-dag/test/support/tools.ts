import type { JsonObject, ToolCall, ToolCaller, ToolInfo, ToolResult } from '../../src/index.js';

/** What a fake tool does: answers, or throws. */
export type Behaviour = (args: JsonObject, call: ToolCall) => unknown;

/** A call as the tool saw it. */
export interface SeenCall {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly step: string;
  readonly attempt: number;
}

/** A caller whose tools are functions, and which remembers every call. */
export interface FakeTools extends ToolCaller {
  readonly calls: SeenCall[];
  /** Arguments of the calls of one tool. */
  of(tool: string): JsonObject[];
}

/**
 * Makes tools from functions: text becomes a text item, another value structured content, and what has `content` or
 * `structuredContent` is taken as it is.
 */
export function fakeTools(tools: Record<string, Behaviour>, infos: Record<string, Partial<ToolInfo>> = {}): FakeTools {
  const calls: SeenCall[] = [];
  return {
    calls,
    of: (tool) => calls.filter((call) => call.tool === tool).map((call) => call.arguments),
    resolve: (reference) => (Object.hasOwn(tools, reference) ? { name: reference, ...infos[reference] } : undefined),
    async call(call) {
      calls.push({ tool: call.reference, arguments: call.arguments, step: call.stepId, attempt: call.attempt });
      return toResult(await tools[call.reference]?.(call.arguments, call));
    },
  };
}

function toResult(value: unknown): ToolResult {
  if (typeof value === 'string') return { content: [{ type: 'text', text: value }] };
  if (typeof value === 'object' && value !== null && ('content' in value || 'structuredContent' in value))
    return value as ToolResult;
  return { structuredContent: value };
}

/** A promise that is settled from outside. */
export function deferred<T = unknown>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
} {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
