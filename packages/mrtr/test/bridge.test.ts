import { describe, expect, it } from 'vitest';
import { createPark, fulfilRound } from '../src/bridge/index.js';
import type { AskOutcome, FulfilOptions, ParkedQuestion } from '../src/bridge/index.js';
import type { InputRequest, InputRequests, JsonObject } from '../src/index.js';

const form = { method: 'elicitation/create', params: { mode: 'form', message: '?', requestedSchema: {} } } as const;
const address = {
  method: 'elicitation/create',
  params: { mode: 'url', message: '?', url: 'https://example.com/' },
} as const;
const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } } as const;
const all = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const asks = (inputRequests: object, requestState?: string): JsonObject => ({
  resultType: 'input_required',
  inputRequests: inputRequests as JsonObject,
  ...(requestState === undefined ? {} : { requestState }),
});

function fulfil(result: JsonObject, changed: Partial<FulfilOptions> = {}) {
  const asked: InputRequest[] = [];
  const options: FulfilOptions = {
    client: { protocolVersion: '2025-11-25', capabilities: all },
    ask: async (request) => {
      asked.push(request);
      return { kind: 'result', result: { action: 'accept', content: {} } };
    },
    createId: () => 'id-1',
    ...changed,
  };
  return { asked, outcome: fulfilRound(result, options) };
}

describe('fulfilRound', () => {
  it('asks everything at once and answers what to send back', async () => {
    const { asked, outcome } = fulfil(asks({ a: form, b: { method: 'roots/list' } }, ''));
    expect(await outcome).toEqual({
      kind: 'retry',
      inputResponses: { a: { action: 'accept', content: {} }, b: { action: 'accept', content: {} } },
      requestState: '',
      elicitationIds: [],
    });
    expect(asked.map(({ method }) => method)).toEqual(['elicitation/create', 'roots/list']);
  });

  it('sends a state alone back', async () => {
    const { outcome } = fulfil({ resultType: 'input_required', requestState: 's' });
    expect(await outcome).toMatchObject({ kind: 'retry', inputResponses: undefined, requestState: 's' });
  });

  it('gives an address an id, and a form of an earlier revision no mode', async () => {
    const { asked, outcome } = fulfil(asks({ a: address }));
    expect(await outcome).toMatchObject({ elicitationIds: ['id-1'] });
    expect(asked[0]?.params).toMatchObject({ mode: 'url', elicitationId: 'id-1' });
    const earlier = fulfil(asks({ a: form }), {
      client: { protocolVersion: '2025-06-18', capabilities: { elicitation: {} } },
    });
    await earlier.outcome;
    expect(Object.keys(earlier.asked[0]?.params ?? {})).not.toContain('mode');
  });

  it.each([
    ['a form that was not declared', form, '2025-11-25', {}],
    ['a form before there were any', form, '2025-03-26', all],
    ['an address before there were any', address, '2025-06-18', all],
    [
      'sampling with tools before there were any',
      { ...sampling, params: { ...sampling.params, tools: [] } },
      '2025-06-18',
      all,
    ],
    ['sampling that was not declared', sampling, '2025-11-25', { elicitation: {} }],
    ['folders that were not declared', { method: 'roots/list' }, '2025-11-25', {}],
  ])('does not ask for %s', async (_, request, protocolVersion, capabilities) => {
    const { asked, outcome } = fulfil(asks({ a: request }), { client: { protocolVersion, capabilities } });
    expect(await outcome).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('does not support') as string,
    });
    expect(asked).toEqual([]);
  });

  it.each([
    ['an unknown kind', asks({ a: { method: 'tools/call' } })],
    ['no object as a question', asks({ a: 7 })],
    ['no object of questions', { resultType: 'input_required', inputRequests: 'x' }],
    ['a state that is no text', { resultType: 'input_required', requestState: 1 }],
    ['nothing', { resultType: 'input_required' }],
    ['too many questions', asks(Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, form])))],
  ])('refuses a server that asks with %s', async (_, result) => {
    expect(await fulfil(result as JsonObject).outcome).toMatchObject({ kind: 'failed' });
  });

  it('G38 takes an error to a form as cancelled, and any other as the end of the call', async () => {
    const error: AskOutcome = { kind: 'error', message: 'no' };
    const { outcome } = fulfil(asks({ a: form }), { ask: async () => error });
    expect(await outcome).toMatchObject({ kind: 'retry', inputResponses: { a: { action: 'cancel' } } });
    let aborted = false;
    const failing = fulfil(asks({ a: sampling, b: { method: 'roots/list' } }), {
      ask: (request, signal) =>
        request.method === 'roots/list'
          ? new Promise((resolve) => {
              signal.addEventListener('abort', () => {
                aborted = true;
                resolve(error);
              });
            })
          : Promise.resolve(error),
    });
    expect(await failing.outcome).toMatchObject({
      kind: 'failed',
      message: 'The client did not answer sampling/createMessage: no',
    });
    expect(aborted).toBe(true);
  });
});

