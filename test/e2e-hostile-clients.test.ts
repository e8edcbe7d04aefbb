import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  brokenRequests,
  departIn,
  departures,
  garbageBodies,
  guessSessions,
  hostileServer,
  oddBodies,
  openHalfRequests,
  openManyGets,
  openSession,
  openSlowReader,
  pipeline,
  readAll,
  rssBytes,
  send,
  sendBytes,
  sendEndlessBody,
  smuggledBodies,
  until,
} from './doubles/src/index.js';
import type { McpSession, RawConnection } from './doubles/src/index.js';
import { runThv } from './support/thv.js';
import type { RunningThv } from './support/thv.js';

let thv: RunningThv;
/** A client that has done nothing wrong, and must not notice what others do. */
let honest: McpSession;

beforeAll(async () => {
  thv = await runThv(hostileServer());
  honest = await openSession(thv.url, { clientName: 'honest' });
});

afterAll(async () => {
  await thv.close();
});

const call = (tool: string, args: unknown, id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: tool, arguments: args } });

async function countCalls(): Promise<number> {
  return (JSON.parse(await honest.callText('stats')) as { toolCalls: number }).toolCalls;
}

async function expectServed(): Promise<void> {
  expect(await honest.callText('echo', { message: 'still here' })).toBe('still here');
}

describe('bytes that are no request', () => {
  it.each(brokenRequests('http://127.0.0.1:1/mcp').map(({ name }) => name))('refuses %s', async (name) => {
    const request = brokenRequests(thv.url).find((found) => found.name === name);
    const status = await sendBytes(thv.url, request?.bytes ?? Buffer.alloc(0), 1000);
    if (status !== undefined) expect(request?.statuses).toContain(status);
    await expectServed();
  });
});

describe('bodies that are no message', () => {
  it.each([...garbageBodies, ...smuggledBodies])('refuses $name, and hands nothing on', async ({ body, code }) => {
    const before = await countCalls();
    const { status, message, text } = await readAll(await honest.post(body));
    expect(status, text).toBe(400);
    expect(message?.error?.code, text).toBe(code);
    expect(text).not.toContain('"id":null');
    expect(await countCalls()).toBe(before + 1);
  });

  it.each(oddBodies)('answers one $name under its own id', async ({ body, id }) => {
    const { status, message, text } = await readAll(await honest.post(body));
    expect(status, text).toBe(200);
    expect(message?.id).toBe(id);
    expect(message?.result, text).toBeDefined();
  });

  it('stops a body that has no end', async () => {
    expect([413, undefined]).toContain(await sendEndlessBody(thv.url, 64 * 1024 ** 2));
    await expectServed();
  });
});

describe('clients that leave', () => {
  it.each(departures)('%s harm nobody', async (departure) => {
    const headers = { 'mcp-session-id': honest.sessionId ?? '' };
    const body = call('large', { bytes: 3_000_000 }, `gone-${departure}`);
    for (let turn = 0; turn < 5; turn += 1) await departIn(departure, thv.url, body, headers);
    await expectServed();
  });

  it('leave hundreds of half requests open without harm', async () => {
    const connections = await openHalfRequests(thv.url, 300);
    await expectServed();
    for (const connection of connections) connection.destroy();
  });

  it('never read, and harm nobody', async () => {
    const slow = await openSession(thv.url);
    const headers = { 'mcp-session-id': slow.sessionId ?? '' };
    const stuck = await Promise.all(
      [1, 2, 3].map((id) => openSlowReader(thv.url, call('large', { bytes: 6_000_000 }, id), headers)),
    );
    await expectServed();
    for (const connection of stuck) connection.destroy();
  });
});

