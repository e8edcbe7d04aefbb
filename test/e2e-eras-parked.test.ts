import { afterEach, describe, expect, it } from 'vitest';
import { answerRounds, askModern, hostileServer, isAlive, openModern, textOf, until } from './doubles/src/index.js';
import type { ModernOptions, ReadResponse, Round } from './doubles/src/index.js';
import { openGateway } from './support/gateway.js';
import type { GatewayUnderTest, GatewayTestOptions } from './support/gateway.js';
import { openJournal } from './support/journal.js';
import type { Journal } from './support/journal.js';

const form = (round: number) => ({
  method: 'elicitation/create',
  params: {
    message: `Round ${round}`,
    requestedSchema: { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] },
  },
});
const asks = (count: number, sequential = true) => ({
  name: 'ask',
  arguments: { requests: Array.from({ length: count }, (_value, index) => form(index + 1)), sequential },
});
const accept = (answer: string) => ({ action: 'accept', content: { answer } });
const capabilities = { elicitation: { form: {} } };
const asUser = (token: string): ModernOptions => ({ token, capabilities });
const ada = asUser('ada');

/** What the tool heard. */
const heard = (answer: ReadResponse): unknown =>
  (JSON.parse(textOf(answer)) as { readonly result?: unknown; readonly error?: unknown }[]).map(
    ({ result, error }) => result ?? error,
  );
const roundOf = (answer: ReadResponse): Round => {
  expect(answer.message?.result?.['resultType'], answer.text).toBe('input_required');
  return answer.message?.result as Round;
};
const keysOf = (round: Round): string[] => Object.keys(round.inputRequests ?? {});
const retry = (round: Round, answers: Readonly<Record<string, unknown>>, params: object = asks(1)) => ({
  ...params,
  inputResponses: answers,
  requestState: round.requestState,
});
const invalidState = { error: { code: -32602, data: { reason: 'invalid_request_state' } } };

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function open(
  options: GatewayTestOptions = {},
): Promise<{ gateway: GatewayUnderTest; journal: Journal; url: string }> {
  const journal = await openJournal();
  closing.push(() => journal.close());
  const gateway = await openGateway(hostileServer({ journal: journal.file }), { isolation: 'lease', ...options });
  closing.push(() => gateway.close());
  return { gateway, journal, url: gateway.url };
}

/** The processes that a journal tells of. */
const processesIn = (journal: Journal): number[] => [...new Set(journal.entries().map(({ pid }) => pid))];

