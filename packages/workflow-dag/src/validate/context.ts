import type { Step, WorkflowDefinition } from '../definition.js';
import type { Cursor, Finding } from '../parse/cursor.js';
import type { RuleId } from '../issue.js';

/** How a definition is validated. */
export interface ValidateOptions {
  /**
   * Report a skippable step's missing default as an error also where the reading is found only by following variables,
   * parentheses, `index`, `with` or nested arguments.
   *
   * @defaultValue false
   */
  readonly strictReferences?: boolean;
  /**
   * Check the pattern of the workflow's name.
   *
   * @defaultValue true
   */
  readonly strictNames?: boolean;
  /**
   * Allow only tools of the form `workload.tool_name`.
   *
   * @defaultValue true for Kubernetes objects, otherwise false
   */
  readonly requireQualified?: boolean;
  /** @defaultValue 100 */
  readonly maxSteps?: number;
}

/** A step and where it stands. */
export interface PlacedStep {
  readonly index: number;
  readonly step: Step;
  readonly cursor: Cursor;
}

/** What every group of rules works on. */
export interface ValidationContext {
  readonly definition: WorkflowDefinition;
  /** At the workflow; findings go to the list of this validation. */
  readonly root: Cursor;
  readonly steps: readonly PlacedStep[];
  readonly options: ValidateOptions;
}

/** Reports a finding about a step. */
export function reportStep(at: Cursor, code: RuleId, message: string, { step }: PlacedStep, finding: Finding): void {
  at.report(code, message, { ...finding, stepId: step.id });
}
