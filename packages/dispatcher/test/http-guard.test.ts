import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createNodeHandler, createWebHandler } from '../src/http/index.js';
import type { GuardOptions } from '../src/http/index.js';
import { initializeBody } from './support/http.js';
import { shared } from './support/shared.js';

let close: (() => Promise<void>) | undefined;
afterEach(() => close?.());

/** Sends headers as they are; `fetch` would not let a test choose `host` and `origin`. */
async function ask(options: GuardOptions, headers: Record<string, string | string[]>, method = 'POST') {
  const { dispatcher } = shared();
  const server = createServer(createNodeHandler(dispatcher, options));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  close = async () => {
    await dispatcher.close();
    await new Promise((resolve) => server.close(resolve));
  };
  const { port } = server.address() as AddressInfo;
  const full = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value : value.replace('PORT', String(port)),
    ]),
  );
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string }>((resolve, reject) => {
    const sent = request(
      {
        port,
        host: '127.0.0.1',
        path: '/mcp',
        method,
        headers: { 'content-type': 'application/json', ...full },
        agent: false,
      },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      },
    );
    sent.on('error', reject);
    sent.end(method === 'POST' ? JSON.stringify(initializeBody()) : undefined);
  });
}

describe('the origin of a request', () => {
  it.each<[string, GuardOptions, string, number]>([
    ['this machine, its own port', {}, 'http://localhost:PORT', 200],
    ['this machine, its own port', {}, 'http://127.0.0.1:PORT', 200],
    ['this machine, its own port', {}, 'http://[::1]:PORT', 200],
    ['this machine, its own port', {}, 'HTTP://LOCALHOST:PORT', 200],
    ['this machine, another port', {}, 'http://localhost:1', 403],
    ['another machine', {}, 'https://evil.example', 403],
    ['a name that begins like this machine', {}, 'http://localhost.evil.example:PORT', 403],
    ['a user name like this machine', {}, 'http://localhost:PORT@evil.example', 403],
    ['nobody', {}, 'null', 403],
    ['empty', {}, '', 403],
    ['listed', { allowedOrigins: ['https://app.example'] }, 'https://app.example', 200],
    ['listed in other letters', { allowedOrigins: ['https://App.Example'] }, 'https://app.example', 200],
    ['of another scheme', { allowedOrigins: ['https://app.example'] }, 'http://app.example', 403],
    ['this machine, but not listed', { allowedOrigins: ['https://app.example'] }, 'http://localhost:PORT', 403],
  ])('%s (%j %s): %i', async (_what, options, origin, status) => {
    const response = await ask(options, { origin });
    expect(response.status).toBe(status);
    if (status === 200) return;
    const body = JSON.parse(response.body) as Record<string, unknown>;
    expect(body).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 } });
    expect(body).not.toHaveProperty('id');
  });
});

describe('the name of the host', () => {
  it.each<[GuardOptions, string, number]>([
    [{}, 'localhost:PORT', 200],
    [{}, '127.0.0.1:PORT', 200],
    [{}, '[::1]:PORT', 200],
    [{}, 'localhost', 200],
    [{}, 'evil.example', 403],
    [{}, 'evil.example:PORT', 403],
    [{}, 'localhost.evil.example', 403],
    [{ allowedHosts: ['mcp.example'] }, 'mcp.example:8443', 200],
    [{ allowedHosts: ['mcp.example'] }, 'MCP.example', 200],
    [{ allowedHosts: ['mcp.example'] }, 'localhost', 403],
    [{ allowedHosts: ['mcp.example:8443'] }, 'mcp.example:1', 403],
    [{ allowedHosts: 'any' }, 'evil.example', 200],
  ])('with %j is %s: %i', async (options, host, status) => {
    expect((await ask(options, { host })).status).toBe(status);
  });

  it('must be of this machine for a web handler, which cannot know where it listens', async () => {
    const { dispatcher } = shared();
    close = () => dispatcher.close();
    const send = async (url: string, options: GuardOptions = {}) => {
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(initializeBody()),
      };
      return (await createWebHandler(dispatcher, options)(new Request(url, init))).status;
    };
    expect(await send('http://localhost:3000/mcp')).toBe(200);
    expect(await send('https://mcp.example/mcp')).toBe(403);
    expect(await send('https://mcp.example/mcp', { allowedHosts: ['mcp.example'] })).toBe(200);
  });
});

describe('CORS', () => {
  const options: GuardOptions = { cors: true, allowedOrigins: ['https://app.example'] };

  it('answers the preflight of a listed origin', async () => {
    const response = await ask(
      options,
      { origin: 'https://app.example', 'access-control-request-method': 'POST' },
      'OPTIONS',
    );
    expect(response.status).toBe(204);
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'GET, POST, DELETE, OPTIONS',
      'access-control-allow-headers': expect.stringContaining('mcp-session-id'),
      'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version',
      vary: 'Origin',
    });
  });

  it('lets a page read the answer, errors included', async () => {
    for (const headers of [{}, { 'mcp-session-id': 'nobody' }, { 'content-type': 'text/plain' }]) {
      const response = await ask(options, { origin: 'https://app.example', ...headers });
      expect(response.headers['access-control-allow-origin']).toBe('https://app.example');
      await close?.();
    }
  });

  it('does not answer other origins, and is off unless asked for', async () => {
    expect((await ask(options, { origin: 'https://evil.example' }, 'OPTIONS')).status).toBe(403);
    await close?.();
    const off = await ask({ allowedOrigins: ['https://app.example'] }, { origin: 'https://app.example' }, 'OPTIONS');
    expect(off.status).toBe(405);
    expect(off.headers).not.toHaveProperty('access-control-allow-origin');
  });
});
