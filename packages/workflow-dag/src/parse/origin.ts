import type { WorkflowDefinition } from '../definition.js';
import { WorkflowError } from '../errors.js';
import type { Cursor, RankedIssue } from './cursor.js';

/** Where a definition was read, kept beside it. */
export interface Origin {
  /** At the workflow itself: the `spec` of a Kubernetes object. */
  readonly root: Cursor;
  /** What reading found, and only that. */
  readonly issues: readonly RankedIssue[];
}

const origins = new WeakMap<WorkflowDefinition, Origin>();

/** Remembers where a definition was read. */
export function rememberOrigin(definition: WorkflowDefinition, origin: Origin): void {
  origins.set(definition, origin);
}

/** Where a definition was read; `undefined` for a copy, or one made in code. */
export function originOf(definition: WorkflowDefinition): Origin | undefined {
  return origins.get(definition);
}

/** Faults that do not change what a run does. */
const HARMLESS = new Set(['workflow/description', 'workflow/name', 'workflow/metadata', 'workflow/api-version']);

/**
 * Refuses a definition that could only be read in part: what was left out might matter to its author. The other rules are
 * those of `validateDefinition`.
 *
 * @throws WorkflowError `ERR_WORKFLOW_DAG_INVALID`
 */
export function refuseHalfRead(definition: WorkflowDefinition): void {
  const errors = (originOf(definition)?.issues ?? [])
    .map(({ issue }) => issue)
    .filter(({ severity, code }) => severity === 'error' && !HARMLESS.has(code));
  if (errors.length === 0) return;
  throw new WorkflowError(
    'ERR_WORKFLOW_DAG_INVALID',
    `workflow ${JSON.stringify(definition.name)} is invalid: ${errors.map(({ message }) => message).join('; ')}`,
    { details: { issues: errors } },
  );
}
