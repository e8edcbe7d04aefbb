import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createTransparentProxy } from '../src/index.js';
import type { Middleware } from '../src/index.js';
import { ask, openProxy, openServer, readBody, rpc, sendJson } from './support/server.js';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A server that notes what it gets and answers with it. */
async function openEcho(sessionId?: string) {
  const seen: Seen[] = [];
  const server = await openServer(async (request, response) => {
    const body = (await readBody(request)).toString();
    seen.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    const { id } = (body === '' || body.startsWith('[') ? {} : JSON.parse(body)) as { id?: unknown };
    const session = sessionId !== undefined && body.includes('"initialize"') ? { 'mcp-session-id': sessionId } : {};
    sendJson(response, { jsonrpc: '2.0', id: id ?? 0, result: {} }, session as Record<string, string>);
  });
  return { seen, origin: server.origin, [Symbol.asyncDispose]: server[Symbol.asyncDispose] };
}

describe('a transparent proxy', () => {
  it('passes bodies byte for byte and answers as the server does', async () => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: server.origin });
    const body = '{"id":9007199254740993,"jsonrpc":"2.0","method":"tools/list","params":{"z":1,"a":"\\u20ac"}}';
    const answer = await ask(`${proxy.origin}/mcp?x=1`, { body });
    expect(answer.status).toBe(200);
    expect(server.seen).toMatchObject([{ method: 'POST', url: '/mcp?x=1', body }]);
  });

  it('names the server in Host, strips what ends at a hop and what clients say about who they are', async () => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: server.origin, headers: { 'X-Api-Key': 'ours' } });
    await ask(`${proxy.origin}/mcp`, {
      body: rpc(1, 'tools/list'),
      headers: {
        connection: 'close, x-secret-hop',
        'x-secret-hop': 'a',
        te: 'trailers',
        'proxy-authorization': 'Basic x',
        forwarded: 'for=1.2.3.4',
        'x-forwarded-for': '1.2.3.4',
        'x-forwarded-host': 'evil.example',
        'x-real-ip': '1.2.3.4',
        'x-api-key': 'theirs',
        authorization: 'Bearer kept',
      },
    });
    const { headers } = server.seen[0] as Seen;
    expect(headers).toMatchObject({
      host: server.origin.slice(7),
      authorization: 'Bearer kept',
      'x-api-key': 'ours',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': proxy.origin.slice(7),
      'x-forwarded-proto': 'http',
    });
    for (const name of ['x-secret-hop', 'te', 'proxy-authorization', 'forwarded', 'x-real-ip']) {
      expect(headers[name]).toBeUndefined();
    }
  });

  it('believes X-Forwarded headers where it is told to', async () => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: server.origin, trustProxyHeaders: true });
    await ask(`${proxy.origin}/mcp`, {
      body: rpc(1, 'tools/list'),
      headers: { 'x-forwarded-for': '1.2.3.4', 'x-forwarded-host': 'a.example', 'x-forwarded-proto': 'https' },
    });
    expect(server.seen[0]?.headers).toMatchObject({
      'x-forwarded-for': '1.2.3.4, 127.0.0.1',
      'x-forwarded-host': 'a.example',
      'x-forwarded-proto': 'https',
    });
  });

  it('replaces the path by that of a remote and puts its query first, as it was written', async () => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: `${server.origin}/team/mcp?a=1,2&b=%2C`, remote: true });
    await ask(`${proxy.origin}/mcp?a=3`, { body: rpc(1, 'tools/list') });
    expect(server.seen[0]).toMatchObject({ url: '/team/mcp?a=1,2&b=%2C&a=3' });
    expect(server.seen[0]?.headers['x-forwarded-host']).toBeUndefined();
  });

  it('strips the prefix that clients put in front of the path', async () => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: server.origin, endpointPrefix: 'play/' });
    await ask(`${proxy.origin}/play/mcp`, { body: rpc(1, 'a') });
    await ask(`${proxy.origin}/player/mcp`, { body: rpc(1, 'a') });
    expect(server.seen.map(({ url }) => url)).toEqual(['/mcp', '/player/mcp']);
  });

  it.each([
    ['{"jsonrpc":"2.0","id":1,"method":', -32700, {}],
    ['{"jsonrpc":"2.0","id":7,"method":3}', -32600, {}],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}', -32600, {}],
    ['[{"jsonrpc":"2.0","id":1,"method":"a"}]', -32600, { 'mcp-protocol-version': '2025-06-18' }],
    [rpc(1, 'tools/list'), -32602, { 'mcp-protocol-version': '2026-07-28' }],
    [rpc(1, 'tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2027-01-01' } }), -32022, {}],
    [
      rpc(1, 'tools/list', {
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      }),
      -32020,
      {},
    ],
  ])('refuses %s with %d and never asks the server', async (body, code, headers) => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: server.origin });
    const answer = await ask(`${proxy.origin}/mcp`, { body, headers });
    expect(answer).toMatchObject({ status: 400, json: { error: { code } } });
    expect(server.seen).toEqual([]);
  });

  it('passes an array on where no newer version is named and nothing looks at messages', async () => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: server.origin });
    const answer = await ask(`${proxy.origin}/mcp`, { body: `[${rpc(1, 'a')}]` });
    expect(answer.status).toBe(200);
  });

  it.each(['GET', 'HEAD', 'DELETE'])('refuses %s where there are no sessions', async (method) => {
    await using server = await openEcho();
    await using stateless = await openProxy({ target: server.origin, stateless: true });
    await using proxy = await openProxy({ target: server.origin });
    const first = await ask(`${stateless.origin}/mcp`, { method });
    const second = await ask(`${proxy.origin}/mcp`, { method, headers: { 'mcp-protocol-version': '2026-07-28' } });
    for (const { status, headers } of [first, second]) {
      expect(status).toBe(405);
      expect(headers.allow).toBe('POST, OPTIONS');
    }
    expect(server.seen).toEqual([]);
  });

  it('streams a long body without reading it whole', async () => {
    let first: ((value: number) => void) | undefined;
    const firstChunk = new Promise<number>((resolve) => {
      first = resolve;
    });
    await using server = await openServer((request, response) => {
      let size = 0;
      request.on('data', (chunk: Buffer) => {
        size += chunk.length;
        first?.(chunk.length);
      });
      request.on('end', () => sendJson(response, { jsonrpc: '2.0', id: 1, result: { size } }));
    });
    await using proxy = await openProxy({ target: server.origin, prefixBytes: 1024 });
    const body = rpc(1, 'tools/call', { text: 'x'.repeat(300_000) });
    const { request } = await import('node:http');
    const answered = new Promise<string>((resolve, reject) => {
      const outgoing = request(
        `${proxy.origin}/mcp`,
        { method: 'POST', headers: { 'content-type': 'application/json' } },
        (response) => void readBody(response).then((bytes) => resolve(bytes.toString())),
      );
      outgoing.on('error', reject);
      outgoing.write(body.slice(0, 2000));
      // The rest is sent only when the server has the beginning.
      void firstChunk.then(() => outgoing.end(body.slice(2000)));
    });
    expect(JSON.parse(await answered)).toMatchObject({ result: { size: Buffer.byteLength(body) } });
  });

  it.each([65_000, 65_536, 66_000, 100_000, 131_072, 200_000])(
    'passes a body of %d bytes, however it is cut',
    async (size) => {
      await using server = await openEcho();
      await using proxy = await openProxy({ target: server.origin });
      const frame = rpc(1, 'tools/call', { text: '' });
      const body = rpc(1, 'tools/call', { text: 'x'.repeat(size - frame.length) });
      for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
        const answer = await ask(`${proxy.origin}/mcp`, { body, headers: headers as Record<string, string> });
        expect(answer.status).toBe(200);
      }
      expect(server.seen.map((seen) => seen.body === body)).toEqual([true, true]);
    },
  );

  it('refuses a body that is too large, also one that does not say so before', async () => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: server.origin, maxBodyBytes: 1000, prefixBytes: 100 });
    const body = rpc(1, 'a', { text: 'x'.repeat(2000) });
    expect((await ask(`${proxy.origin}/mcp`, { body })).status).toBe(413);
    expect((await ask(`${proxy.origin}/mcp`, { body, headers: { 'transfer-encoding': 'chunked' } })).status).toBe(413);
  });

  it('keeps pages of strangers out', async () => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: server.origin });
    const answer = await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'a'), headers: { origin: 'http://evil.example' } });
    expect(answer).toMatchObject({ status: 403, json: { error: { code: -32600 } } });
    expect((await ask(`${proxy.origin}/mcp`, { headers: { host: 'evil.example' } })).status).toBe(403);
  });

  it('answers preflights and adds CORS headers for those origins that may call, where that is on', async () => {
    await using server = await openEcho();
    const origin = 'https://app.example';
    await using proxy = await openProxy({ target: server.origin, allowedOrigins: [origin], cors: true });
    await using plain = await openProxy({ target: server.origin, allowedOrigins: [origin] });
    const preflight = { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } };
    expect(await ask(`${proxy.origin}/mcp`, preflight)).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': origin,
        'access-control-allow-headers': expect.stringContaining('mcp-session-id') as string,
      },
    });
    const answer = await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'a'), headers: { origin } });
    expect(answer).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': origin, vary: 'Origin' } });
    const stranger = { ...preflight, headers: { ...preflight.headers, origin: 'https://evil.example' } };
    expect((await ask(`${proxy.origin}/mcp`, stranger)).status).toBe(403);
    expect(
      (await ask(`${plain.origin}/mcp`, { body: rpc(1, 'a'), headers: { origin } })).headers[
        'access-control-allow-origin'
      ],
    ).toBeUndefined();
  });

  it('answers its health itself, and hides what is not there', async () => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: server.origin });
    expect(await ask(`${proxy.origin}/health`)).toMatchObject({ status: 200, json: { status: 'healthy' } });
    expect((await ask(`${proxy.origin}/health`, { method: 'POST' })).status).toBe(405);
    expect((await ask(`${proxy.origin}/metrics`)).status).toBe(404);
    expect((await ask(`${proxy.origin}/.well-known/oauth-protected-resource`)).status).toBe(404);
    expect(server.seen).toEqual([]);
  });

  it.each([
    [{ target: 'ftp://x' }, 'target'],
    [{ target: 'http://user:pw@x' }, 'target'],
    [{ target: 'http://x', headers: { Host: 'y' } }, 'headers'],
    [{ target: 'http://x', headers: { a: 'b\r\nc: d' } }, 'headers'],
    [{ target: 'http://x', maxBodyBytes: 0 }, 'maxBodyBytes'],
    [{ target: 'http://x', allowedOrigins: ['*'] }, 'allowedOrigins'],
  ])('refuses the options %j', (options, name) => {
    expect(() => createTransparentProxy(options)).toThrow(
      expect.objectContaining({
        code: 'ERR_TRANSPORT_ARGUMENT',
        message: expect.stringContaining(name) as string,
      }) as Error,
    );
  });
});

