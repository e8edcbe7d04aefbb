import { afterEach, describe, expect, it } from 'vitest';
import { answerRounds, askModern, modernServer, openModern, textOf, until, within } from './doubles/src/index.js';
import type { ModernOptions, ModernStatistics } from './doubles/src/index.js';
import { openGateway } from './support/gateway.js';
import type { GatewayTestOptions } from './support/gateway.js';
import { openJournal } from './support/journal.js';

const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const ada: ModernOptions = { token: 'ada', capabilities };
const bob: ModernOptions = { token: 'bob', capabilities };
const call = (name: string, args: Readonly<Record<string, unknown>> = {}) => ({ name, arguments: args });
const accept = (answer: string) => ({ action: 'accept', content: { answer } });

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function open(options: GatewayTestOptions = {}) {
  const journal = await openJournal();
  closing.push(() => journal.close());
  const gateway = await openGateway(modernServer({ journal: journal.file }), options);
  closing.push(() => gateway.close());
  const statistics = async () =>
    JSON.parse(textOf(await askModern(gateway.url, 'tools/call', call('stats')))) as ModernStatistics;
  return { gateway, journal, url: gateway.url, statistics };
}

describe('a Modern server that asks a Modern client', () => {
  it('is given the state as it handed it out, in ten rounds of one process', async () => {
    const { url, statistics } = await open();
    const { rounds, last } = await answerRounds(
      url,
      'tools/call',
      call('rounds', { count: 10 }),
      (_k, _m, n) => accept(String(n)),
      ada,
    );
    expect(rounds).toHaveLength(10);
    expect(JSON.parse(textOf(last))).toMatchObject({
      said: Array.from({ length: 10 }, (_, n) => accept(String(n + 1))),
    });
    const { last: seen, effects, calls } = await statistics();
    expect(seen?.['requestState']).toBe(rounds.at(-1)?.requestState);
    expect(seen?.['inputResponses']).toEqual({ round10: accept('10') });
    expect({ effects, calls }).toMatchObject({ effects: 1, calls: { rounds: 11 } });
  });

  it('carries a large state', async () => {
    const { url } = await open();
    const { rounds, last } = await answerRounds(
      url,
      'tools/call',
      call('rounds', { count: 2, padding: 200_000 }),
      () => accept('x'),
      ada,
    );
    expect(rounds[0]?.requestState?.length).toBeGreaterThan(200_000);
    expect(textOf(last)).toContain('"effects":1');
  });

  it('paces nothing itself: a state without a question is handed on', async () => {
    const { url } = await open();
    const { rounds, last } = await answerRounds(url, 'tools/call', call('think', { times: 3 }), () => undefined, ada);
    expect(rounds.map((round) => Object.hasOwn(round, 'inputRequests'))).toEqual([false, false, false]);
    expect(textOf(last)).toBe('thought 3 times');
  });

  it('refuses a state that was tampered with, and does nothing', async () => {
    const { url, statistics } = await open();
    const first = await askModern(url, 'tools/call', call('rounds', { count: 1 }), ada);
    const requestState = `${String(first.message?.result?.['requestState']).slice(0, -3)}AAA`;
    const params = { ...call('rounds', { count: 1 }), inputResponses: { round1: accept('x') }, requestState };
    const reply = await askModern(url, 'tools/call', params, { ...ada, id: 'tampered' });
    expect(reply.message).toMatchObject({ id: 'tampered', error: { code: -32602 } });
    expect(await statistics()).toMatchObject({ effects: 0 });
  });

  it('asks again where the keys are wrong, in a prompt and a resource too', async () => {
    const { url } = await open();
    const targets = [
      ['tools/call', call('ask', { kinds: ['form'] })],
      ['prompts/get', { name: 'asking' }],
      ['resources/read', { uri: 'asking://something' }],
    ] as const;
    for (const [method, params] of targets) {
      const wrong = await askModern(url, method, { ...params, inputResponses: { other: accept('x') } }, ada);
      expect(wrong.message?.result, wrong.text).toMatchObject({ resultType: 'input_required' });
      const right = await askModern(url, method, { ...params, inputResponses: { form: accept('x') } }, ada);
      expect(right.message?.result).toMatchObject({ resultType: 'complete' });
      expect(right.text).toContain('accept');
    }
  });

  it.each([
    ['model', {}, { sampling: {} }],
    ['form', { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    ['url', { elicitation: {} }, { elicitation: { url: {} } }],
    ['roots', { sampling: {} }, { roots: {} }],
  ])('is told that the client cannot answer: %s', async (kind, declared, requiredCapabilities) => {
    const { url } = await open();
    const options: ModernOptions = { capabilities: declared, id: 'undeclared' };
    const reply = await askModern(url, 'tools/call', call('ask', { kinds: [kind] }), options);
    expect(reply.status, reply.text).toBe(400);
    expect(reply.message).toMatchObject({ id: 'undeclared', error: { code: -32021, data: { requiredCapabilities } } });
  });
});

describe('a Modern server that breaks the rules', () => {
  const raw = async (result: object, options: ModernOptions = {}) => {
    const { url } = await open();
    return askModern(url, 'tools/call', call('raw', { result: JSON.stringify(result) }), { id: 'raw', ...options });
  };

  it('cannot ask what the client has not declared', async () => {
    const inputRequests = { q: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } } };
    const reply = await raw({ resultType: 'input_required', inputRequests }, { capabilities: { elicitation: {} } });
    expect(reply.message?.result, reply.text).toBeUndefined();
    expect(reply.message).toMatchObject({ id: 'raw', error: { code: -32021 } });
    expect(reply.status).toBe(400);
  });

  it.each([
    ['asks for nothing', { resultType: 'input_required' }],
    [
      'asks a method that is no question',
      { resultType: 'input_required', inputRequests: { q: { method: 'tools/call' } } },
    ],
    ['makes a task for a client without tasks', { resultType: 'task', taskId: '1' }],
  ])('gets no further when it %s', async (_name, result) => {
    const reply = await raw(result, { capabilities });
    expect(reply.message?.result, reply.text).toBeUndefined();
    expect(reply.message).toMatchObject({ id: 'raw', error: { code: expect.any(Number) as number } });
  });

  it('has its unknown members and large numbers handed on as they are', async () => {
    const { url } = await open();
    const result =
      '{"resultType":"wondrous","z":1e400,"big":12345678901234567890,"content":[{"type":"hologram","data":"\u2028"}],"a":-0.0}';
    const reply = await askModern(url, 'tools/call', call('raw', { result }));
    for (const part of [
      '"resultType":"wondrous"',
      '"z":1e400',
      '"big":12345678901234567890',
      '"type":"hologram"',
      '"a":-0.0',
      '\u2028',
    ]) {
      expect(reply.text).toContain(part);
    }
  });
});

