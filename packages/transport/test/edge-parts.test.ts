import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSseReader } from '@thv/doubles';
import {
  LEGACY_VERSIONS,
  MCP_HEADERS,
  MODERN_VERSION,
  RPC_CODES,
  SSE_HEADERS,
  createOriginPolicy,
  decodeHeaderValue,
  encodeHeaderValue,
  encodeSseComment,
  encodeSseEvent,
  healthResponse,
  isKnownVersion,
  isLoopback,
} from '../src/index.js';

describe('versions, headers and codes', () => {
  it('are those of the protocol', () => {
    expect(LEGACY_VERSIONS.at(-1)).toBe('2025-11-25');
    expect([...LEGACY_VERSIONS, MODERN_VERSION].every(isKnownVersion)).toBe(true);
    expect(['', '2025-01-01', '2026-07-28 ', 'DRAFT'].some(isKnownVersion)).toBe(false);
    expect(Object.values(MCP_HEADERS).every((name) => name === name.toLowerCase())).toBe(true);
    expect(new Set(Object.values(RPC_CODES)).size).toBe(Object.keys(RPC_CODES).length);
  });
});

describe('a header value', () => {
  it('comes back as it was, and is always a legal header', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.constantFrom('=?base64?YQ==?=', 'é', ' a ', '')),
        (value) => {
          const header = encodeHeaderValue(value);
          expect(header).toMatch(/^[\x21-\x7E]+$/);
          expect(decodeHeaderValue(header)).toBe(value);
        },
      ),
    );
  });

  it.each([
    ['echo', 'echo'],
    ['file:///a%20b', 'file:///a%20b'],
    ['two words', '=?base64?dHdvIHdvcmRz?='],
    ['=?base64?YQ==?=', '=?base64?PT9iYXNlNjQ/WVE9PT89?='],
  ])('writes %j as %s', (value, header) => {
    expect(encodeHeaderValue(value)).toBe(header);
  });

  it.each(['=?base64?a?=', '=?base64?YQ?=', '=?base64?Y Q==?=', '=?base64?/w==?='])(
    'refuses the broken %s',
    (header) => {
      expect(decodeHeaderValue(header)).toBeUndefined();
    },
  );

  it('reads a value that needs no encoding, with spaces inside too', () => {
    expect(decodeHeaderValue('two words')).toBe('two words');
    expect(decodeHeaderValue('=?BASE64?YQ==?=')).toBe('=?BASE64?YQ==?=');
  });
});

describe('an event', () => {
  it('is read as it was written', async () => {
    const field = fc.string({ unit: 'grapheme' }).filter((text) => !/[\r\n\0]/.test(text));
    await fc.assert(
      fc.asyncProperty(
        fc
          .array(fc.constantFrom('a', '漢', '\n', '\r\n', '\r', ' ', ':', '{"x":1}', ''))
          .map((parts) => parts.join('')),
        fc.option(field, { nil: undefined }),
        fc.option(fc.nat(), { nil: undefined }),
        async (data, id, retryMs) => {
          const event = {
            data,
            event: 'message',
            ...(id === undefined ? {} : { id }),
            ...(retryMs === undefined ? {} : { retryMs }),
          };
          const bytes = encodeSseEvent(event);
          async function* body() {
            for (const byte of Buffer.concat([encodeSseComment('keep-alive'), bytes])) yield Uint8Array.of(byte);
          }
          const events = await createSseReader(body()).rest();
          expect(events).toHaveLength(1);
          expect(events[0]).toMatchObject({
            event: 'message',
            data: data.replaceAll(/\r\n|\r/g, '\n'),
            id,
            retry: retryMs?.toString(),
            comments: ['keep-alive'],
          });
        },
      ),
      { numRuns: 200 },
    );
  });

  it('spells its name out and keeps the bytes of its data', () => {
    expect(encodeSseEvent({ data: Buffer.from('{"a":"\u2028"}') }).toString()).toBe(
      'event: message\ndata: {"a":"\u2028"}\n\n',
    );
    expect(encodeSseEvent({ event: 'endpoint', data: '/x', id: '1.2', retryMs: 2_000 }).toString()).toBe(
      'id: 1.2\nretry: 2000\nevent: endpoint\ndata: /x\n\n',
    );
    expect(encodeSseComment('two\nlines').toString()).toBe(': two\n: lines\n\n');
    expect(SSE_HEADERS['content-type']).toBe('text/event-stream');
  });

  it.each([{ id: 'a\nb' }, { id: 'a\0' }, { event: 'a\rb' }, { retryMs: 1.5 }, { retryMs: -1 }])(
    'refuses %j',
    (fields) => {
      expect(() => encodeSseEvent({ data: '', ...fields })).toThrow(
        expect.objectContaining({ code: 'ERR_TRANSPORT_ARGUMENT' }) as Error,
      );
    },
  );
});

