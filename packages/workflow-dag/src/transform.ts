import type { TemplateData } from './context.js';
import type { TransformConfig } from './definition.js';
import { WorkflowError } from './errors.js';
import { constructProperties } from './output.js';
import type { Services, StepOutcome } from './step-host.js';

/**
 * Makes the output that later steps see from the one that the tool gave.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_TRANSFORM`; the tool is not called again for it.
 */
export function applyTransform(
  services: Services,
  config: TransformConfig,
  outcome: StepOutcome,
  data: TemplateData,
  stepId: string,
): Record<string, unknown> {
  const original = outcome.output as Readonly<Record<string, unknown>>;
  const result = Object.create(null) as Record<string, unknown>;
  for (const key of keptKeys(config, original)) result[key] = original[key];
  try {
    const fields = constructProperties(config.fields, {
      templates: config.functions === 'extended' ? services.extendedTemplates : services.templates,
      data: { ...data, output: outcome.output, content: outcome.content },
      strictGo: services.strictGo,
      code: 'ERR_WORKFLOW_DAG_TRANSFORM',
    });
    return Object.assign(result, fields);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WorkflowError('ERR_WORKFLOW_DAG_TRANSFORM', `transform of step ${stepId} failed: ${reason}`, {
      cause: error,
      details: { stepId },
    });
  }
}

function keptKeys(config: TransformConfig, original: Readonly<Record<string, unknown>>): readonly string[] {
  if (config.drop !== undefined) {
    const dropped = new Set(config.drop);
    return Object.keys(original).filter((key) => !dropped.has(key));
  }
  return (config.keep ?? []).filter((key) => Object.hasOwn(original, key));
}
