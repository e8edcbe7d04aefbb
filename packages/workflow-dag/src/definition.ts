import type { JsonObject, JsonValue } from './json.js';

/** What a failed step does to the run: ends it, or lets the rest go on. */
export type FailureMode = 'abort' | 'continue';

/** Which of the two forms a definition was written in. */
export type DefinitionForm = 'kubernetes' | 'plain';

/** The metadata of a Kubernetes object; keys that are not listed are kept as they are. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly generation?: number;
  readonly labels?: JsonObject;
  readonly annotations?: JsonObject;
  readonly [key: string]: JsonValue | undefined;
}

/**
 * A parsed workflow. It is plain JSON (durations in milliseconds, defaults filled in, nothing but data), so that a
 * store can keep it and a resumed run can use it. Where it was written is kept beside it and is lost on a copy.
 */
export interface WorkflowDefinition {
  readonly form: DefinitionForm;
  /** `v1beta1` or `v1alpha1` of the Kubernetes form, with its group. */
  readonly apiVersion?: string;
  /** Only of the Kubernetes form. */
  readonly metadata?: ObjectMeta;
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the parameters; absent where none is written. */
  readonly parameters?: JsonObject;
  /** Milliseconds for the whole run. @defaultValue 1_800_000 */
  readonly timeoutMs: number;
  /** @defaultValue 'abort' */
  readonly failureMode: FailureMode;
  readonly steps: readonly Step[];
  /** Absent: the output is that of the step that completed last. */
  readonly output?: OutputConfig;
  readonly annotations?: AnnotationOverrides;
}

/** A node of the graph. */
export type Step = ToolStep | ElicitationStep | ForEachStep;

/** What a step does. */
export type StepType = Step['type'];

/** What to do with a step that was running when its process died. */
export type ResumeRule = 'auto' | 'retry' | 'fail' | 'skip';

/** What all steps have. */
export interface StepBase {
  readonly id: string;
  /** Template that must render to a spelling of true or false; absent: the step runs. */
  readonly condition?: string;
  /** Ids without repetition, in the order written. */
  readonly dependsOn: readonly string[];
  /** Milliseconds for all attempts of the step. @defaultValue 300_000 */
  readonly timeoutMs: number;
  /** Output of the step where it is skipped, or fails and the run goes on. */
  readonly defaultResults?: JsonObject;
  /** @defaultValue 'auto' */
  readonly resume: ResumeRule;
}

/** Calls a tool. */
export interface ToolStep extends StepBase, ToolCallConfig {
  readonly type: 'tool';
}

/** What a tool step and the inner step of a `forEach` step have in common. */
export interface ToolCallConfig {
  /** Reference of the tool, see `parseToolReference`. */
  readonly tool: string;
  /** Text at any depth is a template. */
  readonly arguments: JsonObject;
  readonly onError: OnError;
  /** The author's word that calling twice does no harm. @defaultValue false */
  readonly idempotent: boolean;
  readonly cache?: CacheConfig;
  readonly transform?: TransformConfig;
}

/** Asks the user. */
export interface ElicitationStep extends StepBase {
  readonly type: 'elicitation';
  /** Template. */
  readonly message: string;
  /** JSON Schema of an object; that of a primitive is wrapped as its property `value`. */
  readonly schema: JsonObject;
  /** The schema was written as that of a primitive. */
  readonly wrapped: boolean;
  /** Absent: a refusal fails the step. */
  readonly onDecline?: ElicitationHandler;
  /** Absent: a cancelled or overdue question fails the step. */
  readonly onCancel?: ElicitationHandler;
  /** Content to take when nobody can be asked or nobody answers in time; that of a primitive is wrapped too. */
  readonly defaultResponse?: JsonObject;
}

/** What an unanswered question does. */
export interface ElicitationHandler {
  /** @defaultValue 'abort' */
  readonly action: 'abort' | 'continue' | 'skip_remaining';
}