function park() {
  const timers: (() => void)[] = [];
  const rounds: InputRequests[] = [];
  const made = createPark({
    setTimer: (_, callback) => {
      timers.push(callback);
      return () => void timers.splice(timers.indexOf(callback), 1);
    },
    onRound: (questions) => rounds.push(questions),
  });
  const question = (request: InputRequest) => {
    const said: unknown[] = [];
    const parked: ParkedQuestion = {
      request,
      respond: (result) => said.push(result),
      refuse: (message) => said.push(message),
    };
    made.add(parked);
    return { said, parked };
  };
  return { made, rounds, question, elapse: () => timers.splice(0).forEach((timer) => timer()) };
}

describe('questions of another program', () => {
  it.each(['elicitation/create', 'sampling/createMessage', 'roots/list'])('%s with null parameters', async (method) => {
    const { asked, outcome } = fulfil(asks({ a: { method, params: null } }));
    expect(await outcome).toMatchObject({ kind: 'failed' });
    expect(asked).toEqual([]);
  });
});

describe('a park', () => {
  it('asks what comes together in one round, and gives each answer back', () => {
    const { made, rounds, question, elapse } = park();
    const [one, two] = [question(form), question({ method: 'roots/list' })];
    expect(rounds).toEqual([]);
    elapse();
    expect(rounds).toEqual([{ e1: form, e2: { method: 'roots/list' } }]);
    expect(made.waiting).toBe(true);
    expect(made.answer({ e1: { action: 'decline' }, e2: { roots: [] }, stranger: {} })).toEqual([]);
    expect([one.said, two.said]).toEqual([[{ action: 'decline' }], [{ roots: [] }]]);
    expect({ waiting: made.waiting, round: made.round }).toEqual({ waiting: false, round: 1 });
  });

  it('asks again for what was left out, together with what came meanwhile', () => {
    const { made, rounds, question, elapse } = park();
    question(form);
    question({ method: 'roots/list' });
    elapse();
    question(sampling);
    elapse();
    expect(rounds).toHaveLength(1);
    made.answer({ e1: { action: 'cancel' } });
    expect(rounds[1]).toEqual({ e2: { method: 'roots/list' }, e3: sampling });
    expect(made.round).toBe(2);
  });

  it.each([
    [form, { action: 'maybe' }],
    [form, 'yes'],
    [{ method: 'roots/list' }, { roots: 'x' }],
    [sampling, { content: {} }],
  ] as const)('takes nothing when an answer has a wrong form: %j %j', (request, answer) => {
    const { made, question, elapse } = park();
    const one = question(request);
    const two = question(form);
    elapse();
    expect(made.answer({ e1: answer as never, e2: { action: 'accept' } })).toEqual(['e1']);
    expect([one.said, two.said, made.waiting]).toEqual([[], [], true]);
  });

  it('does not ask what the server took back', () => {
    const { made, rounds, question, elapse } = park();
    const one = question(form);
    made.withdraw(one.parked);
    elapse();
    expect(rounds).toEqual([]);
  });

  it('refuses what is open when it closes, and what comes later', () => {
    const { made, question, elapse } = park();
    const one = question(form);
    elapse();
    made.close('over');
    made.close('again');
    const two = question(form);
    expect([one.said, two.said]).toEqual([['over'], ['The request is over']]);
  });
});
