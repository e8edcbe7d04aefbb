export { WorkflowError, type WorkflowErrorCode, type WorkflowErrorOptions } from './errors.js';
export { DEFAULTS, LIMITS } from './definition.js';
export type {
  AnnotationOverrides,
  CacheConfig,
  CacheScope,
  DefinitionForm,
  ElicitationHandler,
  ElicitationStep,
  FailureMode,
  ForEachStep,
  InnerStep,
  ObjectMeta,
  OnError,
  OutputConfig,
  OutputProperty,
  OutputType,
  ResumeRule,
  Step,
  StepBase,
  StepType,
  ToolCallConfig,
  ToolStep,
  TransformConfig,
  WorkflowDefinition,
} from './definition.js';
export type { JsonObject, JsonValue } from './json.js';
export { formatDuration, formatMilliseconds, parseDuration } from './duration.js';
export { buildPlan, type Plan, type PlanStats } from './plan.js';
export { parseToolReference, resolveToolReference, type RoutedTool, type ToolReference } from './tool-ref.js';
export { prepareParameters, type ParameterOptions } from './parameters.js';
export { coerceArguments, type CoerceOptions } from './coerce.js';
export { parseDefinition, parseFile, selectDefinition, type ParseOptions, type WorkflowFile } from './parse.js';
export type { TextLimits } from './parse/yaml.js';
export type { ToolReferenceEntry, WorkflowServer } from './parse/server.js';
export { formatIssues, type Issue, type RuleId } from './issue.js';
export { createEngine } from './engine.js';
export type {
  ElicitationAnswer,
  Engine,
  ListOptions,
  PendingElicitation,
  ResumeOptions,
  RunStats,
  RunSummary,
  WorkflowStatus,
} from './engine-types.js';
export type { EngineLimits, EngineOptions, RunOptions } from './options.js';
export type { Run, StepResult, WorkflowResult } from './run-types.js';
export type {
  ElicitationAnsweredEvent,
  ElicitationRequestedEvent,
  EventsDroppedEvent,
  IterationEvent,
  RunEndedEvent,
  RunStartedEvent,
  StepEndedEvent,
  StepRetryingEvent,
  StepStartedEvent,
  WorkflowEvent,
} from './events.js';
export type {
  Clock,
  ElicitAnswer,
  Elicitor,
  ElicitRequest,
  Principal,
  Random,
  ToolCall,
  ToolCaller,
  ToolContent,
  ToolHints,
  ToolInfo,
  ToolResult,
} from './ports.js';
export type { RetryCap } from './retry.js';
export type { Scheduling } from './scheduler.js';
export { createMemoryStore, type MemoryStoreOptions } from './store/memory.js';
export type {
  AnswerOutcome,
  CacheEntry,
  CacheFilter,
  CancelOutcome,
  Change,
  ElicitationRecord,
  ElicitationState,
  Lease,
  NewRun,
  RunFilter,
  RunPage,
  RunRecord,
  RunStatus,
  StepRecord,
  StepStatus,
  Store,
  StoredError,
} from './store/port.js';
export { assertValid, validateDefinition, type ValidateOptions, type Validation } from './validate.js';
export {
  referencingServers,
  validateFile,
  workflowsOf,
  type FileValidation,
  type ValidateFileOptions,
} from './validate-file.js';
export { computeStatus, type DefinitionStatus, type StatusCondition, type StatusOptions } from './status.js';
export { printDefinition } from './print.js';
export { drawWorkflow, type DrawFormat } from './draw.js';
export { definitionSchema, schemaLine } from './schema/definition-schema.js';
export {
  annotationConflicts,
  deriveAnnotations,
  toMcpTool,
  toolReferences,
  type AnnotationConflict,
  type DerivedAnnotations,
  type HintsOf,
  type McpTool,
} from './mcp-tool.js';
export { compileSchema, type BrokenSchema, type Schema, type SchemaProblem } from './schemas.js';
