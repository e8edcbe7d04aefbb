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
