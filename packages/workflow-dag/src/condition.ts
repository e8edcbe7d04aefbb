import { WorkflowError } from './errors.js';
import type { Templates } from './expand.js';

const TRUE = new Set(['true', 'True', 'TRUE']);
const FALSE = new Set(['false', 'False', 'FALSE']);

/**
 * Decides whether a step runs. The rendered text must be exactly a spelling of true or false, with no space around it.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_CONDITION`
 */
export function evaluateCondition(
  templates: Templates,
  step: { readonly id: string; readonly condition?: string },
  data: unknown,
  trim: boolean,
): boolean {
  if (step.condition === undefined || step.condition === '') return true;
  const failed = (reason: string, cause?: unknown): WorkflowError =>
    new WorkflowError(
      'ERR_WORKFLOW_DAG_CONDITION',
      `template expansion failed: failed to evaluate condition for step ${step.id}: ${reason}`,
      { cause },
    );
  let text: string;
  try {
    text = templates.render(step.condition, data);
  } catch (error) {
    throw failed(error instanceof Error ? error.message : String(error), error);
  }
  if (trim) text = text.trim();
  if (TRUE.has(text)) return true;
  if (FALSE.has(text)) return false;
  throw failed(`condition must evaluate to 'true' or 'false', got: ${JSON.stringify(text.slice(0, 100))}${hint(text)}`);
}

function hint(text: string): string {
  if (text === '<no value>')
    return ' (what it reads is absent: give the parameter a default, or the step defaultResults)';
  const bare = text.trim();
  return TRUE.has(bare) || FALSE.has(bare) ? ' (remove the space around it)' : '';
}