describe('sessions behind a transparent proxy', () => {
  it('lets those through that the server gave out, whatever they look like', async () => {
    await using server = await openEcho('not a uuid');
    await using proxy = await openProxy({ target: server.origin });
    const opened = await ask(`${proxy.origin}/mcp`, {
      body: rpc(1, 'initialize'),
      headers: { 'mcp-session-id': 'stale' },
    });
    expect(opened.headers['mcp-session-id']).toBe('not a uuid');
    expect(server.seen[0]?.headers['mcp-session-id']).toBeUndefined();
    const known = { 'mcp-session-id': 'not a uuid' };
    expect((await ask(`${proxy.origin}/mcp`, { body: rpc(2, 'tools/list'), headers: known })).status).toBe(200);
    expect(server.seen[1]?.headers['mcp-session-id']).toBe('not a uuid');
    expect(proxy.proxy.sessionCount).toBe(1);
    await ask(`${proxy.origin}/mcp`, { method: 'DELETE', headers: known });
    expect(await ask(`${proxy.origin}/mcp`, { body: rpc(3, 'tools/list'), headers: known })).toMatchObject({
      status: 404,
      json: { id: 3, error: { code: -32001 } },
    });
  });

  it.each(['GET', 'DELETE'])('answers %s with an unknown id in JSON', async (method) => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: server.origin });
    const answer = await ask(`${proxy.origin}/mcp`, { method, headers: { 'mcp-session-id': 'x' } });
    expect(answer).toMatchObject({ status: 404, json: { error: { code: -32001 } } });
    expect('id' in answer.json).toBe(false);
  });

  it('does not ask for sessions of a server that has none', async () => {
    await using server = await openEcho();
    await using proxy = await openProxy({ target: server.origin });
    await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'initialize') });
    const answer = await ask(`${proxy.origin}/mcp`, {
      body: rpc(2, 'tools/list'),
      headers: { 'mcp-session-id': 'made-up' },
    });
    expect(answer.status).toBe(200);
    expect(server.seen[1]?.headers['mcp-session-id']).toBeUndefined();
  });

  it('opens a session again that the server lost, once for all, and sends the request again', async () => {
    const life = { sessions: new Set<string>(), next: 0, handshakes: 0, initialized: 0 };
    await using server = await openServer(async (request, response) => {
      const message = JSON.parse((await readBody(request)).toString()) as { id?: number; method: string };
      const session = request.headers['mcp-session-id'] as string | undefined;
      if (message.method === 'initialize') {
        life.handshakes += 1;
        const id = `s${(life.next += 1)}`;
        life.sessions.add(id);
        sendJson(response, { jsonrpc: '2.0', id: message.id, result: {} }, { 'mcp-session-id': id });
      } else if (session === undefined || !life.sessions.has(session)) {
        response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"lost"}');
      } else if (message.method === 'notifications/initialized') {
        life.initialized += 1;
        response.writeHead(202).end();
      } else sendJson(response, { jsonrpc: '2.0', id: message.id, result: { session } });
    });
    await using proxy = await openProxy({ target: server.origin });
    const opened = await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'initialize') });
    expect(opened.headers['mcp-session-id']).toBe('s1');
    life.sessions.clear();
    const headers = { 'mcp-session-id': 's1' };
    const answers = await Promise.all(
      [2, 3, 4, 5].map((id) => ask(`${proxy.origin}/mcp`, { body: rpc(id, 'tools/call'), headers })),
    );
    expect(answers.map(({ json }) => [json.id, json.result])).toEqual(
      [2, 3, 4, 5].map((id) => [id, { session: 's2' }]),
    );
    expect(life).toMatchObject({ handshakes: 2, initialized: 1 });
    expect((await ask(`${proxy.origin}/mcp`, { body: rpc(6, 'tools/call'), headers })).json.result).toEqual({
      session: 's2',
    });
  });
});

