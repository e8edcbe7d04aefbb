import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ask, createMemoryReplayGuard, createStateCodec, rounds } from '../src/index.js';
import type { InputRequiredResult, JsonObject, RoundsContext, RoundsOptions, Served } from '../src/index.js';

const text = { type: 'object', properties: { value: { type: 'string', minLength: 2 } }, required: ['value'] } as const;
const ALL = { elicitation: { form: {} }, roots: {}, sampling: {} };
const context: RoundsContext = { capabilities: ALL };
const accept = (value: string) => ({ action: 'accept', content: { value } });
const params = { name: 'make', arguments: { n: 1 } };

const serverOf = (handler: RoundsOptions['handler'], options: Partial<RoundsOptions> = {}) =>
  rounds({
    codec: createStateCodec({ keys: [{ id: 'k', key: randomBytes(32) }] }),
    audience: 'make',
    handler,
    ...options,
  });
const resultOf = (served: Served): JsonObject => {
  if (served.kind === 'error') throw new Error(served.error.message);
  return served.result;
};
const askedOf = (served: Served): InputRequiredResult => resultOf(served) as unknown as InputRequiredResult;
const retry = (served: Served, inputResponses?: object): JsonObject => ({
  ...params,
  ...(inputResponses === undefined ? {} : { inputResponses: inputResponses as JsonObject }),
  requestState: askedOf(served).requestState as string,
});
const say = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

const three = serverOf((flow) => {
  const first = flow.ask({ first: ask.form('First?', text) });
  if (first.pending) return first.round;
  const second = flow.ask({ second: ask.form('Second?', text) });
  if (second.pending) return second.round;
  const third = flow.ask({ third: ask.form('Third?', text) });
  if (third.pending) return third.round;
  return say({ ...first.answers, ...second.answers, ...third.answers });
});

