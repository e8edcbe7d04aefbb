import type { ElicitationAnswer } from './engine-types.js';
import { WorkflowError } from './errors.js';
import type { JsonObject } from './json.js';
import type { Clock } from './ports.js';
import { compileSchema } from './schemas.js';
import type { Store } from './store/port.js';
import { notFound } from './stored-run.js';

/**
 * Stores the answer to a question; the run that asked learns of it from the store.
 *
 * @throws `WorkflowError` `ERR_WORKFLOW_DAG_RUN_NOT_FOUND`, `ERR_WORKFLOW_DAG_CONFLICT`, `ERR_WORKFLOW_DAG_ELICITATION`
 */
export async function answerQuestion(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  runId: string,
  stepId: string,
  answer: ElicitationAnswer,
): Promise<void> {
  const question = (await store.getElicitations(runId)).find((record) => record.stepId === stepId);
  if (question === undefined) throw notFound(`${runId}, question ${stepId}`);
  const content = answer.action === 'accept' ? (answer.content ?? {}) : undefined;
  if (content !== undefined && question.state === 'pending')
    refuseMisfit(question.schema as JsonObject, content, stepId);
  const outcome = await store.answerElicitation(runId, stepId, { action: answer.action, content, at: clock.now() });
  if (outcome === 'answered') return;
  if (outcome === 'missing') throw notFound(`${runId}, question ${stepId}`);
  const text = outcome === 'already' ? 'has been answered already' : 'is over';
  throw new WorkflowError('ERR_WORKFLOW_DAG_CONFLICT', `The question of step ${stepId} in run ${runId} ${text}.`, {
    details: { reason: outcome },
  });
}

function refuseMisfit(schema: JsonObject, content: JsonObject, stepId: string): void {
  const compiled = compileSchema(schema);
  const problems = 'check' in compiled ? compiled.check(content) : compiled.problems;
  if (problems.length === 0) return;
  const texts = problems.map(({ pointer, message }) => `${pointer} ${message}`.trim());
  throw new WorkflowError(
    'ERR_WORKFLOW_DAG_ELICITATION',
    `elicitation response does not match schema: ${texts.join('; ')}`,
    {
      details: { stepId, problems },
    },
  );
}
