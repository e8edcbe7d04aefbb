import { describe, expect, it } from 'vitest';
import {
  createEngine,
  type ElicitAnswer,
  type Elicitor,
  type ElicitRequest,
  type Engine,
  type WorkflowResult,
} from '../src/index.js';
import { FixedClock, settle } from './support/clock.js';
import { define } from './support/define.js';
import { fakeTools } from './support/tools.js';

const schema = '{type: object, properties: {sure: {type: boolean}}, required: [sure]}';
const ask = (rest = '', own = schema): string => `
- id: confirm
  type: elicitation
  message: "Deploy {{.params.app}}?"
  schema: ${own}
${rest}
- {id: deploy, tool: t.deploy, dependsOn: [confirm], arguments: {answer: "{{json .steps.confirm.output}}"}}
`;

function answering(
  answer: ElicitAnswer | (() => Promise<ElicitAnswer>),
): Elicitor & { readonly requests: ElicitRequest[] } {
  const requests: ElicitRequest[] = [];
  return {
    requests,
    elicit(request) {
      requests.push(request);
      return typeof answer === 'function' ? answer() : Promise.resolve(answer);
    },
  };
}

async function run(
  steps: string,
  elicitor: Elicitor | undefined,
): Promise<{ result: WorkflowResult; answers: unknown[] }> {
  const tools = fakeTools({ 't.deploy': () => 'deployed' });
  const engine = createEngine({ tools, clock: new FixedClock(), ...(elicitor === undefined ? {} : { elicitor }) });
  const result = await (await engine.run(define(steps), { app: 'shop' })).result;
  return {
    result,
    answers: tools
      .of('t.deploy')
      .flatMap(({ answer }) => (answer === undefined ? [] : [JSON.parse(answer as string) as unknown])),
  };
}

describe('a question', () => {
  it('is asked with its message expanded, and its answer is the output', async () => {
    const elicitor = answering({ action: 'accept', content: { sure: true } });
    const { result, answers } = await run(ask(), elicitor);
    expect(result.status).toBe('completed');
    expect(answers).toEqual([{ action: 'accept', content: { sure: true } }]);
    expect(elicitor.requests[0]).toMatchObject({ message: 'Deploy shop?', stepId: 'confirm', timeoutMs: 300_000 });
  });

  it('of a primitive is put as an object', async () => {
    const elicitor = answering({ action: 'accept', content: { value: true } });
    const { answers } = await run(ask('', '{type: boolean}'), elicitor);
    expect(elicitor.requests[0]?.schema).toMatchObject({ type: 'object', properties: { value: { type: 'boolean' } } });
    expect(answers).toEqual([{ action: 'accept', content: { value: true } }]);
  });

  it('fails the step when it is declined, cancelled, impossible or answered with something else', async () => {
    const cases: [ElicitAnswer | (() => Promise<ElicitAnswer>), string][] = [
      [{ action: 'decline' }, 'elicitation request was declined by user: step confirm'],
      [{ action: 'cancel' }, 'elicitation request was cancelled by user: step confirm'],
      [{ action: 'unsupported' }, 'the user cannot be asked: step confirm (give the step a defaultResponse)'],
      [() => Promise.reject(new Error('gone')), 'elicitation failed: gone'],
    ];
    for (const [answer, message] of cases) {
      const { result } = await run(ask(), answering(answer));
      expect(result.error).toEqual({ code: 'ERR_WORKFLOW_DAG_ELICITATION', message });
    }
    const misfit = await run(ask(), answering({ action: 'accept', content: { sure: 'yes' } }));
    expect(misfit.result.error?.message).toMatch(/^elicitation response does not match schema: \/sure /);
    const nobody = await run(ask(), undefined);
    expect(nobody.result.error?.message).toBe('elicitation requester not configured: step confirm');
  });

  it('goes on after a refusal where the step says so', async () => {
    const declined = await run(ask('  onDecline: {action: continue}'), answering({ action: 'decline' }));
    expect(declined.answers).toEqual([{ action: 'decline' }]);
    const cancelled = await run(ask('  onCancel: {action: continue}'), answering({ action: 'cancel' }));
    expect(cancelled.answers).toEqual([{ action: 'cancel' }]);
    const aborted = await run(ask('  onCancel: {action: abort}'), answering({ action: 'cancel' }));
    expect(aborted.result.status).toBe('failed');
  });

  it('skips what has not begun with skip_remaining, and the run is complete', async () => {
    const steps = `${ask('  onDecline: {action: skip_remaining}')}- {id: beside, tool: t.deploy}\n- {id: last, tool: t.deploy, dependsOn: [deploy], defaultResults: {text: none}}\n`;
    const { result } = await run(steps, answering({ action: 'decline' }));
    expect(result.status).toBe('completed');
    expect(result.metadata).toEqual({ skippedBy: 'confirm' });
    expect(result.steps['confirm']?.output).toEqual({ action: 'decline', skipped: true });
    expect(result.steps['beside']?.status).toBe('completed');
    expect(result.steps['deploy']?.status).toBe('skipped');
    expect(result.steps['last']).toMatchObject({ status: 'skipped', output: { text: 'none' } });
  });

  it('takes the default response where nobody can be asked, and never for a refusal', async () => {
    const withDefault = ask('  defaultResponse: {sure: false}');
    const expected = [{ action: 'accept', content: { sure: false }, defaulted: true }];
    expect((await run(withDefault, undefined)).answers).toEqual(expected);
    expect((await run(withDefault, answering({ action: 'unsupported' }))).answers).toEqual(expected);
    expect((await run(withDefault, answering({ action: 'decline' }))).result.status).toBe('failed');
    expect((await run(ask('  defaultResponse: false', '{type: boolean}'), undefined)).answers).toEqual([
      { action: 'accept', content: { value: false }, defaulted: true },
    ]);
  });

  it('is bounded in size and depth', async () => {
    const long = await run(
      ask('', '{type: object, properties: {t: {type: string}}}'),
      answering({ action: 'accept', content: { t: 'x'.repeat(1_100_000) } }),
    );
    expect(long.result.error?.message).toMatch(/^response too large: \d+ bytes \(max 1048576\)$/);
    let deep: Record<string, never> | { a: unknown } = {};
    for (let depth = 0; depth < 12; depth += 1) deep = { a: deep };
    const nested = await run(ask('', '{type: object}'), answering({ action: 'accept', content: deep as never }));
    expect(nested.result.error?.message).toMatch(/^response nesting too deep: 12 levels \(max 10\)$/);
  });
});

