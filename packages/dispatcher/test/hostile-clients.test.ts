import {
  brokenRequests,
  departIn,
  departures,
  garbageBodies,
  getText,
  guessSessions,
  oddBodies,
  openHalfRequests,
  openManyGets,
  openRawConnection,
  openSession,
  openSlowReader,
  pipeline,
  postText,
  sendBytes,
  sendEndlessBody,
  smuggledBodies,
  targetOf,
  until,
} from '@thv/doubles';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realEndpoint } from './support/real.js';
import type { RealEndpoint } from './support/real.js';

let endpoint: RealEndpoint;
beforeAll(async () => {
  endpoint = await realEndpoint({ http: { maxBodyBytes: 1024 * 1024 } });
});
afterAll(() => endpoint.close());

const call = (id: unknown, name: string, args: unknown = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });

/** Somebody honest is served as if nothing had happened. */
async function expectService(): Promise<void> {
  const session = await openSession(endpoint.url);
  expect(await session.callText('echo', { message: 'fine' })).toBe('fine');
  await session.close();
}

async function seenByServer(): Promise<string> {
  const session = await openSession(endpoint.url);
  return session.callText('stats');
}

describe('a hostile client', () => {
  it.each(smuggledBodies.map(({ name, body, code }) => [name, body, code] as const))(
    'cannot smuggle a message: %s',
    async (_name, body, code) => {
      const session = await openSession(endpoint.url);
      const response = await session.post(body.toString('latin1'));
      const text = await new Response(response.body as unknown as ReadableStream).text();
      expect(response.status).toBe(400);
      const json = JSON.parse(text) as Record<string, unknown>;
      expect(json).toMatchObject({ error: { code } });
      expect(json).not.toHaveProperty('id');
      expect(await seenByServer()).not.toContain('smuggled');
    },
  );

  it.each(garbageBodies.map(({ name, body, code }) => [name, body, code] as const))(
    'gets an error for %s',
    async (_name, body, code) => {
      const response = await fetch(endpoint.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2025-11-25' },
        body: new Uint8Array(body),
      });
      expect(response.status).toBe(400);
      const json = (await response.json()) as Record<string, unknown>;
      expect(json).toMatchObject({ error: { code } });
      expect(json).not.toHaveProperty('id');
    },
  );

  it.each(oddBodies.map(({ name, body, id }) => [name, body, id] as const))(
    'is served when its request is only odd: %s',
    async (_name, body, id) => {
      const response = await fetch(endpoint.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: new Uint8Array(body),
      });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({ id, result: {} });
    },
  );

  it('that breaks HTTP gets an error or nothing, and harms nobody', async () => {
    const wrong: string[] = [];
    for (const { name, bytes, statuses } of brokenRequests(endpoint.url)) {
      const status = await sendBytes(endpoint.url, bytes, 500);
      if (status !== undefined && !statuses.includes(status)) wrong.push(`${name}: ${status}`);
    }
    expect(wrong).toEqual([]);
    await expectService();
  });

  it.each(departures)('that leaves %s harms nobody, and its call is answered to nobody', async (departure) => {
    const session = await openSession(endpoint.url);
    const headers = { 'mcp-session-id': session.sessionId ?? '' };
    const body = call(1, 'progress', { count: 3, delayMs: 20 }).replace(
      '"params":{',
      '"params":{"_meta":{"progressToken":1},',
    );
    await Promise.all(
      Array.from({ length: 20 }, (_value, index) =>
        departIn(departure, endpoint.url, body.replace('"id":1', `"id":${index}`), headers),
      ),
    );
    await until('nothing is on its way', () => endpoint.dispatcher.stats().inFlight === 0);
    await expectService();
  });

  it('with half requests holds nobody up', async () => {
    const connections = await openHalfRequests(endpoint.url, 200);
    await expectService();
    for (const connection of connections) connection.destroy();
  });

  it('with a thousand streams of one session has one', async () => {
    const session = await openSession(endpoint.url);
    const before = endpoint.dispatcher.stats().streams;
    const { connections, statuses } = await openManyGets(endpoint.url, 1000, {
      'mcp-session-id': session.sessionId ?? '',
    });
    expect(new Set(statuses)).toEqual(new Set([200]));
    await until(
      'all but one have ended',
      () =>
        connections.filter(({ socket }) => !socket.readableEnded).length <= 1 ||
        endpoint.dispatcher.stats().streams === before + 1,
    );
    expect(endpoint.dispatcher.stats().streams).toBe(before + 1);
    for (const connection of connections) connection.destroy();
    await expectService();
  });

  it('cannot guess a session', async () => {
    const session = await openSession(endpoint.url);
    expect(await guessSessions(endpoint.url, 100, session.sessionId)).toEqual(new Set([404]));
    expect(await session.callText('echo', { message: 'mine' })).toBe('mine');
  });

  it('may send many requests at once on one connection, and gets the answers in that order', async () => {
    const session = await openSession(endpoint.url);
    const bodies = Array.from({ length: 20 }, (_value, index) =>
      index % 2 === 0
        ? call(index, 'delay', { ms: 60 - index, message: `answer ${index}` })
        : call(index, 'echo', { message: `answer ${index}` }),
    );
    const responses = await pipeline(endpoint.url, bodies, {
      'mcp-session-id': session.sessionId ?? '',
      accept: 'application/json',
    });
    expect(responses.map(({ body }) => (JSON.parse(body.toString()) as { id: number }).id)).toEqual(
      bodies.map((_body, index) => index),
    );
    responses.forEach(({ status, body }, index) => {
      expect(status).toBe(200);
      expect(body.toString()).toContain(`answer ${index}`);
    });
  });

  it('with an endless body is stopped at the limit', async () => {
    const status = await sendEndlessBody(endpoint.url, 64 * 1024 * 1024);
    expect([413, undefined]).toContain(status);
    await expectService();
  });

  it('that announces too much is refused before it sends anything', async () => {
    const target = targetOf(endpoint.url);
    const connection = await openRawConnection(target);
    await connection.write(postText(target, '', { 'content-length': String(1024 * 1024 + 1) }));
    const response = await connection.readResponse();
    expect([response.status, response.headers.get('connection')]).toEqual([413, 'close']);
    connection.destroy();
  });

  it('that does not read delays nobody', async () => {
    const session = await openSession(endpoint.url);
    const headers = { 'mcp-session-id': session.sessionId ?? '' };
    const slow = await Promise.all(
      Array.from({ length: 4 }, (_value, index) =>
        openSlowReader(endpoint.url, call(`slow ${index}`, 'large', { bytes: 4_000_000 }), headers),
      ),
    );
    await until('the answers are stuck', () => endpoint.dispatcher.flow.size >= 4);
    const started = performance.now();
    await expectService();
    expect(performance.now() - started).toBeLessThan(5000);
    for (const connection of slow) connection.destroy();
    await until('nobody lags behind', () => endpoint.dispatcher.flow.size === 0);
  });

  it('that answers what nobody asked changes nothing', async () => {
    const session = await openSession(endpoint.url);
    for (const id of [0, 1, 'x', -1]) {
      const response = await session.post({ jsonrpc: '2.0', id, result: { forged: true } });
      expect(response.status).toBe(202);
      response.body.resume();
    }
    expect(await seenByServer()).not.toContain('forged');
  });

  it('that ends its session twice gets 404', async () => {
    const session = await openSession(endpoint.url);
    expect([(await session.close()).status, (await session.close()).status]).toEqual([204, 404]);
  });

  it('that asks for streams of all kinds on one connection is answered in order', async () => {
    const target = targetOf(endpoint.url);
    const connection = await openRawConnection(target);
    await connection.write(`${getText(target)}${getText(target, {}, 'DELETE')}${getText(target, {}, 'PUT')}`);
    expect([
      (await connection.readResponse()).status,
      (await connection.readResponse()).status,
      (await connection.readResponse()).status,
    ]).toEqual([400, 400, 405]);
    connection.destroy();
  });
});