describe('middlewares of a transparent proxy', () => {
  it("decide who asks before it is looked for a session, and a session is its own principal's", async () => {
    await using server = await openEcho('0f8fad5b-d9cb-469f-a165-70867728950e');
    const authenticate: Middleware = {
      name: 'authenticate',
      readsBody: false,
      handle: async (context, next) => {
        const { authorization } = context.headers;
        if (typeof authorization !== 'string')
          return { kind: 'refuse', status: 401, headers: { 'www-authenticate': 'Bearer' } };
        context.principal = { subject: authorization };
        return next();
      },
    };
    await using proxy = await openProxy({ target: server.origin, middlewares: [authenticate] });
    const send = async (method: string, headers: Record<string, string>) =>
      (await ask(`${proxy.origin}/mcp`, { body: rpc(1, method), headers })).status;
    const session = { 'mcp-session-id': '0f8fad5b-d9cb-469f-a165-70867728950e' };
    expect(await send('tools/list', session)).toBe(401);
    expect(await send('tools/list', { ...session, authorization: 'anna' })).toBe(404);
    expect(await send('initialize', { authorization: 'anna' })).toBe(200);
    expect(await send('tools/list', { ...session, authorization: 'anna' })).toBe(200);
    expect(await send('tools/list', { ...session, authorization: 'bob' })).toBe(404);
  });

  const seal: Middleware = {
    name: 'seal',
    onFrame: (message) => (message.bytes.includes('secret') ? undefined : message),
  };

  it('see messages, replace them and refuse', async () => {
    await using server = await openEcho();
    const guard: Middleware = {
      name: 'guard',
      handle: async (context, next) => {
        if (context.message?.method === 'tools/call') {
          return { kind: 'refuse', status: 403, error: { code: 403, message: 'no' } };
        }
        context.principal = { subject: 'me' };
        return next();
      },
    };
    await using proxy = await openProxy({ target: server.origin, middlewares: [guard] });
    const refused = await ask(`${proxy.origin}/mcp`, { body: rpc(4, 'tools/call') });
    expect(refused).toMatchObject({ status: 403, json: { id: 4, error: { code: 403 } } });
    expect((await ask(`${proxy.origin}/mcp`, { body: '{"jsonrpc":"2.0",\n"id":1,"method":"a"}' })).status).toBe(200);
    expect(server.seen[0]?.body).toBe('{"jsonrpc":"2.0","id":1,"method":"a"}');
    expect((await ask(`${proxy.origin}/mcp`, { body: `[${rpc(1, 'a')}]` })).status).toBe(400);
  });

  it('filter what leaves, in JSON and in event streams, and ask for no compression', async () => {
    const encodings: unknown[] = [];
    await using server = await openServer((request, response) => {
      encodings.push(request.headers['accept-encoding']);
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(': hi\n\nid: 1\ndata: {"jsonrpc":"2.0",');
        response.write('\ndata: "method":"notifications/a"}\n\n');
        response.end('data: {"jsonrpc":"2.0","method":"secret"}\n\ndata: no json secret\n\n');
      } else sendJson(response, { jsonrpc: '2.0', id: 1, result: { text: 'secret' } });
    });
    await using proxy = await openProxy({ target: server.origin, middlewares: [seal] });
    const json = await ask(`${proxy.origin}/mcp`, {
      body: rpc(1, 'tools/call'),
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(json.json).toMatchObject({ id: 1, error: { code: -32603 } });
    const events = (await ask(`${proxy.origin}/mcp`)).body.toString();
    expect(events).toContain('notifications/a');
    expect(events).toContain('id: 1');
    expect(events).not.toContain('secret');
    expect(encodings[0]).toBe('identity');
  });
});