describe('a question without an answer', () => {
  const engineWith = (clock: FixedClock): { engine: Engine; deployed: () => unknown[] } => {
    const tools = fakeTools({ 't.deploy': () => 'deployed' });
    const engine = createEngine({ tools, clock, elicitor: answering({ action: 'pending' }) });
    return {
      engine,
      deployed: () => tools.of('t.deploy').map(({ answer }) => JSON.parse(answer as string) as unknown),
    };
  };

  it('shows as waiting and can be answered from outside, once', async () => {
    const { engine, deployed } = engineWith(new FixedClock());
    const run = await engine.run(define(ask()), { app: 'shop' });
    await settle();
    const status = await engine.status(run.id);
    expect(status.status).toBe('waiting_for_elicitation');
    expect(status.currentSteps).toEqual(['confirm']);
    expect(status.pendingElicitations).toMatchObject([{ stepId: 'confirm', message: 'Deploy shop?' }]);
    await expect(engine.answer(run.id, 'confirm', { action: 'accept', content: { sure: 1 } })).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_ELICITATION',
    });
    await expect(engine.answer(run.id, 'other', { action: 'decline' })).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_RUN_NOT_FOUND',
    });
    await engine.answer(run.id, 'confirm', { action: 'accept', content: { sure: true } });
    expect((await run.result).status).toBe('completed');
    expect(deployed()).toEqual([{ action: 'accept', content: { sure: true } }]);
    await expect(engine.answer(run.id, 'confirm', { action: 'decline' })).rejects.toMatchObject({
      code: 'ERR_WORKFLOW_DAG_CONFLICT',
    });
    expect((await engine.status(run.id)).pendingElicitations).toEqual([]);
  });

  it('times out after at most ten minutes', async () => {
    const clock = new FixedClock();
    const { engine } = engineWith(clock);
    const run = await engine.run(define(ask('  timeout: 25m')), { app: 'shop' });
    await clock.advance(10 * 60_000);
    expect((await run.result).error?.message).toBe('elicitation request timed out: step confirm');
    expect(clock.pending).toBe(0);
  });

  it('takes the default response, or what onCancel says, when its time is over', async () => {
    for (const [rest, output] of [
      [
        '  timeout: 1m\n  defaultResponse: {sure: true}\n  onCancel: {action: continue}',
        { action: 'accept', content: { sure: true }, defaulted: true },
      ],
      ['  timeout: 1m\n  onCancel: {action: continue}', { action: 'timeout' }],
    ] as const) {
      const clock = new FixedClock();
      const { engine, deployed } = engineWith(clock);
      const run = await engine.run(define(ask(rest)), { app: 'shop' });
      await clock.advance(60_000);
      expect((await run.result).status).toBe('completed');
      expect(deployed()).toEqual([output]);
    }
  });

  it('may be one of several in a run', async () => {
    const { engine } = engineWith(new FixedClock());
    const steps = `
- {id: one, type: elicitation, message: One?, schema: {type: boolean}}
- {id: two, type: elicitation, message: Two?, schema: {type: boolean}, dependsOn: [one]}
- {id: also, type: elicitation, message: Also?, schema: {type: boolean}, dependsOn: [one]}
`;
    const run = await engine.run(define(steps));
    await settle();
    await engine.answer(run.id, 'one', { action: 'accept', content: { value: true } });
    await settle();
    expect((await engine.status(run.id)).pendingElicitations.map(({ stepId }) => stepId)).toEqual(['two', 'also']);
    await engine.answer(run.id, 'also', { action: 'accept', content: { value: true } });
    await settle();
    expect((await engine.status(run.id)).status).toBe('waiting_for_elicitation');
    await engine.answer(run.id, 'two', { action: 'accept', content: { value: false } });
    expect((await run.result).status).toBe('completed');
  });

  it('is withdrawn when the run is cancelled', async () => {
    const clock = new FixedClock();
    const { engine } = engineWith(clock);
    const run = await engine.run(define(ask()), { app: 'shop' });
    await settle();
    expect((await run.cancel()).status).toBe('cancelled');
    expect(clock.pending).toBe(0);
  });
});