describe('rounds', () => {
  it('M38 ask one after the other, and the last one sees all answers', async () => {
    const one = await three(params, context);
    expect(Object.keys(askedOf(one).inputRequests ?? {})).toEqual(['first']);
    const two = await three(retry(one, { first: accept('aa') }), context);
    expect(Object.keys(askedOf(two).inputRequests ?? {})).toEqual(['second']);
    const last = await three(retry(two, { second: { action: 'decline' } }), context);
    expect(resultOf(await three(retry(last, { third: { action: 'cancel' } }), context))).toMatchObject({
      resultType: 'complete',
      ...say({
        first: { kind: 'accepted', content: { value: 'aa' } },
        second: { kind: 'declined' },
        third: { kind: 'cancelled' },
      }),
    });
  });

  it('M31 ask again for what is missing alone, and keep what is there', async () => {
    const both = serverOf((flow) => {
      const asked = flow.ask({ a: ask.form('A?', text), b: ask.roots() });
      return asked.pending ? asked.round : say(asked.answers);
    });
    const one = await both(params, context);
    expect(Object.keys(askedOf(one).inputRequests ?? {})).toEqual(['a', 'b']);
    const two = await both(retry(one, { a: accept('aa'), stranger: {} }), context);
    expect(Object.keys(askedOf(two).inputRequests ?? {})).toEqual(['b']);
    const done = resultOf(await both(retry(two, { b: { roots: [] } }), context));
    expect(done).toMatchObject(
      say({ a: { kind: 'accepted', content: { value: 'aa' } }, b: { kind: 'accepted', content: { roots: [] } } }),
    );
  });

  it('M35 ask again with what was wrong, and the handler sees no such answer', async () => {
    const seen: unknown[] = [];
    const server = serverOf((flow) => {
      const asked = flow.ask({ a: ask.form('Name?', text) });
      if (asked.pending) return asked.round;
      seen.push(asked.answers.a);
      return say('done');
    });
    const one = await server(params, context);
    const two = await server(retry(one, { a: accept('x') }), context);
    expect(askedOf(two).inputRequests?.['a']?.params?.['message']).toBe('value must have at least 2 characters. Name?');
    await server(retry(two, { a: accept('xx') }), context);
    expect(seen).toEqual([{ kind: 'accepted', content: { value: 'xx' } }]);
  });

  it('M16 end at the cap: a tool says so itself, others with an error', async () => {
    for (const method of ['tools/call', 'prompts/get'] as const) {
      const endless = serverOf((flow) => ({ asks: { a: ask.form(`Round ${flow.round}?`, text) } }), { maxRounds: 3 });
      let served = await endless(params, { ...context, method });
      for (let round = 2; round <= 3; round += 1) served = await endless(retry(served, {}), { ...context, method });
      const last = await endless(retry(served, {}), { ...context, method });
      if (method === 'tools/call') expect(resultOf(last)).toMatchObject({ isError: true });
      else expect(last).toMatchObject({ kind: 'error', error: { code: -32603, data: { reason: 'too-many-rounds' } } });
      expect(JSON.stringify(last)).toContain('3 rounds');
    }
  });

  it('M30 are refused whole when one question was not declared, and leave out what is optional', async () => {
    const server = serverOf((flow) => {
      const asked = flow.ask({ a: ask.form('A?', text), b: ask.roots({ optional: flow.params['optional'] === true }) });
      return asked.pending ? asked.round : say(asked.answers.b);
    });
    const weak = { capabilities: { elicitation: {} } };
    expect(await server(params, weak)).toMatchObject({
      kind: 'error',
      status: 400,
      error: { code: -32021, data: { requiredCapabilities: { roots: {} } } },
    });
    const optional = { ...params, optional: true };
    const one = await server(optional, weak);
    expect(Object.keys(askedOf(one).inputRequests ?? {})).toEqual(['a']);
    const done = await server({ ...retry(one, { a: accept('aa') }), optional: true }, weak);
    expect(resultOf(done)).toMatchObject(say({ kind: 'missing' }));
  });

  it.each(['text', [], null])('M33 refuse responses that are %j', async (inputResponses) => {
    const one = await three(params, context);
    const served = await three({ ...retry(one), inputResponses: inputResponses as never }, context);
    expect(served).toMatchObject({ kind: 'error', error: { code: -32602 } });
  });

  it('refuse a state that is not theirs with one and the same error', async () => {
    const one = await three(params, context);
    const bob = { ...context, principal: { subject: 'bob' } };
    const refusals = [
      await three({ ...params, requestState: 'made up' }, context),
      await three(retry(one, { first: accept('aa') }), bob),
      await three({ ...retry(one, { first: accept('aa') }), arguments: { n: 2 } }, context),
      await three(retry(one, { first: accept('aa') }), { ...context, method: 'prompts/get' }),
    ];
    for (const refusal of refusals) {
      expect(refusal).toMatchObject({
        kind: 'error',
        error: { code: -32602, data: { reason: 'invalid_request_state' } },
      });
    }
    expect(new Set(refusals.map((refusal) => JSON.stringify(refusal))).size).toBe(1);
  });

  it('M18 serve the same state twice, and M20 an earlier one after a lost response', async () => {
    const one = await three(params, context);
    const answers = { first: accept('aa') };
    const two = await three(retry(one, answers), context);
    const again = await three(retry(one, answers), context);
    expect(askedOf(again).inputRequests).toEqual(askedOf(two).inputRequests);
    const three2 = await three(retry(again, { second: accept('bb') }), context);
    expect(Object.keys(askedOf(three2).inputRequests ?? {})).toEqual(['third']);
  });

  it('commit once, and answer a replay with what the first one got', async () => {
    let deployed = 0;
    const handler: RoundsOptions['handler'] = async (flow) => {
      const asked = flow.ask({ a: ask.form('Sure?', text) });
      if (asked.pending) return asked.round;
      await flow.commitOnce();
      deployed += 1;
      return say(deployed);
    };
    const strict = serverOf(handler, { guard: createMemoryReplayGuard() });
    const one = await strict(params, context);
    expect(resultOf(await strict(retry(one, { a: accept('aa') }), context))).toMatchObject(say(1));
    expect(await strict(retry(one, { a: accept('aa') }), context)).toMatchObject({
      kind: 'error',
      error: { data: { reason: 'already-committed' } },
    });
    const kind = serverOf(handler, { guard: createMemoryReplayGuard(), keepResultsMs: 60_000 });
    const first = await kind(params, context);
    const done = await kind(retry(first, { a: accept('aa') }), context);
    expect(await kind(retry(first, { a: accept('aa') }), context)).toEqual(done);
    expect(deployed).toBe(2);
  });

  it('M15 fail when the state cannot be kept, and show nothing', async () => {
    const store = {
      put: () => Promise.reject(new Error('down')),
      get: async () => undefined,
      delete: async () => undefined,
    };
    const codec = createStateCodec({ keys: [{ id: 'k', key: randomBytes(32) }], softMaxBytes: 10, store });
    const server = rounds({
      codec,
      audience: 'x',
      handler: (flow) => {
        const asked = flow.ask({ a: ask.roots() });
        return asked.pending ? asked.round : say(1);
      },
    });
    expect(await server(params, context)).toMatchObject({ kind: 'error', error: { code: -32603 } });
  });

  it('refuse options of the wrong kind', () => {
    expect(() => serverOf(() => say(1), { maxRounds: 0 })).toThrow('`maxRounds` to be an integer of at least 1');
  });
});
