import type { OutputProperty, WorkflowDefinition } from './definition.js';
import type { JsonObject, JsonValue } from './json.js';
import type { ToolHints } from './ports.js';

/** A workflow in the shape of a tool of the Model Context Protocol. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: ToolHints;
}

/** Hints of the workflow's tools, by reference; `undefined` where nothing is known of the tool. */
export type HintsOf = (reference: string) => ToolHints | undefined;

/** Hints that follow from the steps, and the tools because of which a hint is not the harmless one. */
export interface DerivedAnnotations {
  /** Absent where the workflow calls no tool. */
  readonly floor: ToolHints | undefined;
  /** References of tools that are not known to be read-only, harmless, closed. */
  readonly because: Readonly<Record<'readOnlyHint' | 'destructiveHint' | 'openWorldHint', readonly string[]>>;
}

/** An explicit hint that claims more than the steps allow. */
export interface AnnotationConflict {
  readonly hint: 'readOnlyHint' | 'destructiveHint' | 'openWorldHint';
  /** What the definition says. */
  readonly stated: boolean;
  /** The tools that contradict it. */
  readonly tools: readonly string[];
}

/** References of all tools that a workflow calls, in document order and without repetition. */
export function toolReferences(definition: Pick<WorkflowDefinition, 'steps'>): string[] {
  const references = definition.steps.flatMap((step) => {
    if (step.type === 'tool') return [step.tool];
    return step.type === 'forEach' ? [step.step.tool] : [];
  });
  return [...new Set(references)];
}

/**
 * Derives hints from the tools of the steps: read-only where all are, destructive and open where any is or may be.
 * Nothing makes a workflow idempotent.
 */
export function deriveAnnotations(definition: Pick<WorkflowDefinition, 'steps'>, hintsOf: HintsOf): DerivedAnnotations {
  const tools = toolReferences(definition).map((reference) => ({ reference, hints: hintsOf(reference) }));
  const unlike = (test: (hints: ToolHints) => boolean): string[] =>
    tools.filter(({ hints }) => hints === undefined || !test(hints)).map(({ reference }) => reference);
  const because = {
    readOnlyHint: unlike((hints) => hints.readOnlyHint === true),
    destructiveHint: unlike((hints) => hints.destructiveHint === false),
    openWorldHint: unlike((hints) => hints.openWorldHint === false),
  };
  if (tools.length === 0) return { floor: undefined, because };
  return {
    floor: {
      readOnlyHint: because.readOnlyHint.length === 0,
      destructiveHint: because.destructiveHint.length > 0,
      openWorldHint: because.openWorldHint.length > 0,
    },
    because,
  };
}

/** Explicit hints that are safer than the steps allow; a workflow with one must not be offered. */
export function annotationConflicts(definition: WorkflowDefinition, hintsOf: HintsOf): AnnotationConflict[] {
  const { floor, because } = deriveAnnotations(definition, hintsOf);
  const { annotations } = definition;
  if (floor === undefined || annotations === undefined) return [];
  const conflicts: AnnotationConflict[] = [];
  if (annotations.readOnlyHint === true && floor.readOnlyHint !== true) {
    conflicts.push({ hint: 'readOnlyHint', stated: true, tools: because.readOnlyHint });
  }
  if (annotations.destructiveHint === false && floor.destructiveHint === true) {
    conflicts.push({ hint: 'destructiveHint', stated: false, tools: because.destructiveHint });
  }
  if (annotations.openWorldHint === false && floor.openWorldHint === true) {
    conflicts.push({ hint: 'openWorldHint', stated: false, tools: because.openWorldHint });
  }
  return conflicts;
}

/**
 * Describes a workflow as a tool: its parameters are the input schema as they stand, its output properties the output
 * schema, its hints those of the definition over those of its steps.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/tools
 */
export function toMcpTool(definition: WorkflowDefinition, hintsOf: HintsOf = () => undefined): McpTool {
  const { name, description, parameters, output } = definition;
  const annotations = annotationsOf(definition, hintsOf);
  return {
    name,
    description,
    inputSchema: parameters ?? { type: 'object', properties: {} },
    ...(output === undefined
      ? {}
      : {
          outputSchema: {
            type: 'object',
            properties: schemaOf(output.properties),
            ...(output.required.length === 0 ? {} : { required: output.required }),
          },
        }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

function annotationsOf({ annotations, steps }: WorkflowDefinition, hintsOf: HintsOf): ToolHints | undefined {
  const { floor } = deriveAnnotations({ steps }, hintsOf);
  const { title, ...hints } = annotations ?? {};
  const merged: ToolHints = { ...floor, ...hints, ...(title === undefined || title === '' ? {} : { title }) };
  return Object.keys(merged).length === 0 ? undefined : merged;
}

function schemaOf(properties: readonly OutputProperty[]): JsonObject {
  return Object.fromEntries(
    properties.map(({ name, type, description, properties: nested }): [string, JsonValue] => [
      name,
      {
        ...(type === undefined ? {} : { type }),
        ...(description === undefined ? {} : { description }),
        ...(nested === undefined ? {} : { properties: schemaOf(nested) }),
      },
    ]),
  );
}
