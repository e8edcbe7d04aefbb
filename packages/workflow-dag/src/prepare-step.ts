import { evaluateCondition } from './condition.js';
import { prepareElicitation } from './elicit.js';
import { WorkflowError } from './errors.js';
import { prepareForEach } from './for-each.js';
import { repeatRule } from './resume.js';
import { prepareTool } from './run-step.js';
import type { StepHost, StepStart } from './step-host.js';
import type { StepState } from './step-state.js';

/** Decides whether a step runs and makes it ready; undefined: it is skipped. What it throws is the step's failure. */
export function prepareStep(host: StepHost, state: StepState): StepStart | undefined {
  const { templates, trimConditions } = host.services;
  if (!evaluateCondition(templates, state.plan.step, host.data(), trimConditions)) return undefined;
  return prepareKind(host, state);
}

function prepareKind(host: StepHost, state: StepState): StepStart {
  const { step } = state.plan;
  if (step.type === 'tool') return prepareTool(host, state, step);
  return step.type === 'forEach' ? prepareForEach(host, state, step) : prepareElicitation(host, state, step);
}

/** A step that an earlier process began: its condition has been decided, its tool may have been called. */
export function prepareInDoubt(host: StepHost, state: StepState): StepStart | undefined {
  const { step } = state.plan;
  if (step.type === 'tool') {
    const rule = repeatRule(step.resume, step, host.tool(step.tool, step.id));
    if (rule === 'skip') return undefined;
    if (rule === 'fail') {
      throw new WorkflowError(
        'ERR_WORKFLOW_DAG_IN_DOUBT',
        `step ${step.id} was under way when its process died, and nothing says that ${step.tool} may be called twice; ` +
          'check what it did, or give the step `resume: retry`',
        { details: { stepId: step.id } },
      );
    }
  } else if (step.type === 'forEach' && step.resume === 'skip') return undefined;
  return prepareKind(host, state);
}
