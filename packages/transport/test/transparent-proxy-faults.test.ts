import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { openFaultProxy } from '@thv/doubles';
import type { Fault } from '@thv/doubles';
import { describe, expect, it } from 'vitest';
import { createServer as createTcpServer } from 'node:net';
import { findFreePort } from '../src/index.js';
import { ask, openProxy, openServer, readBody, rpc, sendJson } from './support/server.js';

const fixture = (name: string): string => readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8');

describe('a server that cannot be reached', () => {
  it('is told by name where its name does not resolve', async () => {
    await using proxy = await openProxy({ target: 'http://no-such-host.invalid/mcp', remote: true });
    expect(await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'initialize') })).toMatchObject({
      status: 502,
      json: { id: 1, error: { code: -32603, data: { reason: 'dns' } } },
    });
    expect(proxy.failures).toMatchObject([{ class: 'dns', isBeforeRequest: true }]);
  });

  it('is told by its port where nothing listens', async () => {
    const port = await findFreePort();
    await using proxy = await openProxy({ target: `http://127.0.0.1:${port}` });
    const { status, json } = await ask(`${proxy.origin}/mcp`, { body: rpc('a', 'tools/list') });
    expect(status).toBe(502);
    expect(json).toMatchObject({ id: 'a', error: { data: { reason: 'connect', code: 'ECONNREFUSED' } } });
    expect(json.error?.message).toContain(`127.0.0.1:${port}`);
  });

  it('is told by its certificate, and trusted with a CA bundle', async () => {
    const server = createServer({ key: fixture('key.pem'), cert: fixture('cert.pem') }, (request, response) => {
      void readBody(request).then(() => sendJson(response, { jsonrpc: '2.0', id: 1, result: {} }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const target = `https://localhost:${(server.address() as AddressInfo).port}/mcp`;
    try {
      await using untrusted = await openProxy({ target, remote: true });
      expect((await ask(`${untrusted.origin}/mcp`, { body: rpc(1, 'a') })).json.error).toMatchObject({
        message: expect.stringMatching(/not trusted.*CA bundle/) as string,
        data: { reason: 'tls' },
      });
      await using trusted = await openProxy({ target, remote: true, caBundle: [fixture('cert.pem')] });
      expect((await ask(`${trusted.origin}/mcp`, { body: rpc(1, 'a') })).json).toMatchObject({ result: {} });
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it('times out where a timeout is set, with 504', async () => {
    await using server = await openServer(() => undefined);
    await using proxy = await openProxy({ target: server.origin, headersTimeoutMs: 100 });
    const answer = await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'tools/call') });
    expect(answer).toMatchObject({ status: 504, json: { id: 1, error: { data: { reason: 'timeout' } } } });
  });

  it('ends the request at the server when the client goes', async () => {
    let gone: (() => void) | undefined;
    const ended = new Promise<void>((resolve) => {
      gone = resolve;
    });
    await using server = await openServer((request) => void request.socket.once('close', () => gone?.()));
    await using proxy = await openProxy({ target: server.origin });
    const controller = new AbortController();
    const asked = fetch(`${proxy.origin}/mcp`, { signal: controller.signal }).catch(() => undefined);
    setTimeout(() => controller.abort(), 50);
    await asked;
    await ended;
    expect(proxy.failures).toEqual([]);
  });
});

describe('a server that answers with something else', () => {
  it.each([
    ['text/html; charset=utf-8', '<form action="/login">', 'login-page', /login page.*credentials/],
    ['text/plain', 'hello', 'content-type', /text\/plain.*check the URL/],
  ])('%s is told as what it is', async (type, body, reason, text) => {
    await using server = await openServer(
      (_, response) => void response.writeHead(200, { 'content-type': type }).end(body),
    );
    await using proxy = await openProxy({ target: server.origin });
    const { status, json } = await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'initialize') });
    expect(status).toBe(502);
    expect(json.error).toMatchObject({ message: expect.stringMatching(text) as string, data: { reason } });
  });

  it('passes errors and refusals of the server on as they are, and tells of the first 401', async () => {
    let refusals = 0;
    await using server = await openServer((request, response) => {
      response.writeHead(request.url === '/mcp' ? 401 : 500, {
        'content-type': 'text/plain',
        'www-authenticate': 'Bearer',
      });
      response.end('no');
    });
    await using proxy = await openProxy({ target: server.origin, onUnauthorized: () => (refusals += 1) });
    for (let turn = 0; turn < 2; turn += 1) {
      const answer = await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'a') });
      expect(answer).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    }
    expect((await ask(`${proxy.origin}/x`, { body: rpc(1, 'a') })).body.toString()).toBe('no');
    expect(refusals).toBe(1);
  });
});