describe('a shared Modern server', () => {
  it('reports progress under the token of each client', async () => {
    const { url } = await open();
    const replies = await Promise.all(
      [1, 2, 3].map((count) =>
        askModern(url, 'tools/call', call('progress', { count, ms: 5 }), { id: 1, meta: { progressToken: 'same' } }),
      ),
    );
    for (const [index, reply] of replies.entries()) {
      const steps = reply.messages.filter(({ method }) => method === 'notifications/progress');
      expect(steps.map(({ params }) => params)).toEqual(
        Array.from({ length: index + 1 }, (_, n) => ({ progressToken: 'same', progress: n + 1, total: index + 1 })),
      );
      expect(reply.message).toMatchObject({ id: 1, result: { resultType: 'complete' } });
    }
  });

  it('hears that a client has gone', async () => {
    const { url, journal, statistics } = await open();
    const controller = new AbortController();
    openModern(url, 'tools/call', call('slow', { ms: 20_000 }), { signal: controller.signal }).catch(() => {});
    await until('the server has the call', () => journal.calls('slow') === 1);
    controller.abort();
    await until('the call is cancelled', async () => (await statistics()).cancelled === 1, { timeoutMs: 5000 });
  });

  it('tells a listener what it asked for, under its own id', async () => {
    const { url } = await open();
    const filter = { toolsListChanged: true, resourceSubscriptions: ['double://one'] };
    const listener = await openModern(url, 'subscriptions/listen', { notifications: filter }, { id: 17 });
    const next = async () => within(5000, 'a message', listener.events.message());
    const tag = { 'io.modelcontextprotocol/subscriptionId': 17 };
    expect(await next()).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: filter, _meta: tag },
    });
    await askModern(url, 'tools/call', call('change', { list: 'prompts' }));
    await askModern(url, 'tools/call', call('update', { uri: 'double://n/2' }));
    await askModern(url, 'tools/call', call('change', { list: 'tools' }));
    await askModern(url, 'tools/call', call('update', { uri: 'double://one' }));
    expect(await next()).toMatchObject({ method: 'notifications/tools/list_changed', params: { _meta: tag } });
    expect(await next()).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri: 'double://one', _meta: tag },
    });
    listener.body.destroy();
  });

  it('ends a subscription with a result when the gateway closes', async () => {
    const { url, gateway } = await open();
    const listener = await openModern(
      url,
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      { id: 'mine' },
    );
    await within(5000, 'the acknowledgement', listener.events.message());
    const ended = gateway.close();
    expect(await within(5000, 'the result', listener.events.message())).toMatchObject({
      id: 'mine',
      result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 'mine' } },
    });
    await ended;
  });

  it('gives no two users the same cache, and retries none', async () => {
    const { url } = await open();
    const listed = await askModern(url, 'tools/list', {}, ada);
    expect(listed.message?.result).toMatchObject({ resultType: 'complete', cacheScope: 'private' });
    expect(Number.isInteger(listed.message?.result?.['ttlMs'])).toBe(true);
    const { last } = await answerRounds(url, 'resources/read', { uri: 'asking://x' }, () => accept('x'), ada);
    expect(last.message?.result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
  });
});

describe('a Modern server behind a seal of ours', () => {
  it('never sees the state of another user', async () => {
    const { url, statistics } = await open({ stateMode: 'sealed' });
    const params = call('rounds', { count: 2 });
    const first = await askModern(url, 'tools/call', params, ada);
    const requestState = String(first.message?.result?.['requestState']);
    expect(requestState).toMatch(/^thv1\./);
    const stolen = { ...params, inputResponses: { round1: accept('stolen') }, requestState };
    for (const other of [bob, { capabilities }]) {
      const reply = await askModern(url, 'tools/call', stolen, { ...other, id: 'stolen' });
      expect(reply.message).toMatchObject({
        id: 'stolen',
        error: { code: -32602, data: { reason: 'invalid_request_state' } },
      });
    }
    expect((await statistics()).calls).toMatchObject({ rounds: 1 });
    const { last } = await answerRounds(url, 'tools/call', params, (_k, _m, n) => accept(String(n)), ada);
    expect(JSON.parse(textOf(last))).toMatchObject({ said: [accept('1'), accept('2')] });
  });
});