/** Calls a tool once for each item of a collection. */
export interface ForEachStep extends StepBase {
  readonly type: 'forEach';
  /** Template that renders a JSON array. */
  readonly collection: string;
  /** Name of the item below `.forEach`. @defaultValue 'item' */
  readonly itemVar: string;
  /** Absent: the limit of the engine. */
  readonly maxParallel?: number;
  /** @defaultValue 100 */
  readonly maxIterations: number;
  readonly step: InnerStep;
  readonly onError: OnError;
}

/** The tool call of a `forEach` step. */
export interface InnerStep extends ToolCallConfig {
  /** `<outer>[]` where none is written. */
  readonly id: string;
}

/** What follows a failed call. */
export interface OnError {
  /** @defaultValue 'abort' */
  readonly action: 'abort' | 'continue' | 'retry';
  /** Attempts after the first, as written; the engine takes at most 10. @defaultValue 0 */
  readonly retryCount: number;
  /** Milliseconds before the first retry. @defaultValue 1000 */
  readonly retryDelayMs: number;
  /** What follows the last failed attempt. @defaultValue 'abort' */
  readonly onExhausted: FailureMode;
}

/** Who shares a cached result. */
export type CacheScope = 'user' | 'tool' | 'workflow' | 'global';

/** Keeps the results of a tool call. */
export interface CacheConfig {
  /** Template; absent: the arguments are the key. */
  readonly key?: string;
  /** Milliseconds, at most seven days. */
  readonly ttlMs: number;
  /** @defaultValue 'user' */
  readonly scope: CacheScope;
  /** @defaultValue 'readwrite' */
  readonly mode: 'readwrite' | 'read' | 'write' | 'bypass';
  /** Milliseconds after the end of its time in which an entry may stand in for a failed call. */
  readonly staleIfErrorMs?: number;
}

/** Reshapes the output of a step before anybody sees it. */
export interface TransformConfig {
  readonly fields: readonly OutputProperty[];
  /** Keys of the original output to keep beside the fields. */
  readonly keep?: readonly string[];
  /** Keys of the original output to leave out; all others are kept. */
  readonly drop?: readonly string[];
  /** Which functions its templates may call. @defaultValue 'go' */
  readonly functions: 'go' | 'extended';
}

/** Types of an output property. */
export type OutputType = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array';

/** How the output of a workflow is made. */
export interface OutputConfig {
  readonly properties: readonly OutputProperty[];
  readonly required: readonly string[];
}

/** One property of an output: exactly one of `value`, `from` and `properties` is present. */
export interface OutputProperty {
  readonly name: string;
  /** Absent only beside `from`. */
  readonly type?: OutputType;
  readonly description?: string;
  /** Template whose text is converted to `type`. */
  readonly value?: string;
  /** Path such as `.steps.a.output.items[0]["odd key"]`; the value keeps its type. */
  readonly from?: string;
  /** Only of type `object`. */
  readonly properties?: readonly OutputProperty[];
  /** Taken when `value` or `from` gives nothing; `null` counts as absent. */
  readonly default?: JsonValue;
}

/** Hints that the author states about the workflow as a tool; absent ones are derived from its steps. */
export interface AnnotationOverrides {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** Limits that a definition must keep to. */
export const LIMITS = {
  steps: 100,
  retries: 10,
  parallel: 50,
  iterations: 1000,
  outputDepth: 10,
  /** Of text templates inside arguments. */
  argumentDepth: 100,
  nameLength: 64,
  stepIdLength: 128,
  cacheTtlMs: 7 * 24 * 3_600_000,
} as const;

/** Values of what a definition leaves out. */
export const DEFAULTS = {
  workflowTimeoutMs: 30 * 60_000,
  stepTimeoutMs: 5 * 60_000,
  elicitationTimeoutMs: 5 * 60_000,
  maxElicitationTimeoutMs: 10 * 60_000,
  retryDelayMs: 1000,
  maxIterations: 100,
  itemVar: 'item',
  cacheTtlMs: 10 * 60_000,
} as const;