describe('redirects', () => {
  it('are followed on the same host with method, body and headers', async () => {
    const seen: string[] = [];
    await using server = await openServer(async (request, response) => {
      const body = (await readBody(request)).toString();
      seen.push(`${request.method} ${request.url} ${body.length} ${request.headers['x-a']}`);
      if (request.url === '/mcp') response.writeHead(308, { location: '/b/' }).end();
      else if (request.url === '/b/') response.writeHead(307, { location: '../c?x=1' }).end();
      else sendJson(response, { jsonrpc: '2.0', id: 1, result: {} });
    });
    await using proxy = await openProxy({ target: server.origin });
    const body = rpc(1, 'initialize');
    for (let turn = 0; turn < 2; turn += 1) {
      expect((await ask(`${proxy.origin}/mcp`, { body, headers: { 'x-a': 'kept' } })).status).toBe(200);
    }
    const at = (path: string): string => `POST ${path} ${body.length} kept`;
    expect(seen).toEqual([at('/mcp'), at('/b/'), at('/c?x=1'), at('/b/'), at('/c?x=1')]);
  });

  it.each([
    ['to another host', 'http://other.example/mcp', 302],
    ['without an address', undefined, 301],
    ['as 303', '/b', 303],
  ])('%s reach the client untouched', async (_name, location, status) => {
    await using server = await openServer((_, response) => {
      response.writeHead(status, location === undefined ? {} : { location }).end();
    });
    await using proxy = await openProxy({ target: server.origin });
    const answer = await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'initialize') });
    expect(answer.status).toBe(status);
    expect(answer.headers.location).toBe(location);
  });

  it.each(['127.0.0.1:9', '[::1]:9', 'metadata.internal', '169.254.169.254', '[fd00::1]', 'localhost'])(
    'into a private network are refused with a remedy: %s',
    async (host) => {
      await using server = await openServer((_, response) => {
        response.writeHead(302, { location: `http://${host}/latest/meta-data` }).end();
      });
      await using proxy = await openProxy({
        target: `http://public.example:${server.port}/mcp`,
        remote: true,
        lookup: (_name, options, callback) => {
          if (options.all === true) callback(null, [{ address: '127.0.0.1', family: 4 }]);
          else callback(null, '127.0.0.1', 4);
        },
      });
      const { status, headers, json } = await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'initialize') });
      expect(status).toBe(502);
      expect(headers.location).toBeUndefined();
      expect(json.error).toMatchObject({
        message: expect.stringMatching(/private network.*refused; if that is wanted/) as string,
        data: { reason: 'redirect-private' },
      });
    },
  );

  it('end after a number of them', async () => {
    await using server = await openServer((_, response) => void response.writeHead(307, { location: '/mcp' }).end());
    await using proxy = await openProxy({ target: server.origin, maxRedirects: 3 });
    const { json } = await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'initialize') });
    expect(json.error?.data?.reason).toBe('redirect-loop');
  });
});

describe('a connection that is spoiled', () => {
  const answer = `{"jsonrpc":"2.0","id":1,"result":{"text":"${'x'.repeat(5000)}"}}`;
  const json = () =>
    openServer(async (request, response) => {
      await readBody(request);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer) });
      response.end(answer);
    });

  it.each<[string, Fault, string]>([
    ['cut in half a response', { kind: 'cut', afterBytes: 2000 }, 'truncated'],
    ['half-closed in half a response', { kind: 'half-close', afterBytes: 2000 }, 'truncated'],
    ['reset in half a response', { kind: 'reset', afterBytes: 2000 }, 'truncated'],
    ['reset before the response', { kind: 'reset', afterBytes: 0 }, 'disconnected'],
    ['answered with garbage', { kind: 'garbage', bytes: Buffer.from('SSH-2.0-OpenSSH_9\r\n') }, 'protocol'],
  ])('and %s is told with its reason', async (_name, fault, reason) => {
    await using server = await json();
    await using between = await openFaultProxy(server.port, fault);
    await using proxy = await openProxy({ target: between.origin });
    expect(await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'tools/call') })).toMatchObject({
      status: 502,
      json: { id: 1, error: { data: { reason } } },
    });
    between.fault = { kind: 'none' };
    expect((await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'tools/call') })).body.toString()).toBe(answer);
  });

  it.each<[string, Fault]>([
    ['delay', { kind: 'delay', ms: 100 }],
    ['trickle', { kind: 'trickle', bytes: 100, everyMs: 1 }],
  ])('only slower by a %s, changes nothing', async (_name, fault) => {
    await using server = await json();
    await using between = await openFaultProxy(server.port, fault);
    await using proxy = await openProxy({ target: between.origin });
    expect((await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'tools/call') })).body.toString()).toBe(answer);
  });

  it('never looks like a whole response when it was a long one', async () => {
    const long = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(300_000) } });
    await using server = await openServer((request, response) => {
      void readBody(request).then(() => response.writeHead(200, { 'content-type': 'application/json' }).end(long));
    });
    await using between = await openFaultProxy(server.port, { kind: 'cut', afterBytes: 200_000 });
    await using proxy = await openProxy({ target: between.origin });
    expect((await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'tools/call') })).broken).toBe(true);
    expect(proxy.failures.map((failure) => failure.class)).toEqual(['truncated']);
  });

  it('lets who waits on an event stream know that no answer comes', async () => {
    await using server = await openServer((request, response) => {
      void readBody(request).then(() => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n');
        setTimeout(() => response.destroy(), 50);
      });
    });
    await using proxy = await openProxy({ target: server.origin });
    const { body } = await ask(`${proxy.origin}/mcp`, { body: rpc(8, 'tools/call') });
    expect(body.toString()).toMatch(/notifications\/progress[^]*"id":8,"error":[^]*"reason":"truncated"/);
  });

  it('is tried again where the server closed a kept connection, but a tool is never called twice', async () => {
    let calls = 0;
    // Answers the first request of each connection and resets it at the second.
    const server = createTcpServer((socket) => {
      let turn = 0;
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        calls += 1;
        turn += 1;
        if (turn > 1) {
          socket.resetAndDestroy();
          return;
        }
        void chunk;
        const body = '{"jsonrpc":"2.0","id":1,"result":{}}';
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    await using proxy = await openProxy({ target: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    try {
      const send = async (method: string) => (await ask(`${proxy.origin}/mcp`, { body: rpc(1, method) })).status;
      expect(await send('tools/list')).toBe(200);
      expect(await send('tools/list')).toBe(200);
      expect(calls).toBe(3);
      expect(await send('tools/call')).toBe(502);
      expect(calls).toBe(4);
    } finally {
      server.close();
    }
  });
});