describe('clients that guess and flood', () => {
  it('get 404 for every session that is not theirs', async () => {
    expect([...(await guessSessions(thv.url, 60, honest.sessionId))]).toEqual([404]);
    await expectServed();
  });

  it('get one standalone stream a session, however often they ask', async () => {
    const session = await openSession(thv.url);
    const headers = { 'mcp-session-id': session.sessionId ?? '' };
    const { connections, statuses } = await openManyGets(thv.url, 1000, headers);
    expect(new Set(statuses)).toEqual(new Set([200]));
    let ended = 0;
    for (const connection of connections) void untilStreamEnds(connection).then(() => (ended += 1));
    await until('all streams but one have ended', () => ended === 999);
    await expectServed();
    for (const connection of connections) connection.destroy();
  });

  it('cannot use an id twice at once, and the first request does not notice', async () => {
    const first = honest.post(call('delay', { ms: 300, message: 'first' }, 'twice'));
    await until('the first is on its way', async () => (await countCalls()) > 0);
    const second = await readAll(await honest.post(call('echo', { message: 'second' }, 'twice')));
    expect(second.status).toBe(400);
    expect(second.message?.error?.code).toBe(-32600);
    expect(JSON.stringify((await readAll(await first)).message)).toContain('first');
  });

  it('can use the id 1 and the id "1" at once', async () => {
    const [number, text] = await Promise.all([
      honest.post(call('delay', { ms: 100, message: 'number' }, 1000)).then(readAll),
      honest.post(call('delay', { ms: 50, message: 'text' }, '1000')).then(readAll),
    ]);
    expect(number.message).toMatchObject({ id: 1000, result: { content: [{ text: 'number' }] } });
    expect(text.message).toMatchObject({ id: '1000', result: { content: [{ text: 'text' }] } });
  });

  it('cannot answer for the server or cancel what is not theirs', async () => {
    const stranger = await openSession(thv.url);
    const slow = honest.post(call('delay', { ms: 300, message: 'mine' }, 77));
    await until('it is on its way', async () => (await countCalls()) > 0);
    const results = await Promise.all([
      stranger.notify('notifications/cancelled', { requestId: 77 }),
      stranger.post({ jsonrpc: '2.0', id: 77, result: { content: [{ type: 'text', text: 'forged' }] } }).then(readAll),
      ...Array.from({ length: 50 }, (_value, id) =>
        stranger.post({ jsonrpc: '2.0', id, result: { forged: true } }).then(readAll),
      ),
    ]);
    expect(results.every(({ status }) => status === 202 || status === 400)).toBe(true);
    expect((await readAll(await slow)).message).toMatchObject({ id: 77, result: { content: [{ text: 'mine' }] } });
  });

  it('get pipelined answers in order', async () => {
    const headers = { 'mcp-session-id': honest.sessionId ?? '' };
    const bodies = [80, 40, 1, 20].map((ms, index) => call('delay', { ms, message: `m${index}` }, `p${index}`));
    const answers = await pipeline(thv.url, bodies, headers);
    expect(answers.map(({ status, body }) => [status, /"text":"(m\d)"/.exec(body.toString())?.[1]])).toEqual([
      [200, 'm0'],
      [200, 'm1'],
      [200, 'm2'],
      [200, 'm3'],
    ]);
  });

  it('are refused with a foreign Origin or Host', async () => {
    const foreign = { origin: 'http://evil.example' };
    const refused = await readAll(await honest.post(call('echo', { message: 'x' }), { headers: foreign }));
    expect(refused.status).toBe(403);
    const host = await readAll(await send(thv.url, { method: 'GET', headers: { host: 'evil.example' }, agent: false }));
    expect(host.status).toBe(403);
  });
});

describe('memory', () => {
  it('returns to its level after each round of abuse', async () => {
    const levels: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      await abuse();
      await expectServed();
      await until('the server has answered what was left', async () => (await honest.request('ping')).status === 200);
      levels.push(rssBytes(thv.pid) / 1024 ** 2);
    }
    // The first rounds grow the heap to its working size; from then on nothing may pile up.
    expect((levels[3] ?? 0) - (levels[1] ?? 0), levels.map(Math.round).join(' ')).toBeLessThan(40);
  });
});

/** Resolves at the end of a chunked body, or with the connection. */
async function untilStreamEnds(connection: RawConnection): Promise<void> {
  while ((await connection.readBodyChunk().catch(() => undefined)) !== undefined);
}

/** Twenty sessions that are left open, large answers that nobody reads, half requests. */
async function abuse(): Promise<void> {
  const headers = { 'mcp-session-id': honest.sessionId ?? '' };
  const sessions = await Promise.all(Array.from({ length: 20 }, () => openSession(thv.url)));
  const halves = await openHalfRequests(thv.url, 50);
  for (let turn = 0; turn < 10; turn += 1) {
    await departIn('after the body', thv.url, call('large', { bytes: 2_000_000 }, `abuse-${turn}`), headers);
    await sendBytes(thv.url, Buffer.from('nonsense\r\n\r\n'));
  }
  for (const half of halves) half.destroy();
  await Promise.all(sessions.map((session) => session.close()));
}
