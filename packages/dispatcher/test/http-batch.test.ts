import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { splitArray } from '@thv/transport';
import { isArray, joinArray } from '../src/http/batch.js';
import { settled } from './support/clock.js';
import { BOTH, openSession, post } from './support/http.js';
import type { Endpoint } from './support/http.js';
import { shared } from './support/shared.js';

const call = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { id } });
let endpoint: Endpoint | undefined;
afterEach(() => endpoint?.close());

describe.each(BOTH)('an array of messages at the endpoint for %s', (_name, open) => {
  async function setup(options: Parameters<typeof open>[1] = {}) {
    const backend = shared();
    endpoint = await open(backend.dispatcher, options);
    return { ...backend, endpoint };
  }

  it('of a session of 2025-03-26 is answered as one array', async () => {
    const { endpoint, connection } = await setup();
    const headers = { 'mcp-session-id': await openSession(endpoint, '2025-03-26') };
    const body = [call('a'), { jsonrpc: '2.0', method: 'vendor/note' }, call(2), { jsonrpc: '2.0', id: 9 }];
    const pending = post(endpoint, body, headers);
    while (connection.of('tools/call').length < 2) await settled();
    expect(connection.of('vendor/note')).toHaveLength(1);
    const [first, second] = connection.of('tools/call');
    connection.say({ jsonrpc: '2.0', id: second?.['id'], result: { n: 2 } });
    connection.say({ jsonrpc: '2.0', id: first?.['id'], result: { n: 1 } });
    const response = await pending;
    expect(response.status).toBe(200);
    const answers = (await response.json()) as Record<string, unknown>[];
    expect(answers).toMatchObject([
      { id: 'a', result: { n: 1 } },
      { id: 2, result: { n: 2 } },
      { error: { code: -32600 } },
    ]);
    expect(answers[2]).not.toHaveProperty('id');
  });

  it('without a session is answered when no newer version is named', async () => {
    const { endpoint, connection } = await setup();
    const pending = post(endpoint, [call(1)], { 'mcp-protocol-version': '2025-03-26' });
    while (connection.of('tools/call').length < 1) await settled();
    connection.answer('tools/call');
    expect(await (await pending).json()).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
  });

  it('of notifications alone gets 202', async () => {
    const { endpoint } = await setup();
    const response = await post(endpoint, [{ jsonrpc: '2.0', method: 'vendor/note' }]);
    expect([response.status, await response.text()]).toEqual([202, '']);
  });

  it.each([
    ['names a newer version', { 'mcp-protocol-version': '2025-06-18' }],
    ['names the era without sessions', { 'mcp-protocol-version': '2026-07-28' }],
  ])('that %s is refused', async (_what, headers) => {
    const { endpoint, connection } = await setup();
    const response = await post(endpoint, [call(1)], headers);
    expect(response.status).toBe(400);
    const body = (await response.json()) as Record<string, unknown>;
    expect(body).toMatchObject({ error: { code: -32600 } });
    expect(body).not.toHaveProperty('id');
    expect(connection.of('tools/call')).toEqual([]);
  });

  it('of a session of a newer version is refused', async () => {
    const { endpoint, connection } = await setup();
    const headers = { 'mcp-session-id': await openSession(endpoint) };
    expect((await post(endpoint, [call(1)], headers)).status).toBe(400);
    expect(connection.of('tools/call')).toEqual([]);
  });

  it.each([['[]'], ['[1'], ['  \n[{"jsonrpc"'], ['[{}] x'], [`[${'1,'.repeat(100)}1]`]])(
    'like %j is refused',
    async (text) => {
      const { endpoint } = await setup();
      const response = await post(endpoint, text);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: -32600 } });
    },
  );

  it('of an unknown session gets 404', async () => {
    const { endpoint } = await setup();
    expect((await post(endpoint, [call(1)], { 'mcp-session-id': 'nobody' })).status).toBe(404);
  });

  it('cannot hold initialize', async () => {
    const { endpoint } = await setup();
    const response = await post(endpoint, [{ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }]);
    expect(await response.json()).toMatchObject([{ id: 1, error: { code: -32600 } }]);
    expect(response.headers.get('mcp-session-id')).toBeNull();
  });

  it('asks the middlewares about every message', async () => {
    const seen: unknown[] = [];
    const { endpoint, connection } = await setup({
      middlewares: [
        {
          name: 'gate',
          handle: async (context, next) => {
            seen.push(context.message?.idText);
            if (context.message?.idText === '2') {
              return { kind: 'refuse', status: 403, error: { code: -32600, message: 'not this one' } };
            }
            return next();
          },
        },
      ],
    });
    const pending = post(endpoint, [call(1), call(2)]);
    while (connection.of('tools/call').length < 1) await settled();
    connection.answer('tools/call');
    expect(await (await pending).json()).toMatchObject([
      { id: 1, result: {} },
      { id: 2, error: { message: 'not this one' } },
    ]);
    expect(seen).toEqual(['1', '2']);
    expect(connection.of('tools/call')).toHaveLength(1);
  });
});

describe('joining an array', () => {
  it('gives back what splitting took apart', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 8 }), fc.constantFrom(undefined, 1, '\t'), (values, space) => {
        const body = Buffer.from(JSON.stringify(values, null, space));
        expect(isArray(body)).toBe(true);
        const elements = splitArray(body) ?? [];
        expect(JSON.parse(joinArray(elements).toString())).toEqual(JSON.parse(body.toString()));
      }),
    );
  });

  it.each(['', '{}', 'x[', '"["', '\u00a0['])('does not take %j for one', (text) => {
    expect(isArray(Buffer.from(text))).toBe(false);
  });
});
