import { afterEach, describe, expect, it } from 'vitest';
import { settled } from './support/clock.js';
import { BOTH, SSE_HEADERS, initializeBody, openSession, post, readMessages } from './support/http.js';
import type { Endpoint } from './support/http.js';
import { shared } from './support/shared.js';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } };
let endpoint: Endpoint | undefined;
afterEach(() => endpoint?.close());

describe.each(BOTH)('the endpoint for %s', (_name, open) => {
  async function setup(options: Parameters<typeof open>[1] = {}, dispatcherOptions: Parameters<typeof shared>[0] = {}) {
    const backend = shared(dispatcherOptions);
    endpoint = await open(backend.dispatcher, options);
    return { ...backend, endpoint };
  }

  it('opens a session with an id of its own', async () => {
    const { endpoint } = await setup();
    const response = await post(endpoint, initializeBody());
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('mcp-session-id')).toMatch(uuid);
    expect(await response.json()).toMatchObject({ id: 'init', result: { protocolVersion: '2025-11-25' } });
  });

  it('answers a request as JSON when nothing precedes the answer', async () => {
    const { endpoint, connection } = await setup();
    const session = await openSession(endpoint);
    const pending = post(endpoint, call, { ...SSE_HEADERS, 'mcp-session-id': session });
    while (connection.of('tools/call').length === 0) await settled();
    connection.answer('tools/call', { content: [] });
    const response = await pending;
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    const text = await response.text();
    expect(response.headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    expect(JSON.parse(text)).toEqual({ jsonrpc: '2.0', id: 1, result: { content: [] } });
  });

  it('answers as a stream once progress precedes the answer, and in that order', async () => {
    const { endpoint, connection } = await setup();
    const session = await openSession(endpoint);
    const body = { ...call, params: { name: 'echo', _meta: { progressToken: 'mine' } } };
    const pending = post(endpoint, body, { ...SSE_HEADERS, 'mcp-session-id': session });
    while (connection.of('tools/call').length === 0) await settled();
    const sent = connection.last('tools/call') as { id: number; params: { _meta: { progressToken: unknown } } };
    const progressToken = sent.params._meta.progressToken;
    connection.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
    connection.answer('tools/call', {});
    const response = await pending;
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('cache-control')).toBe('no-cache, no-transform');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(await readMessages(response)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 'mine', progress: 1 } },
      { jsonrpc: '2.0', id: 1, result: {} },
    ]);
  });

  it('takes notifications with 202 and ends sessions with 204', async () => {
    const { endpoint } = await setup();
    const session = await openSession(endpoint);
    const headers = { 'mcp-session-id': session };
    const noted = await post(endpoint, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers);
    expect([noted.status, await noted.text()]).toEqual([202, '']);
    const deleted = await endpoint.fetch('/mcp', { method: 'DELETE', headers });
    expect([deleted.status, await deleted.text()]).toEqual([204, '']);
    const after = await post(endpoint, call, headers);
    expect(after.status).toBe(404);
    expect(await after.json()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32001, message: 'Session not found' },
    });
  });

  it('carries list changes and updates on the standalone stream', async () => {
    const { endpoint, connection } = await setup();
    const session = await openSession(endpoint);
    const stream = await endpoint.fetch('/mcp', {
      headers: { accept: 'text/event-stream', 'mcp-session-id': session },
    });
    expect(stream.status).toBe(200);
    expect(stream.headers.get('mcp-session-id')).toBe(session);
    connection.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    expect(await readMessages(stream, 1)).toEqual([{ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }]);
  });
});