describe('a Legacy server that asks a Modern client', () => {
  it('is called once over three rounds', async () => {
    const { url, journal } = await open();
    const { rounds, last } = await answerRounds(
      url,
      'tools/call',
      asks(3),
      (_key, _method, n) => accept(`no. ${n}`),
      ada,
    );
    expect(rounds).toHaveLength(3);
    expect(rounds.map((round) => Object.values(round.inputRequests ?? {}))).toEqual([1, 2, 3].map((n) => [form(n)]));
    expect(heard(last)).toEqual([1, 2, 3].map((n) => accept(`no. ${n}`)));
    expect(last.message?.result).toMatchObject({ resultType: 'complete' });
    expect(journal.calls('ask')).toBe(1);
    const states = rounds.map(({ requestState }) => requestState ?? '');
    expect(new Set(states).size).toBe(3);
    for (const state of states) expect(Buffer.from(state, 'base64url').toString('latin1')).not.toMatch(/ask|ada|Round/);
  });

  it('is called once over ten rounds', async () => {
    const { url, journal } = await open();
    const { rounds, last } = await answerRounds(
      url,
      'tools/call',
      asks(10),
      (_key, _method, n) => accept(String(n)),
      ada,
    );
    expect(rounds).toHaveLength(10);
    expect(heard(last)).toHaveLength(10);
    expect(journal.calls('ask')).toBe(1);
  });

  it.each(['decline', 'cancel'])('hears %s, and does not ask again', async (action) => {
    const { url, journal } = await open();
    const { rounds, last } = await answerRounds(url, 'tools/call', asks(1), () => ({ action }), ada);
    expect(rounds).toHaveLength(1);
    expect(heard(last)).toEqual([{ action }]);
    expect(journal.calls('ask')).toBe(1);
  });

  it('asks again for what was not answered, and keeps what was', async () => {
    const { url, journal } = await open();
    const first = roundOf(await askModern(url, 'tools/call', asks(2, false), ada));
    const [one = '', two = ''] = keysOf(first);
    expect(keysOf(first)).toHaveLength(2);
    const second = roundOf(
      await askModern(url, 'tools/call', retry(first, { [two]: accept('two') }, asks(2, false)), ada),
    );
    expect(keysOf(second)).toEqual([one]);
    const last = await askModern(url, 'tools/call', retry(second, { [one]: accept('one') }, asks(2, false)), ada);
    expect(heard(last)).toEqual([accept('one'), accept('two')]);
    expect(journal.calls('ask')).toBe(1);
  });

  it('asks again where the keys are wrong, and ignores those that are too many', async () => {
    const { url, journal } = await open();
    const first = roundOf(await askModern(url, 'tools/call', asks(1), ada));
    const wrong = { nonsense: accept('no'), ['__proto__']: accept('no'), constructor: accept('no') };
    const second = roundOf(await askModern(url, 'tools/call', retry(first, wrong), ada));
    expect(keysOf(second)).toEqual(keysOf(first));
    const [key = ''] = keysOf(second);
    const last = await askModern(url, 'tools/call', retry(second, { ...wrong, [key]: accept('yes') }), ada);
    expect(heard(last)).toEqual([accept('yes')]);
    expect(journal.calls('ask')).toBe(1);
  });

  it('never hears an answer that is none', async () => {
    const { url, journal } = await open();
    const first = roundOf(await askModern(url, 'tools/call', asks(1), ada));
    const [key = ''] = keysOf(first);
    for (const answer of [12, 'text', null, [], { method: 'elicitation/create', result: accept('wrapped') }]) {
      const reply = await askModern(url, 'tools/call', retry(first, { [key]: answer }), ada);
      const isAskedAgain = reply.message?.result?.['resultType'] === 'input_required';
      expect(isAskedAgain || reply.message?.error?.code === -32602, reply.text).toBe(true);
    }
    const last = await askModern(url, 'tools/call', retry(first, { [key]: accept('yes') }), ada);
    expect(heard(last)).toEqual([accept('yes')]);
    expect(journal.calls('ask')).toBe(1);
  });

  it('is not disturbed by a state that was tampered with', async () => {
    const { url, journal } = await open();
    const first = roundOf(await askModern(url, 'tools/call', asks(1), ada));
    const state = first.requestState ?? '';
    const [key = ''] = keysOf(first);
    const flipped = state.slice(0, -2) + (state.at(-2) === 'A' ? 'B' : 'A') + state.slice(-1);
    for (const requestState of [flipped, state.slice(0, -5), `${state}x`, state.slice(1), state.toUpperCase(), '']) {
      const params = { ...retry(first, { [key]: accept('no') }), requestState };
      const reply = await askModern(url, 'tools/call', params, { ...ada, id: 'tampered' });
      expect(reply.message, requestState).toMatchObject({ id: 'tampered', ...invalidState });
    }
    expect(heard(await askModern(url, 'tools/call', retry(first, { [key]: accept('yes') }), ada))).toEqual([
      accept('yes'),
    ]);
    expect(journal.calls('ask')).toBe(1);
  });

  it('takes a state with the request that it belongs to alone', async () => {
    const { url, journal } = await open();
    const first = roundOf(await askModern(url, 'tools/call', asks(1), ada));
    const [key = ''] = keysOf(first);
    const others = [asks(2), { ...asks(1), name: 'echo' }];
    for (const params of others) {
      const reply = await askModern(url, 'tools/call', retry(first, { [key]: accept('no') }, params), ada);
      expect(reply.message, reply.text).toMatchObject(invalidState);
    }
    // The order of members is no other request.
    const { name, arguments: args } = asks(1);
    const reordered = { arguments: { sequential: args.sequential, requests: args.requests }, name };
    expect(
      heard(await askModern(url, 'tools/call', retry(first, { [key]: accept('yes') }, reordered), ada)),
    ).toHaveLength(1);
    expect(journal.calls('ask')).toBe(1);
    expect(journal.calls('echo')).toBe(0);
  });

  it('takes no state of another user, nor of nobody', async () => {
    const { url, journal } = await open();
    const first = roundOf(await askModern(url, 'tools/call', asks(1), ada));
    const [key = ''] = keysOf(first);
    for (const other of [asUser('bob'), { capabilities }]) {
      const reply = await askModern(url, 'tools/call', retry(first, { [key]: accept('stolen') }), other);
      expect(reply.message, reply.text).toMatchObject(invalidState);
    }
    expect(heard(await askModern(url, 'tools/call', retry(first, { [key]: accept('mine') }), ada))).toEqual([
      accept('mine'),
    ]);
    expect(journal.calls('ask')).toBe(1);
  });

  it('gives a retry whose response was lost the same outcome', async () => {
    const { url, journal } = await open();
    const first = roundOf(await askModern(url, 'tools/call', asks(2), ada));
    const [key = ''] = keysOf(first);
    const params = retry(first, { [key]: accept('one') }, asks(2));
    const lost = roundOf(await askModern(url, 'tools/call', params, ada));
    const again = roundOf(await askModern(url, 'tools/call', params, ada));
    expect(again.inputRequests).toEqual(lost.inputRequests);
    const last = await askModern(
      url,
      'tools/call',
      retry(again, { [keysOf(again)[0] ?? '']: accept('two') }, asks(2)),
      ada,
    );
    expect(heard(last)).toEqual([accept('one'), accept('two')]);
    expect(journal.calls('ask')).toBe(1);
  });

  it('does nothing twice when the last retry is replayed', async () => {
    const { url, journal } = await open();
    const first = roundOf(await askModern(url, 'tools/call', asks(1), ada));
    const [key = ''] = keysOf(first);
    const params = retry(first, { [key]: accept('yes') });
    expect(heard(await askModern(url, 'tools/call', params, ada))).toEqual([accept('yes')]);
    const replayed = await askModern(url, 'tools/call', params, ada);
    // Either what it was told the first time, or a refusal: never a second call.
    if (replayed.message?.error === undefined) expect(heard(replayed)).toEqual([accept('yes')]);
    else expect(replayed.message).toMatchObject(invalidState);
    expect(journal.calls('ask')).toBe(1);
  });

  it('hears one answer from two tabs', async () => {
    const { url, journal } = await open();
    const first = roundOf(await askModern(url, 'tools/call', asks(1), ada));
    const [key = ''] = keysOf(first);
    const replies = await Promise.all(
      ['left', 'right'].map((tab) => askModern(url, 'tools/call', retry(first, { [key]: accept(tab) }), ada)),
    );
    const told = replies.filter(({ message }) => message?.error === undefined).map(heard);
    expect(told.length).toBeGreaterThan(0);
    expect(new Set(told.map((value) => JSON.stringify(value))).size).toBe(1);
    expect(journal.calls('ask')).toBe(1);
    // The journal has one line for an answer, which has no method.
    expect(journal.entries().filter(({ method }) => method === undefined)).toHaveLength(1);
  });

  it('keeps two calls of one user apart', async () => {
    const { url, journal } = await open();
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((mark) =>
        answerRounds(url, 'tools/call', asks(2), (_key, _method, n) => accept(mark + n), ada),
      ),
    );
    expect(answers.map(({ last }) => heard(last))).toEqual(
      ['a', 'b', 'c'].map((mark) => [accept(`${mark}1`), accept(`${mark}2`)]),
    );
    expect(journal.calls('ask')).toBe(3);
  });

  it('is asked no question that the client has not declared', async () => {
    const { url } = await open();
    const reply = await askModern(url, 'tools/call', asks(1), { token: 'ada' });
    expect(reply.message?.result?.['resultType']).not.toBe('input_required');
    const text = JSON.stringify(reply.message);
    expect(text).toMatch(/-32601|-32021/);
  });

  it('cannot ask outside of a call, and in a shared process not at all', async () => {
    const { url } = await open({ isolation: 'shared' });
    const reply = await askModern(url, 'tools/call', asks(1), ada);
    expect(JSON.stringify(heard(reply))).toContain('-32601');
  });
});

