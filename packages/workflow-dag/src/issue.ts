import type { JsonValue } from './json.js';

/** Ids of the rules that a definition is checked against. */
export type RuleId =
  | 'workflow/syntax'
  | 'workflow/duplicate-key'
  | 'workflow/alias'
  | 'workflow/unknown-key'
  | 'workflow/type'
  | 'workflow/required'
  | 'workflow/value'
  | 'workflow/api-version'
  | 'workflow/metadata'
  | 'workflow/name'
  | 'workflow/description'
  | 'workflow/duration'
  | 'workflow/failure-mode'
  | 'workflow/parameters'
  | 'workflow/annotations'
  | 'workflow/steps'
  | 'workflow/step-id'
  | 'workflow/duplicate-step'
  | 'workflow/step-type'
  | 'workflow/tool'
  | 'workflow/template'
  | 'workflow/schema'
  | 'workflow/default-response'
  | 'workflow/for-each'
  | 'workflow/unknown-dependency'
  | 'workflow/cycle'
  | 'workflow/on-error'
  | 'workflow/retry'
  | 'workflow/elicitation-action'
  | 'workflow/missing-default'
  | 'workflow/cache'
  | 'workflow/transform'
  | 'workflow/output'
  | 'workflow/duplicate-name'
  | 'workflow/reference'
  // Warnings only.
  | 'workflow/deprecated'
  | 'workflow/duplicate-dependency'
  | 'workflow/unused-default'
  | 'workflow/missing-dependency'
  | 'workflow/unknown-step'
  | 'workflow/unknown-variable'
  | 'workflow/number-literal'
  | 'workflow/condition'
  | 'workflow/unreachable-fallback'
  | 'workflow/step-id-characters'
  | 'workflow/unused-key';

/** One finding about a definition. */
export interface Issue {
  readonly severity: 'error' | 'warning';
  readonly code: RuleId;
  /** Where in the object: `spec.steps[1].dependsOn`. */
  readonly path: string;
  /** What is wrong, with path and value. */
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string;
  readonly stepId?: string;
  /** The value itself, where it is text, a number, true, false or null. */
  readonly value?: JsonValue;
  /** From 1; absent where the definition did not come from text. */
  readonly line?: number;
  /** From 1, in UTF-16 code units. */
  readonly column?: number;
}

/**
 * One line for each finding, as they stand in the status of a Kubernetes object:
 * `spec.steps[1].dependsOn references unknown step "nonexistent"`.
 */
export function formatIssues(issues: readonly Issue[]): string[] {
  return issues.map(({ message }) => message);
}
