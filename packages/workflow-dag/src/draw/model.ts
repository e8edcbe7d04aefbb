import type { StepType, WorkflowDefinition } from '../definition.js';
import { buildPlan, type PlanStats } from '../plan.js';

/** A step as it is drawn. */
export interface DrawnStep {
  readonly id: string;
  readonly type: StepType;
  /** The tool it calls, or what it asks. */
  readonly label: string;
  readonly level: number;
  readonly dependsOn: readonly string[];
  /** It may be skipped. */
  readonly conditional: boolean;
  /** Its failure does not end the run. */
  readonly optional: boolean;
}

/** A workflow as it is drawn. */
export interface Drawing {
  readonly name: string;
  readonly description: string;
  readonly levels: readonly (readonly DrawnStep[])[];
  readonly stats: PlanStats;
}

/** Collects what all drawings show. */
export function readDrawing(definition: WorkflowDefinition): Drawing {
  const { levels, stats } = buildPlan(definition);
  const steps = new Map(definition.steps.map((step) => [step.id, step]));
  return {
    name: definition.name,
    description: definition.description,
    stats,
    levels: levels.map((ids, level) =>
      ids.flatMap((id): DrawnStep[] => {
        const step = steps.get(id);
        if (step === undefined) return [];
        const continues = step.type !== 'elicitation' && step.onError.action === 'continue';
        return [
          {
            id,
            type: step.type,
            label:
              step.type === 'elicitation' ? firstLine(step.message) : step.type === 'tool' ? step.tool : step.step.tool,
            level,
            dependsOn: step.dependsOn,
            conditional: step.condition !== undefined,
            optional: continues || definition.failureMode === 'continue',
          },
        ];
      }),
    ),
  };
}

/** Text of strangers on one line: no control characters, at most `length` characters. */
export function firstLine(text: string, length = 40): string {
  const line = printable(text.trim().split('\n')[0] ?? '');
  const characters = [...line];
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : line;
}

/** Text without control characters, so that it can neither steer a terminal nor break a drawing. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, '\u{FFFD}');
}
