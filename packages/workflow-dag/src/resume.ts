import type { ResumeRule, ToolCallConfig } from './definition.js';
import type { ToolInfo } from './ports.js';
import type { Restored } from './step-state.js';
import type { ElicitationRecord, RunRecord, StepRecord, Store } from './store/port.js';

/** What to do with a call that was under way when its process died. */
export type RepeatRule = 'retry' | 'fail' | 'skip';

/**
 * Decides about a call in doubt. `auto` repeats it only where the tool or the author says that twice does no harm.
 */
export function repeatRule(rule: ResumeRule, config: Pick<ToolCallConfig, 'idempotent'>, tool: ToolInfo): RepeatRule {
  if (rule !== 'auto') return rule;
  const { idempotentHint, readOnlyHint } = tool.annotations ?? {};
  return config.idempotent || idempotentHint === true || readOnlyHint === true ? 'retry' : 'fail';
}

/** A run as its last owner left it. */
export interface RestoredRun {
  readonly run: RunRecord;
  /** Steps that are over, by id. */
  readonly over: ReadonlyMap<string, StepRecord>;
  /** Steps that had begun, by id. */
  readonly begun: ReadonlyMap<string, Restored>;
}

/** Reads everything that a run has left. Nothing of it is evaluated again. */
export async function restoreRun(store: Store, run: RunRecord): Promise<RestoredRun> {
  const [steps, questions] = [await store.getSteps(run.id), await store.getElicitations(run.id)];
  const iterations = new Map<string, StepRecord[]>();
  const over = new Map<string, StepRecord>();
  const running: StepRecord[] = [];
  for (const step of steps) {
    if (step.iteration >= 0) {
      const list = iterations.get(step.stepId);
      if (list === undefined) iterations.set(step.stepId, [step]);
      else list.push(step);
    } else if (step.status === 'running') running.push(step);
    else over.set(step.stepId, step);
  }
  const question = new Map<string, ElicitationRecord>(questions.map((record) => [record.stepId, record]));
  const begun = new Map(
    running.map((record) => [
      record.stepId,
      { record, iterations: iterations.get(record.stepId) ?? [], elicitation: question.get(record.stepId) },
    ]),
  );
  return { run, over, begun };
}
