import { buildResult } from '@thv/transport';
import { afterEach, describe, expect, it } from 'vitest';
import { classify } from '../src/index.js';
import type { ModernEdge } from '../src/http/index.js';
import { message } from './support/client.js';
import { BOTH, initializeBody, post } from './support/http.js';
import type { Endpoint } from './support/http.js';
import { shared } from './support/shared.js';

const P = 'io.modelcontextprotocol/';
const MODERN = '2026-07-28';
const whole = {
  [`${P}protocolVersion`]: MODERN,
  [`${P}clientInfo`]: { name: 'c', version: '1' },
  [`${P}clientCapabilities`]: {},
};
const request = (method: string, meta?: Record<string, unknown>, params: Record<string, unknown> = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: meta === undefined ? params : { ...params, _meta: meta },
});

describe('the era of a request', () => {
  it.each<[string, ReturnType<typeof request>, string | undefined, string | number]>([
    ['nothing', request('tools/list'), undefined, 'legacy'],
    ['an older header', request('tools/list'), '2025-06-18', 'legacy'],
    ['an unknown header', request('tools/list'), '2099-01-01', 'legacy'],
    ['a progress token', request('tools/list', { progressToken: 1 }), undefined, 'legacy'],
    ['the log level alone', request('tools/list', { [`${P}logLevel`]: 'info' }), undefined, 'legacy'],
    ['initialize', request('initialize'), undefined, 'legacy'],
    ['everything', request('tools/list', whole), MODERN, 'modern'],
    ['everything but the header', request('tools/list', whole), undefined, 'modern'],
    ['initialize with a claim', request('initialize', whole), MODERN, 'modern'],
    ['the header alone', request('tools/list'), MODERN, -32602],
    ['client info alone', request('tools/list', { [`${P}clientInfo`]: {} }), undefined, -32602],
    ['client info with an older header', request('tools/list', { [`${P}clientInfo`]: {} }), '2025-11-25', 'legacy'],
    ['client info with the newer header', request('tools/list', { [`${P}clientInfo`]: {} }), MODERN, -32602],
    ['an empty version', request('tools/list', { ...whole, [`${P}protocolVersion`]: '' }), undefined, -32602],
    ['a version that is no text', request('tools/list', { ...whole, [`${P}protocolVersion`]: 1 }), undefined, -32602],
    ['an older version', request('tools/list', { ...whole, [`${P}protocolVersion`]: '2025-11-25' }), undefined, -32022],
    ['a newer version', request('tools/list', { ...whole, [`${P}protocolVersion`]: '2099-01-01' }), undefined, -32022],
    [
      'a newer version than the header',
      request('tools/list', { ...whole, [`${P}protocolVersion`]: '2099-01-01' }),
      MODERN,
      -32020,
    ],
    ['another header than body', request('tools/list', whole), '2025-11-25', -32020],
    ['initialize with the newer header', request('initialize'), MODERN, -32020],
    ['no capabilities', request('tools/list', { [`${P}protocolVersion`]: MODERN }), MODERN, -32602],
    [
      'capabilities that are no object',
      request('tools/list', { ...whole, [`${P}clientCapabilities`]: [] }),
      MODERN,
      -32602,
    ],
  ])('with %s', (_what, json, header, expected) => {
    const era = classify(message(json), header);
    expect(era.era === 'invalid' ? era.error.code : era.era).toBe(expected);
  });

  it('is seen through escapes', () => {
    const text = JSON.stringify(request('tools/list', whole)).replaceAll(
      'modelcontextprotocol',
      '\\u006dodelcontextprotocol',
    );
    expect(classify(message(text), MODERN).era).toBe('modern');
  });
});

let endpoint: Endpoint | undefined;
afterEach(() => endpoint?.close());

describe.each(BOTH)('a request of the era without sessions at the endpoint for %s', (_name, open) => {
  it('is told which versions are served where that one is not', async () => {
    const { dispatcher, connection } = shared();
    endpoint = await open(dispatcher);
    for (const body of [request('server/discover', whole), request('tools/list')]) {
      const response = await post(endpoint, body, { 'mcp-protocol-version': MODERN });
      expect(response.status).toBe(400);
      expect(await response.json()).toEqual({
        jsonrpc: '2.0',
        id: 1,
        error: {
          code: -32022,
          message: `Unsupported protocol version: ${MODERN}`,
          data: { supported: ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'], requested: MODERN },
        },
      });
    }
    expect(connection.sent).toEqual([]);
    expect((await post(endpoint, initializeBody())).status).toBe(200);
  });

  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': 'echo' };
  const encoded = { ...headers, 'mcp-name': `=?base64?${Buffer.from('né').toString('base64')}?=` };
  const call = (name: string) => request('tools/call', whole, { name });
  it.each<[string, unknown, Record<string, string>, number, number | undefined]>([
    ['everything right', call('echo'), headers, 200, undefined],
    ['an encoded name', call('né'), encoded, 200, undefined],
    ['no version header', call('echo'), { 'mcp-method': 'tools/call', 'mcp-name': 'echo' }, 400, -32020],
    ['no method header', call('echo'), { 'mcp-protocol-version': MODERN, 'mcp-name': 'echo' }, 400, -32020],
    ['another method', call('echo'), { ...headers, 'mcp-method': 'tools/list' }, 400, -32020],
    ['another name', call('other'), headers, 400, -32020],
    ['no name', call('echo'), { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call' }, 400, -32020],
    ['initialize', request('initialize', whole), { ...headers, 'mcp-method': 'initialize' }, 404, -32601],
  ])('with %s reaches the part that serves it, or is refused', async (_what, body, sent, status, code) => {
    const seen: unknown[] = [];
    const modern: ModernEdge = {
      supportedVersions: [MODERN],
      request: (received, reply, context) => {
        seen.push([received.method, context.httpMethod]);
        reply.settle({ kind: 'answer', message: buildResult(received.idText ?? '0', { era: 'modern' }) });
      },
    };
    const { dispatcher, connection } = shared();
    endpoint = await open(dispatcher, { modern });
    const response = await post(endpoint, body, { ...sent, 'mcp-session-id': 'ignored' });
    expect(response.status).toBe(status);
    expect(response.headers.get('mcp-session-id')).toBeNull();
    const json = (await response.json()) as { error?: { code: number } };
    expect(json.error?.code).toBe(code);
    expect(seen).toEqual(code === undefined ? [['tools/call', 'POST']] : []);
    expect(connection.sent).toEqual([]);
  });
});
