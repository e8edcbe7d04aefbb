import type { WorkflowDefinition } from '../definition.js';
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
