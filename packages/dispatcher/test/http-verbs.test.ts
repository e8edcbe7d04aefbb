import { afterEach, describe, expect, it } from 'vitest';
import { settled } from './support/clock.js';
import { BOTH, initializeBody, openSession, post } from './support/http.js';
import type { Endpoint } from './support/http.js';
import { shared } from './support/shared.js';

const MODERN = { 'mcp-protocol-version': '2026-07-28' };
const stranger = '00000000-0000-4000-8000-000000000000';
let endpoint: Endpoint | undefined;
afterEach(() => endpoint?.close());

describe.each(BOTH)('the verbs of the endpoint for %s', (_name, open) => {
  async function setup(options: Parameters<typeof open>[1] = {}) {
    const backend = shared();
    endpoint = await open(backend.dispatcher, options);
    return { ...backend, endpoint };
  }
  const body = async (response: Response) => JSON.parse(await response.text()) as Record<string, unknown>;

  it.each(['PUT', 'PATCH', 'OPTIONS'])('%s gets 405 with what is allowed', async (method) => {
    const { endpoint } = await setup();
    const response = await endpoint.fetch('/mcp', { method });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, POST, DELETE');
    expect(await body(response)).not.toHaveProperty('id');
  });

  it('HEAD gets 405 without a body', async () => {
    const { endpoint } = await setup();
    const response = await endpoint.fetch('/mcp', { method: 'HEAD' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, POST, DELETE']);
  });

  it.each(['GET', 'DELETE', 'HEAD'])('%s of the era without sessions gets 405', async (method) => {
    const { endpoint } = await setup();
    const session = await openSession(endpoint);
    const response = await endpoint.fetch('/mcp', { method, headers: { ...MODERN, 'mcp-session-id': session } });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  });

  it.each(['GET', 'DELETE'])('%s without a session id gets 400', async (method) => {
    const { endpoint } = await setup();
    const response = await endpoint.fetch('/mcp', { method });
    expect(response.status).toBe(400);
    expect(await body(response)).toMatchObject({ error: { code: -32600 } });
  });

  it.each(['GET', 'DELETE'])('%s of an unknown session gets 404 without an id', async (method) => {
    const { endpoint } = await setup();
    const response = await endpoint.fetch('/mcp', { method, headers: { 'mcp-session-id': stranger } });
    expect(response.status).toBe(404);
    expect(await body(response)).toEqual({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' } });
  });

  it('a second GET ends the first', async () => {
    const { endpoint } = await setup();
    const headers = { 'mcp-session-id': await openSession(endpoint) };
    const first = await endpoint.fetch('/mcp', { headers });
    const second = await endpoint.fetch('/mcp', { headers });
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(await first.text()).toBe('');
    await second.body?.cancel();
  });

  it('DELETE ends the stream of the session', async () => {
    const { endpoint } = await setup();
    const headers = { 'mcp-session-id': await openSession(endpoint) };
    const stream = await endpoint.fetch('/mcp', { headers });
    await endpoint.fetch('/mcp', { method: 'DELETE', headers });
    expect(await stream.text()).toBe('');
  });

  it.each([
    ['application/json', 406],
    ['text/html', 406],
    ['text/event-stream', 200],
    ['application/json, text/event-stream', 200],
    ['text/*', 200],
    ['*/*', 200],
  ])('GET that accepts %s gets %i', async (accept, status) => {
    const { endpoint } = await setup();
    const headers = { 'mcp-session-id': await openSession(endpoint), accept };
    const response = await endpoint.fetch('/mcp', { headers });
    expect(response.status).toBe(status);
    await response.body?.cancel();
  });

  it('GET gets 405 where standalone streams are off, DELETE still works', async () => {
    const { endpoint } = await setup({ standaloneStream: false });
    const headers = { 'mcp-session-id': await openSession(endpoint) };
    const response = await endpoint.fetch('/mcp', { headers });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, DELETE']);
    expect(await response.text()).toContain('SSE not supported on this endpoint');
    expect((await endpoint.fetch('/mcp', { method: 'DELETE', headers })).status).toBe(204);
  });

  it('without state gives out no session ids, ignores them, and has POST alone', async () => {
    const { endpoint, connection, dispatcher } = await setup({ stateless: true });
    const response = await post(endpoint, initializeBody());
    expect([response.status, response.headers.get('mcp-session-id')]).toEqual([200, null]);
    expect(dispatcher.stats().sessions).toBe(0);
    for (const method of ['GET', 'DELETE']) {
      const refused = await endpoint.fetch('/mcp', { method, headers: { 'mcp-session-id': stranger } });
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
    }
    const pending = post(endpoint, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'mcp-session-id': stranger });
    while (connection.of('tools/list').length === 0) await settled();
    connection.answer('tools/list');
    expect((await pending).status).toBe(200);
  });

  it.each(['/', '/mcp/', '/mcpx', '/metrics', '/.well-known/oauth-protected-resource'])(
    '%s is not there',
    async (path) => {
      const { endpoint } = await setup();
      const response = await endpoint.fetch(path);
      expect([response.status, await response.text()]).toEqual([404, '{"error":"not_found"}']);
    },
  );

  it('can be elsewhere, and takes a query', async () => {
    const { endpoint } = await setup({ path: '/servers/one' });
    expect((await post(endpoint, initializeBody(), {}, '/servers/one?x=1')).status).toBe(200);
    expect((await post(endpoint, initializeBody(), {}, '/mcp')).status).toBe(404);
  });

  it('GET /health says how the server is', async () => {
    const { endpoint, connection, dispatcher } = await setup();
    await dispatcher.start();
    const look = async () => {
      const response = await endpoint.fetch('/health');
      return [response.status, await body(response)] as const;
    };
    expect(await look()).toMatchObject([200, { status: 'healthy', transport: 'stdio', timestamp: expect.any(String) }]);
    connection.down({ retryAfterMs: 5000 });
    expect(await look()).toMatchObject([200, { status: 'degraded', mcp: { available: false } }]);
    connection.down({});
    expect(await look()).toMatchObject([503, { status: 'unhealthy' }]);
    expect((await endpoint.fetch('/health', { method: 'POST', body: '{}' })).status).toBe(405);
  });
});