describe('a parked call', () => {
  it('ends when its time is over, and frees its lease', async () => {
    const { url, gateway, journal } = await open({ lease: { parkTtlMs: 400 } });
    const first = roundOf(await askModern(url, 'tools/call', asks(1), ada));
    const [key = ''] = keysOf(first);
    expect(gateway.leases()).toMatchObject({ parked: 1 });
    await until('the lease is free', () => gateway.leases().parked === 0, { timeoutMs: 5000 });
    const late = await askModern(url, 'tools/call', retry(first, { [key]: accept('late') }), { ...ada, id: 'late' });
    expect(late.message, late.text).toMatchObject({ id: 'late', ...invalidState });
    expect(journal.calls('ask')).toBe(1);
  });

  it('dies with its server, and is not called again', async () => {
    const { url, gateway, journal } = await open();
    const first = roundOf(await askModern(url, 'tools/call', asks(1), ada));
    const [key = ''] = keysOf(first);
    const call = journal.entries().find(({ method }) => method === 'tools/call');
    process.kill(call?.pid ?? 0, 'SIGKILL');
    await until('the lease is free', () => gateway.leases().parked === 0, { timeoutMs: 5000 });
    const reply = await askModern(url, 'tools/call', retry(first, { [key]: accept('too late') }), {
      ...ada,
      id: 'dead',
    });
    expect(reply.message?.id).toBe('dead');
    expect([-32603, -32602]).toContain(reply.message?.error?.code);
    expect(journal.calls('ask')).toBe(1);
  });

  it('is refused by another replica, which does not call, and goes on where it is', async () => {
    const stateKeys = [{ id: 'k1', key: Buffer.alloc(32, 7) }];
    const here = await open({ stateKeys });
    const there = await open({ stateKeys });
    const first = roundOf(await askModern(here.url, 'tools/call', asks(1), ada));
    const [key = ''] = keysOf(first);
    const params = retry(first, { [key]: accept('yes') });
    const refused = await askModern(there.url, 'tools/call', params, { ...ada, id: 'elsewhere' });
    expect(refused.message?.id).toBe('elsewhere');
    expect([-32602, -32603]).toContain(refused.message?.error?.code);
    expect(there.journal.calls('ask')).toBe(0);
    expect(heard(await askModern(here.url, 'tools/call', params, ada))).toEqual([accept('yes')]);
    expect(here.journal.calls('ask')).toBe(1);
  });

  it('frees its lease, a hundred times over, when nobody comes back', async () => {
    const { url, gateway, journal } = await open({ lease: { parkTtlMs: 300, maxProcesses: 25 } });
    for (let wave = 0; wave < 4; wave += 1) {
      const replies = await Promise.all(Array.from({ length: 25 }, () => askModern(url, 'tools/call', asks(1), ada)));
      for (const reply of replies) roundOf(reply);
      await until('every lease is free', () => gateway.leases().parked === 0, { timeoutMs: 10_000 });
    }
    expect(journal.calls('ask')).toBe(100);
    expect(heard((await answerRounds(url, 'tools/call', asks(1), () => accept('still here'), ada)).last)).toHaveLength(
      1,
    );
    await gateway.close();
    for (const pid of processesIn(journal)) expect(isAlive(pid)).toBe(false);
  });

  it('is cancelled when its client leaves before it asks', async () => {
    const { url, journal, gateway } = await open();
    const controller = new AbortController();
    const left = openModern(
      url,
      'tools/call',
      { name: 'delay', arguments: { ms: 20_000 } },
      { ...ada, signal: controller.signal },
    );
    left.catch(() => {});
    await until('the server has the call', () => journal.calls('delay') === 1);
    controller.abort();
    const isCancelled = () => journal.entries().some(({ method }) => method === 'notifications/cancelled');
    await until('the server hears of it', isCancelled, { timeoutMs: 5000 });
    await until('the lease is free', () => gateway.leases().busy === 0, { timeoutMs: 5000 });
  });
});
