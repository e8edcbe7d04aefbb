/** The characters that a reference of a tool may have. */
export const TOOL_PATTERN = /^[a-zA-Z0-9][a-zA-Z0-9._-]*$/;

/** A reference of a tool, taken apart. */
export interface ToolReference {
  /** As written; the name under which the tool is offered, unless it has a workload. */
  readonly text: string;
  /** What stands before the first dot. */
  readonly workload?: string;
  /** What stands after the first dot, or the whole. */
  readonly tool: string;
}

/**
 * Takes a reference such as `kubectl.apply` or `kubectl_apply` apart at its first dot.
 *
 * @returns `undefined` where the text is no reference.
 */
export function parseToolReference(text: string): ToolReference | undefined {
  if (!TOOL_PATTERN.test(text)) return undefined;
  const dot = text.indexOf('.');
  if (dot < 0) return { text, tool: text };
  const workload = text.slice(0, dot);
  const tool = text.slice(dot + 1);
  return tool === '' ? undefined : { text, workload, tool };
}

/** One tool in a table of tools. */
export interface RoutedTool {
  /** The name under which the tool is offered. */
  readonly advertised: string;
  readonly workload: string;
  /** The backend's own name. */
  readonly original: string;
}

/**
 * Finds the tool that a reference means: first the offered name as a whole, then backend and the backend's own name.
 *
 * @param tools - Every tool that may be routed to, hidden ones included.
 */
export function resolveToolReference<T extends RoutedTool>(text: string, tools: readonly T[]): T | undefined {
  const reference = parseToolReference(text);
  if (reference === undefined) return undefined;
  const exact = tools.find(({ advertised }) => advertised === text);
  if (exact !== undefined || reference.workload === undefined) return exact;
  return tools.find(({ workload, original }) => workload === reference.workload && original === reference.tool);
}