describe('a health response', () => {
  const now = new Date('2026-01-02T03:04:05Z');
  it.each([
    ['healthy', 200],
    ['degraded', 200],
    ['unhealthy', 503],
  ] as const)('for %s has the status %d', (status, expected) => {
    expect(healthResponse({ status, transport: 'stdio' }, now)).toEqual({
      status: expected,
      body: `{"status":"${status}","timestamp":"2026-01-02T03:04:05.000Z","transport":"stdio"}`,
    });
  });

  it('tells what the last look at the server found', () => {
    const server = { available: false, responseTimeMs: 12, error: 'timeout', lastChecked: now };
    expect(JSON.parse(healthResponse({ status: 'unhealthy', transport: 'sse', server }, now).body)).toMatchObject({
      mcp: { available: false, response_time_ms: 12, error: 'timeout', last_checked: now.toISOString() },
    });
  });
});

describe('who may call', () => {
  const local = createOriginPolicy({ host: '127.0.0.1', port: 8080 });

  it.each([
    [{ host: '127.0.0.1:8080' }],
    [{ host: 'LOCALHOST:9' }],
    [{ host: '[::1]:8080' }],
    [{ host: 'localhost:8080', origin: 'http://localhost:8080' }],
    [{ host: 'localhost:8080', origin: 'HTTP://LocalHost:8080' }],
    [{ host: 'localhost:8080', origin: 'http://[::1]:8080' }],
  ])('lets %j through to a local endpoint', (headers) => {
    expect(local.refusal(headers)).toBeUndefined();
  });

  it.each([
    [{ host: 'evil.example:8080' }, 'Host'],
    [{ host: '127.0.0.1.evil.example' }, 'Host'],
    [{ host: 'localhost.evil.example:8080' }, 'Host'],
    [{}, 'Host'],
    [{ host: 'localhost:8080', origin: 'http://evil.example' }, 'Origin'],
    [{ host: 'localhost:8080', origin: 'http://localhost:9090' }, 'Origin'],
    [{ host: 'localhost:8080', origin: 'https://localhost:8080' }, 'Origin'],
    [{ host: 'localhost:8080', origin: 'http://localhost:8080.evil.example' }, 'Origin'],
    [{ host: 'localhost:8080', origin: 'http://localhost:8080@evil.example' }, 'Origin'],
    [{ host: 'localhost:8080', origin: 'http://localhost:8080, http://localhost:8080' }, 'Origin'],
    [{ host: 'localhost:8080', origin: ['http://localhost:8080', 'http://evil.example'] }, 'Origin'],
    [{ host: 'localhost:8080', origin: 'null' }, 'Origin'],
    [{ host: 'localhost:8080', origin: '' }, 'Origin'],
  ])('keeps %j from a local endpoint: %s', (headers, which) => {
    expect(local.refusal(headers)).toMatch(new RegExp(`^${which} `));
  });

  it('is anybody on another address, unless there is a list', () => {
    const open = createOriginPolicy({ host: '0.0.0.0', port: 80 });
    expect(open.checksOrigin).toBe(false);
    expect(open.refusal({ host: 'x.example', origin: 'http://y.example' })).toBeUndefined();
    const listed = createOriginPolicy({
      host: '0.0.0.0',
      port: 80,
      allowedOrigins: ['https://App.example:443', 'vscode-webview://abc'],
      allowedHosts: ['x.example'],
    });
    expect(listed.checksOrigin).toBe(true);
    expect(listed.refusal({ host: 'x.example:80', origin: 'https://app.example' })).toBeUndefined();
    expect(listed.refusal({ host: 'x.example', origin: 'vscode-webview://abc' })).toBeUndefined();
    expect(listed.refusal({ host: 'x.example', origin: 'http://app.example' })).toMatch(/^Origin /);
    expect(listed.refusal({ host: 'y.example' })).toMatch(/^Host /);
  });

  it.each(['localhost:3000', 'http://a/path', '*', ''])('refuses the origin %j in a list', (origin) => {
    expect(() => createOriginPolicy({ host: 'localhost', port: 1, allowedOrigins: [origin] })).toThrow(
      expect.objectContaining({ code: 'ERR_TRANSPORT_ARGUMENT' }) as Error,
    );
  });

  it.each([
    ['localhost', true],
    ['127.8.9.1', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['127.0.0.1.example', false],
  ])('calls %s local: %s', (host, expected) => {
    expect(isLoopback(host)).toBe(expected);
  });
});
