import {
  DEFAULTS,
  type CacheConfig,
  type ElicitationStep,
  type ForEachStep,
  type InnerStep,
  type OnError,
  type OutputProperty,
  type Step,
  type ToolCallConfig,
  type TransformConfig,
  type WorkflowDefinition,
} from './definition.js';
import { formatMilliseconds } from './duration.js';
import { own, type JsonObject, type JsonValue } from './json.js';

/**
 * Writes a definition in the form in which an author writes it; defaults are left out. What {@link parseDefinition} reads
 * from it equals the definition.
 *
 * @returns A Kubernetes object or a plain workflow, after `definition.form`.
 */
export function printDefinition(definition: WorkflowDefinition): JsonObject {
  const { form, apiVersion, metadata } = definition;
  const workflow = printWorkflow(definition);
  if (form === 'plain') return workflow;
  return compact({
    apiVersion: apiVersion ?? 'toolhive.stacklok.dev/v1beta1',
    kind: 'VirtualMCPCompositeToolDefinition',
    metadata: metadata as JsonObject | undefined,
    spec: workflow,
  });
}

function printWorkflow(definition: WorkflowDefinition): JsonObject {
  const { output } = definition;
  return compact({
    name: definition.name,
    description: definition.description,
    parameters: definition.parameters,
    timeout: unless(definition.timeoutMs, DEFAULTS.workflowTimeoutMs),
    failureMode: definition.failureMode === 'abort' ? undefined : definition.failureMode,
    steps: definition.steps.map(printStep),
    output:
      output === undefined
        ? undefined
        : compact({
            properties: printProperties(output.properties),
            required: output.required.length === 0 ? undefined : output.required,
          }),
    annotations: definition.annotations as JsonObject | undefined,
  });
}

function printStep(step: Step): JsonObject {
  const usual = step.type === 'elicitation' ? DEFAULTS.elicitationTimeoutMs : DEFAULTS.stepTimeoutMs;
  const common = {
    id: step.id,
    type: step.type,
    condition: step.condition,
    dependsOn: step.dependsOn.length === 0 ? undefined : step.dependsOn,
    timeout: unless(step.timeoutMs, usual),
    defaultResults: step.defaultResults,
    resume: step.resume === 'auto' ? undefined : step.resume,
  };
  if (step.type === 'tool') return compact({ ...common, ...printCall(step) });
  return compact({ ...common, ...(step.type === 'forEach' ? printForEach(step) : printElicitation(step)) });
}

function printCall(call: ToolCallConfig): Record<string, JsonValue | undefined> {
  return {
    tool: call.tool,
    arguments: Object.keys(call.arguments).length === 0 ? undefined : call.arguments,
    onError: printOnError(call.onError),
    idempotent: call.idempotent ? true : undefined,
    cache: call.cache === undefined ? undefined : printCache(call.cache),
    transform: call.transform === undefined ? undefined : printTransform(call.transform),
  };
}

function printOnError(onError: OnError): JsonObject | undefined {
  const written = compact({
    action: onError.action === 'abort' ? undefined : onError.action,
    maxRetries: onError.retryCount === 0 ? undefined : onError.retryCount,
    retryDelay: unless(onError.retryDelayMs, DEFAULTS.retryDelayMs),
    onExhausted: onError.onExhausted === 'abort' ? undefined : onError.onExhausted,
  });
  return Object.keys(written).length === 0 ? undefined : written;
}

function printCache(cache: CacheConfig): JsonObject {
  return compact({
    key: cache.key,
    ttl: unless(cache.ttlMs, DEFAULTS.cacheTtlMs),
    scope: cache.scope === 'user' ? undefined : cache.scope,
    mode: cache.mode === 'readwrite' ? undefined : cache.mode,
    staleIfError: cache.staleIfErrorMs === undefined ? undefined : formatMilliseconds(cache.staleIfErrorMs),
  });
}

function printTransform(transform: TransformConfig): JsonObject {
  return compact({
    fields: transform.fields.length === 0 ? undefined : printProperties(transform.fields),
    keep: transform.keep,
    drop: transform.drop,
    functions: transform.functions === 'go' ? undefined : transform.functions,
  });
}

function printProperties(properties: readonly OutputProperty[]): JsonObject {
  return Object.fromEntries(
    properties.map(({ name, properties: nested, ...rest }) => [
      name,
      compact({ ...rest, properties: nested === undefined ? undefined : printProperties(nested) }),
    ]),
  );
}

function printForEach(step: ForEachStep): Record<string, JsonValue | undefined> {
  return {
    collection: step.collection,
    itemVar: step.itemVar === DEFAULTS.itemVar ? undefined : step.itemVar,
    maxParallel: step.maxParallel,
    maxIterations: step.maxIterations === DEFAULTS.maxIterations ? undefined : step.maxIterations,
    step: printInner(step.step, step.id),
    onError: printOnError(step.onError),
  };
}

function printInner(inner: InnerStep, outerId: string): JsonObject {
  return compact({ id: inner.id === `${outerId}[]` ? undefined : inner.id, type: 'tool', ...printCall(inner) });
}

function printElicitation(step: ElicitationStep): Record<string, JsonValue | undefined> {
  const { schema, wrapped, defaultResponse } = step;
  const properties = own(schema, 'properties') as JsonObject | undefined;
  const inner = wrapped && properties !== undefined ? own(properties, 'value') : undefined;
  return {
    message: step.message,
    schema: inner ?? schema,
    onDecline: step.onDecline as JsonObject | undefined,
    onCancel: step.onCancel as JsonObject | undefined,
    // Left as the object {value: …}, which is read as it is.
    defaultResponse,
  };
}

function unless(milliseconds: number, usual: number): string | undefined {
  return milliseconds === usual ? undefined : formatMilliseconds(milliseconds);
}

function compact(object: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(object).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}
