import type { WorkflowDefinition } from './definition.js';
import { WorkflowError } from './errors.js';
import type { Issue } from './issue.js';
import { parseDefinition } from './parse.js';
import { inDocumentOrder, type RankedIssue } from './parse/cursor.js';
import { originOf, type Origin } from './parse/origin.js';
import { printDefinition } from './print.js';
import { checkConditions } from './validate/conditions.js';
import type { ValidateOptions, ValidationContext } from './validate/context.js';
import { checkGraph } from './validate/graph.js';
import { checkNames } from './validate/names.js';
import { checkDefaults, checkReads } from './validate/references.js';
import { checkSchemas } from './validate/schemas.js';
import { checkTemplates } from './validate/templates.js';

export type { ValidateOptions } from './validate/context.js';

/** All that there is to say about a definition. */
export interface Validation {
  /** There is no error; there may be warnings. */
  readonly ok: boolean;
  readonly errors: readonly Issue[];
  readonly warnings: readonly Issue[];
}

/**
 * Checks a definition against every rule and lists all problems, in the order of the document.
 *
 * @param definition - What {@link parseDefinition} answered; a copy is checked as well, but its findings have no line.
 * @throws WorkflowError `ERR_WORKFLOW_DAG_ARGUMENT` for something else.
 */
export function validateDefinition(definition: WorkflowDefinition, options: ValidateOptions = {}): Validation {
  const { parsed, origin } = withOrigin(definition);
  const issues: RankedIssue[] = [...origin.issues];
  const root = origin.root.reopen(issues);
  const cursors = root.get('steps').items();
  const steps = parsed.steps.flatMap((step, index) => {
    const cursor = cursors[index];
    return cursor === undefined ? [] : [{ index, step, cursor }];
  });
  const context: ValidationContext = { definition: parsed, root, steps, options };
  checkNames(context);
  checkSchemas(context);
  const edges = checkGraph(context);
  const uses = checkTemplates(context);
  checkReads(context, edges, uses);
  checkDefaults(context, edges, uses);
  checkConditions(context, edges, uses);
  return sortIssues(inDocumentOrder(issues));
}

/** Parts findings into errors and warnings. */
export function sortIssues(issues: readonly Issue[]): Validation {
  const errors = issues.filter(({ severity }) => severity === 'error');
  const warnings = issues.filter(({ severity }) => severity === 'warning');
  return { ok: errors.length === 0, errors, warnings };
}

/**
 * Refuses a definition with errors.
 *
 * @throws WorkflowError `ERR_WORKFLOW_DAG_INVALID` that lists them all, with the findings in `details.issues`.
 */
export function assertValid(definition: WorkflowDefinition, options: ValidateOptions = {}): void {
  const { errors } = validateDefinition(definition, options);
  if (errors.length === 0) return;
  throw new WorkflowError(
    'ERR_WORKFLOW_DAG_INVALID',
    `workflow ${JSON.stringify(definition.name)} is invalid: ${errors.map(({ message }) => message).join('; ')}`,
    { details: { issues: errors } },
  );
}

function withOrigin(definition: WorkflowDefinition): { readonly parsed: WorkflowDefinition; readonly origin: Origin } {
  const known = originOf(definition);
  if (known !== undefined) return { parsed: definition, origin: known };
  if (
    typeof definition !== 'object' ||
    definition === null ||
    !Array.isArray(definition.steps) ||
    !('timeoutMs' in definition)
  ) {
    throw new WorkflowError(
      'ERR_WORKFLOW_DAG_ARGUMENT',
      'Expected `definition` to be what `parseDefinition` answers, got something else; parse it first',
    );
  }
  const parsed = parseDefinition(printDefinition(definition));
  const origin = originOf(parsed);
  if (origin === undefined)
    throw new WorkflowError('ERR_WORKFLOW_DAG_ARGUMENT', 'Expected `definition` to be a workflow');
  return { parsed, origin };
}
