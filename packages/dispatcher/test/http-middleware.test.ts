import type { Middleware, Verdict } from '@thv/transport';
import { afterEach, describe, expect, it } from 'vitest';
import { settled } from './support/clock.js';
import { message } from './support/client.js';
import { BOTH, SSE_HEADERS, initializeBody, openSession, post, readMessages } from './support/http.js';
import type { Endpoint } from './support/http.js';
import { perSession } from './support/sessions.js';
import { shared } from './support/shared.js';

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} };
let endpoint: Endpoint | undefined;
afterEach(() => endpoint?.close());

/** Takes `authorization` for the subject, and refuses without one. */
const authentication: Middleware = {
  name: 'authentication',
  handle: async (context, next) => {
    const { authorization } = context.headers;
    if (typeof authorization !== 'string') {
      return { kind: 'refuse', status: 401, headers: { 'www-authenticate': 'Bearer' } };
    }
    context.principal = { subject: authorization };
    return next();
  },
};

describe.each(BOTH)('the middlewares of the endpoint for %s', (_name, open) => {
  async function setup(middlewares: readonly Middleware[], warnings: string[] = []) {
    const backend = shared();
    endpoint = await open(backend.dispatcher, { middlewares, onWarning: (text) => warnings.push(text) });
    return { ...backend, endpoint };
  }

  it('are asked from the outside in, for every verb', async () => {
    const steps: string[] = [];
    const named = (name: string): Middleware => ({
      name,
      handle: async ({ httpMethod, path, message }, next) => {
        steps.push(`${name} ${httpMethod} ${path} ${message?.method ?? '-'}`);
        const verdict = await next();
        steps.push(`${name} ${verdict.kind}`);
        return verdict;
      },
    });
    const { endpoint } = await setup([named('outer'), { name: 'idle' }, named('inner')]);
    await openSession(endpoint);
    expect(steps).toEqual(['outer POST /mcp initialize', 'inner POST /mcp initialize', 'inner pass', 'outer pass']);
    steps.length = 0;
    await endpoint.fetch('/mcp');
    await endpoint.fetch('/mcp', { method: 'DELETE' });
    expect(steps.filter((step) => step.startsWith('inner '))).toEqual([
      'inner GET /mcp -',
      'inner pass',
      'inner DELETE /mcp -',
      'inner pass',
    ]);
    steps.length = 0;
    await endpoint.fetch('/health');
    expect(steps).toEqual([]);
  });

  it('refuse with status, headers and the id of the request', async () => {
    const refusal: Verdict = {
      kind: 'refuse',
      status: 403,
      headers: { 'x-why': 'rules' },
      error: { code: 403, message: 'no' },
    };
    const { endpoint, connection } = await setup([{ name: 'gate', handle: async () => refusal }]);
    const response = await post(endpoint, call);
    expect([response.status, response.headers.get('x-why')]).toEqual([403, 'rules']);
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, error: { code: 403, message: 'no' } });
    expect(connection.sent).toEqual([]);
  });

  it.each([
    ['an unknown session', call, { 'mcp-session-id': 'nobody' }],
    ['a body that is no JSON', '{', {}],
    ['a body of another type', call, { 'content-type': 'text/plain' }],
    ['a notification', { jsonrpc: '2.0', method: 'x' }, {}],
  ])('refuse before %s is looked at', async (_what, body, headers: Record<string, string>) => {
    const { endpoint } = await setup([authentication]);
    const response = await post(endpoint, body, headers);
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });

  it('let through what they know, and then a stale session is 404', async () => {
    const { endpoint } = await setup([authentication]);
    const response = await post(endpoint, call, { authorization: 'alice', 'mcp-session-id': 'nobody' });
    expect(response.status).toBe(404);
    expect((await post(endpoint, '{', { authorization: 'alice' })).status).toBe(400);
  });

  it('bind a session to its principal', async () => {
    const { endpoint } = await setup([authentication]);
    const opened = await post(endpoint, initializeBody(), { authorization: 'alice' });
    const session = opened.headers.get('mcp-session-id') ?? '';
    for (const method of ['GET', 'DELETE']) {
      const stolen = await endpoint.fetch('/mcp', {
        method,
        headers: { authorization: 'bob', 'mcp-session-id': session },
      });
      expect(stolen.status).toBe(404);
    }
    const own = await endpoint.fetch('/mcp', {
      method: 'DELETE',
      headers: { authorization: 'alice', 'mcp-session-id': session },
    });
    expect(own.status).toBe(204);
  });

  it('may replace the message', async () => {
    const renamed = message({ ...call, params: { name: 'renamed' } });
    const { endpoint, connection } = await setup([
      { name: 'rename', handle: async () => ({ kind: 'pass', message: renamed }) },
    ]);
    const pending = post(endpoint, call);
    while (connection.of('tools/call').length === 0) await settled();
    expect(connection.last('tools/call')['params']).toEqual({ name: 'renamed' });
    connection.answer('tools/call');
    await pending;
  });

  it('see what leaves from the inside out, and may change or drop it', async () => {
    const steps: string[] = [];
    const frames = (name: string, filter: Middleware['onFrame']): Middleware => ({
      name,
      onFrame: (frame, context) => {
        steps.push(`${name} ${frame.method ?? 'answer'} for ${context.message?.method ?? 'stream'}`);
        return filter?.(frame, context);
      },
    });
    const { endpoint, connection } = await setup([
      frames('outer', (frame) => frame),
      frames('inner', (frame) => (frame.method === 'notifications/progress' ? undefined : frame)),
    ]);
    const headers = { ...SSE_HEADERS, 'mcp-session-id': await openSession(endpoint) };
    steps.length = 0;
    const pending = post(endpoint, { ...call, params: { _meta: { progressToken: 1 } } }, headers);
    while (connection.of('tools/call').length === 0) await settled();
    const progressToken = connection.last('tools/call')['id'];
    connection.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
    connection.answer('tools/call');
    expect(await (await pending).json()).toMatchObject({ id: 1, result: {} });
    const stream = await endpoint.fetch('/mcp', { headers: { 'mcp-session-id': headers['mcp-session-id'] } });
    connection.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect(await readMessages(stream, 1)).toHaveLength(1);
    expect(steps).toEqual([
      'inner notifications/progress for tools/call',
      'inner answer for tools/call',
      'outer answer for tools/call',
      'inner notifications/tools/list_changed for stream',
      'outer notifications/tools/list_changed for stream',
    ]);
  });

  it.each([
    ['drops the answer', () => undefined],
    [
      'throws',
      () => {
        throw new Error('broken filter');
      },
    ],
  ])('that %s let nothing out unfiltered, but an answer', async (_what, onFrame) => {
    const { endpoint, connection } = await setup([{ name: 'filter', onFrame }]);
    const pending = post(endpoint, call);
    while (connection.of('tools/call').length === 0) await settled();
    connection.answer('tools/call', { secret: true });
    const body = (await (await pending).json()) as Record<string, unknown>;
    expect(body).toMatchObject({ id: 1, error: { code: -32603 } });
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('that throw refuse with 500, and the next request works', async () => {
    const warnings: string[] = [];
    let broken = true;
    const { endpoint } = await setup(
      [
        {
          name: 'fragile',
          handle: async (_context, next) => {
            if (broken) throw new Error('fell over');
            return next();
          },
        },
      ],
      warnings,
    );
    const response = await post(endpoint, call);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32603 } });
    expect(warnings.join()).toContain('fell over');
    broken = false;
    expect((await post(endpoint, initializeBody())).status).toBe(200);
  });

  it('that make up headers which HTTP does not have are a fault of one request', async () => {
    const warnings: string[] = [];
    const headers = { 'bad name': 'x' };
    const { endpoint } = await setup(
      [{ name: 'odd', handle: async () => ({ kind: 'refuse', status: 403, headers }) }],
      warnings,
    );
    for (const body of [call, '{']) expect((await post(endpoint, body)).status).toBe(500);
    expect((await endpoint.fetch('/mcp', { method: 'DELETE' })).status).toBe(500);
    expect(warnings).toHaveLength(3);
  });

  it('are closed from the inside out', async () => {
    const closed: string[] = [];
    const named = (name: string): Middleware => ({ name, close: async () => void closed.push(name) });
    await setup([named('outer'), named('inner')]);
    await endpoint?.close();
    expect(closed).toEqual(['inner', 'outer']);
  });

  it('see the answers of the client to what the server asks', async () => {
    const seen: unknown[] = [];
    const backend = perSession();
    endpoint = await open(backend.dispatcher, {
      middlewares: [
        { name: 'audit', onClientResponse: (answer, { sessionId }) => seen.push([answer.idText, sessionId]) },
      ],
    });
    const init = initializeBody();
    const opened = await post(endpoint, { ...init, params: { ...init.params, capabilities: { roots: {} } } });
    const session = opened.headers.get('mcp-session-id') ?? '';
    const headers = { ...SSE_HEADERS, 'mcp-session-id': session };
    const pending = post(endpoint, call, headers);
    const [connection] = backend.connections;
    while (connection?.of('tools/call').length === 0) await settled();
    connection?.say({ jsonrpc: '2.0', id: 's1', method: 'roots/list' });
    const forged = await post(endpoint, { jsonrpc: '2.0', id: 'other', result: {} }, headers);
    expect(forged.status).toBe(400);
    expect(await forged.json()).not.toHaveProperty('id');
    expect((await post(endpoint, { jsonrpc: '2.0', id: 's1', result: { roots: [] } }, headers)).status).toBe(202);
    connection?.answer('tools/call');
    expect(await readMessages(await pending)).toMatchObject([{ id: 's1', method: 'roots/list' }, { id: 1 }]);
    expect(seen).toEqual([['"s1"', session]]);
  });

  it('can tell when the client is gone', async () => {
    const signals: AbortSignal[] = [];
    const { endpoint } = await setup([
      {
        name: 'watch',
        handle: async (context, next) => {
          signals.push(context.signal);
          return next();
        },
      },
    ]);
    const session = await openSession(endpoint);
    const stream = await endpoint.fetch('/mcp', { headers: { 'mcp-session-id': session } });
    const signal = signals.at(-1);
    expect(signal?.aborted).toBe(false);
    const gone = new Promise((resolve) => signal?.addEventListener('abort', resolve));
    await stream.body?.cancel();
    await gone;
    expect(signal?.aborted).toBe(true);
  });
});
