import { isAlive, losslessResult, openSession, until, within } from '@thv/doubles';
import { afterEach, describe, expect, it } from 'vitest';
import { realEndpoint } from './support/real.js';
import type { RealEndpoint, RealOptions } from './support/real.js';

let endpoint: RealEndpoint | undefined;
afterEach(() => endpoint?.close());
const open = async (options: RealOptions = {}) => (endpoint = await realEndpoint(options));
const progressIn = (messages: readonly { method?: string }[]) =>
  messages.filter(({ method }) => method === 'notifications/progress').length;

describe('a real server behind a real socket', () => {
  it('gives 200 sessions at once their own answers', async () => {
    const { url, connections } = await open();
    const sessions = await Promise.all(
      Array.from({ length: 200 }, (_value, index) => openSession(url, { clientName: `c${index}` })),
    );
    const answers = await Promise.all(
      sessions.map((session, index) => session.callText('echo', { message: `message ${index}` })),
    );
    expect(answers).toEqual(sessions.map((_session, index) => `message ${index}`));
    expect(new Set(sessions.map(({ sessionId }) => sessionId)).size).toBe(200);
    expect(connections).toHaveLength(1);
  });

  it('needs only one initialize, although it would not survive a second', async () => {
    const { url } = await open({ script: { secondInitialize: 'exit' } });
    const sessions = await Promise.all([openSession(url), openSession(url), openSession(url)]);
    expect(await Promise.all(sessions.map((session) => session.callText('echo', { message: 'x' })))).toEqual([
      'x',
      'x',
      'x',
    ]);
  });

  it('loses no byte of an answer', async () => {
    const { url } = await open({ script: { splitBytes: 1 } });
    const session = await openSession(url, { jsonOnly: true });
    const { text } = await session.request('tools/call', { name: 'lossless', arguments: {} });
    expect(text).toContain(losslessResult);
  });

  it.each([true, false])('gives all progress before the answer, in one chunk with it: %s', async (sameChunk) => {
    const { url } = await open();
    const session = await openSession(url);
    const { messages } = await session.request('tools/call', {
      name: 'progress',
      arguments: { count: 3, delayMs: sameChunk ? 0 : 5, sameChunk },
      _meta: { progressToken: 'mine' },
    });
    expect(progressIn(messages)).toBe(3);
    expect(messages.map(({ params }) => params?.progressToken).slice(0, 3)).toEqual(['mine', 'mine', 'mine']);
    expect(messages.at(-1)).toHaveProperty('result');
  });

  it('cannot push progress to a request that is not its own', async () => {
    const { url } = await open();
    const [alice, bob] = await Promise.all([openSession(url), openSession(url)]);
    const waiting = bob.request('tools/call', {
      name: 'delay',
      arguments: { ms: 300, message: 'done' },
      _meta: { progressToken: 'x' },
    });
    await alice.request('tools/call', {
      name: 'progress',
      arguments: { count: 3, token: 'x' },
      _meta: { progressToken: 'x' },
    });
    expect(progressIn((await waiting).messages)).toBe(0);
  });

  it('with wrong, doubled and invented ids confuses nobody', async () => {
    const { url } = await open();
    const session = await openSession(url);
    await session.request('tools/call', { name: 'wrong-ids', arguments: { ids: [1, 2, 3, 999, '1', 'x', -5] } });
    expect(await session.callText('duplicate', { times: 5 })).toBeTypeOf('string');
    expect(await session.callText('echo', { message: 'still here' })).toBe('still here');
  });

  it('that floods with notifications still answers', async () => {
    const { url, dispatcher } = await open();
    const session = await openSession(url);
    const params = { level: 'info', data: 'x'.repeat(100) };
    await session.request('tools/call', {
      name: 'flood',
      arguments: { method: 'notifications/message', params, count: 20_000 },
    });
    expect(await session.callText('echo', { message: 'dry' })).toBe('dry');
    expect(dispatcher.stats().drops['unattributed-log']).toBe(20_000);
  });

  it('sees a cancellation with the id that it knows', async () => {
    const { url, dispatcher } = await open();
    const session = await openSession(url);
    const call = { jsonrpc: '2.0', id: 'mine', method: 'tools/call', params: { name: 'no-answer', arguments: {} } };
    const pending = session.post(call);
    await until('the call is on its way', () => dispatcher.stats().inFlight > 0);
    await session.notify('notifications/cancelled', { requestId: 'mine', reason: 'enough' });
    expect((await pending).headers['content-type']).toBe('text/event-stream');
    const stats = JSON.parse(await session.callText('stats')) as { cancelled?: unknown[] };
    expect(JSON.stringify(stats)).toContain('enough');
    expect(JSON.stringify(stats)).not.toContain('"mine"');
  });

  it('that dies fails its requests at once, and is back with the same sessions', async () => {
    const { url } = await open({ restartMs: 100 });
    const session = await openSession(url, { jsonOnly: true });
    const started = performance.now();
    const waiting = session.request('tools/call', { name: 'no-answer', arguments: {} });
    const crash = await session.request('tools/call', { name: 'crash', arguments: { how: 3 } });
    expect([crash.status, (await waiting).status]).toEqual([502, 502]);
    expect(crash.message?.error).toMatchObject({ code: -32603, data: { exitCode: 3, restarting: true } });
    expect(performance.now() - started).toBeLessThan(5000);
    const answer = await until('the server is back', async () => {
      const { status, message, headers } = await session.request('tools/call', {
        name: 'echo',
        arguments: { message: 'back' },
      });
      if (status === 503) expect(headers['retry-after']).toBe('1');
      return status === 200 && message;
    });
    expect(JSON.stringify(answer)).toContain('back');
  });

  it.each(['initialize', 'call', 'mid-call', 'start'] as const)('that dies at %s is an error soon', async (at) => {
    const { url } = await open({ script: { crash: { at, how: 1 } } });
    const attempt = openSession(url, { jsonOnly: true }).then((session) =>
      session.request('tools/call', { name: 'echo', arguments: { message: 'x' } }),
    );
    const outcome = await within(
      5000,
      'an error',
      attempt.catch((error: unknown) => String(error)),
    );
    if (typeof outcome === 'string') expect(outcome).toMatch(/HTTP 50[23]/);
    else expect(outcome.status).toBe(502);
  });

  it('that ends at once says why to whoever waits for it', async () => {
    const { dispatcher } = await open({
      script: { stderrLines: ['cannot find my config'], crash: { at: 'start', how: 1 } },
    });
    const error = await dispatcher.ready().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ code: 'ERR_DISPATCHER_HANDSHAKE', details: { data: { exitCode: 1 } } });
    expect(JSON.stringify(error)).toContain('cannot find my config');
  });

  it('that closes its output is dead', async () => {
    const { url } = await open();
    const session = await openSession(url, { jsonOnly: true });
    const answer = await within(
      5000,
      'an answer',
      session.request('tools/call', { name: 'close-stdout', arguments: {} }),
    );
    expect(answer.status).toBe(502);
  });

  it('that reads nothing makes new requests fail, not the proxy grow', async () => {
    const { url, dispatcher } = await open({ dispatcher: { requestTimeoutMs: 4000, maxQueuedMessages: 5 } });
    const session = await openSession(url, { jsonOnly: true });
    void session.request('tools/call', { name: 'block', arguments: { ms: 3000 } });
    const big = { name: 'echo', arguments: { message: 'x'.repeat(400_000) } };
    const answers = await Promise.all(Array.from({ length: 30 }, () => session.request('tools/call', big)));
    const statuses = new Set(answers.map(({ status }) => status));
    expect(statuses).toContain(503);
    expect(answers.find(({ status }) => status === 503)?.headers['retry-after']).toBe('1');
    expect(dispatcher.stats().queued).toBeLessThanOrEqual(5);
  });

  it('that cannot be started is 503 with the reason', async () => {
    const { origin, url } = await open({ command: { command: '/nowhere/server', args: [] } });
    await expect(openSession(url)).rejects.toThrow(/HTTP 503.*\/nowhere\/server/);
    expect((await fetch(`${origin}/health`)).status).toBe(200);
  });
});

