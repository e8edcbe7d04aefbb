import type { ResumeRule, ToolCallConfig } from './definition.js';
import type { ToolInfo } from './ports.js';
import type { Restored, StepState } from './step-state.js';
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

/** Puts what was stored into the steps; answers those that are over, in document order. */
export function restoreStates(states: readonly StepState[], { over, begun }: RestoredRun): readonly StepState[] {
  return states.filter((state) => {
    state.restored = begun.get(state.id);
    const record = over.get(state.id);
    if (record === undefined) return false;
    state.status = record.status;
    state.attempt = record.attempt;
    state.retryCount = record.retryCount;
    state.startedAt = record.startedAt;
    state.endedAt = record.endedAt ?? record.startedAt;
    state.output = record.output;
    state.content = record.content;
    state.error = record.error;
    state.fromCache = record.fromCache;
    state.decided = record.decided;
    return true;
  });
}