describe('a process for each session', () => {
  const session = { dispatcher: { isolation: 'session' as const } };

  it('asks its own client, on the stream of the call', async () => {
    const { url } = await open(session);
    const client = await openSession(url, { capabilities: { roots: {}, sampling: {} } });
    const response = await client.post({
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: { name: 'ask', arguments: { method: 'roots/list', params: {}, timeoutMs: 5000 } },
    });
    const { createSseReader } = await import('@thv/doubles');
    const events = createSseReader(response.body);
    const asked = JSON.parse((await events.next())?.data ?? '{}') as { id: unknown; method: string };
    expect(asked.method).toBe('roots/list');
    const taken = await client.post({ jsonrpc: '2.0', id: asked.id, result: { roots: [{ uri: 'file:///mine' }] } });
    expect(taken.status).toBe(202);
    const [answer] = await events.rest();
    expect(answer?.data).toContain('file:///mine');
  });

  it('ends with its session, and on close nothing is left', async () => {
    const { url, connections, close } = await open(session);
    const [alice] = [await openSession(url), await openSession(url)];
    const pids = connections.map(({ pid }) => pid ?? 0);
    expect(new Set(pids).size).toBe(2);
    expect((await alice?.close())?.status).toBe(204);
    await until('the first process is gone', () => !isAlive(pids[0] ?? 0));
    expect(isAlive(pids[1] ?? 0)).toBe(true);
    await close();
    expect(pids.filter((pid) => isAlive(pid))).toEqual([]);
  });

  it('that dies ends its session alone: 404, so that the client begins anew', async () => {
    const { url } = await open(session);
    const [alice, bob] = [await openSession(url, { jsonOnly: true }), await openSession(url)];
    expect((await alice.request('tools/call', { name: 'crash', arguments: { how: 1 } })).status).toBe(502);
    expect((await alice.request('tools/list')).status).toBe(404);
    expect(await bob.callText('echo', { message: 'alive' })).toBe('alive');
  });

  it('answers the 33rd with 503 and the time to wait', async () => {
    const { url } = await open({ dispatcher: { isolation: 'session', maxSessions: 3 } });
    await Promise.all([openSession(url), openSession(url), openSession(url)]);
    const refused = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}',
    });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await refused.json()).toMatchObject({ id: 1, error: { code: -32603 } });
  });
});
