import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { everything, openThv } from './support/thv.js';
import type { Thv } from './support/thv.js';

const require = createRequire(import.meta.url);
const script = join(dirname(require.resolve('@modelcontextprotocol/server-everything/package.json')), 'dist/index.js');
/** The official server reads its port from PORT. */
const overHttp = (kind: string): string[] => ['sh', '-c', `PORT=$MCP_PORT exec ${process.execPath} ${script} ${kind}`];

let thv: Thv;

beforeAll(async () => {
  thv = await openThv();
});

afterEach(async () => {
  await thv.run(['rm', '--all']);
});

afterAll(async () => {
  await thv.close();
});

const echo = (name: string, text: string): Promise<string> =>
  thv.ok(['mcp', 'call', 'echo', '--args', JSON.stringify({ message: text }), '--server', name]);

describe('a server that speaks HTTP itself', () => {
  it('runs over Streamable HTTP on a port that it is told', async () => {
    const { stdout } = await thv.run([
      'run',
      '--name',
      'http',
      '--transport',
      'streamable-http',
      '--',
      ...overHttp('streamableHttp'),
    ]);
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp\n$/);
    expect(await echo('http', 'ż🙂')).toContain('ż🙂');
    const [listed] = await thv.json<{ transport_type: string; proxy_mode: string }[]>(['list']);
    expect(listed).toMatchObject({
      transport_type: 'streamable-http',
      proxy_mode: 'streamable-http',
      status: 'running',
    });
  });

  it('runs over the older transport, with its address in the list', async () => {
    const { stdout } = await thv.run(['run', '--name', 'old', '--transport', 'sse', '--', ...overHttp('sse')]);
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/sse#old\n$/);
    expect(await echo('old', 'hi')).toContain('hi');
  });

  it('does not start when it ends, or listens nowhere', async () => {
    const ended = await thv.run([
      'run',
      '--name',
      'x',
      '--transport',
      'streamable-http',
      '--',
      'sh',
      '-c',
      'echo broken >&2; exit 3',
    ]);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/exited with code 3[^]*broken/);
    expect(await thv.json(['list', '--all'])).toEqual([]);
  });
});

describe('a server that speaks stdio', () => {
  it('is served over the older transport with --proxy-mode sse', async () => {
    const { stdout } = await thv.run(['run', '--name', 'legacy', '--proxy-mode', 'sse', '--', ...everything]);
    expect(stdout).toMatch(/\/sse#legacy\n$/);
    expect(await echo('legacy', 'over sse')).toContain('over sse');
  });
});

describe('a remote server', () => {
  it('gets a proxy in front, and the same address again after a restart', async () => {
    const { stdout } = await thv.run(['run', '--name', 'back', '--', ...everything]);
    const remote = stdout.trim();
    const front = await thv.run(['run', remote, '--name', 'front']);
    expect(front.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp\n$/);
    expect(front.stdout.trim()).not.toBe(remote);
    expect(await echo('front', 'through two')).toContain('through two');
    expect(await thv.json(['list'])).toContainEqual(expect.objectContaining({ name: 'front', package: remote }));
    await thv.ok(['stop', 'front']);
    await thv.ok(['start', 'front']);
    const listed = (await thv.json<{ name: string; url: string }[]>(['list'])).find(({ name }) => name === 'front');
    expect(listed?.url).toBe(front.stdout.trim());
    const exported = await thv.ok(['export', 'front', '-']).catch(() => thv.ok(['export', 'front', '/dev/stdout']));
    expect(JSON.parse(exported)).toMatchObject({ remote_url: remote, command: '' });
  });

  it.each([
    ['http://no-such-host.invalid/mcp', /could not be resolved/],
    ['http://127.0.0.1:1/mcp', /could not be reached/],
  ])('that cannot be reached is told at once: %s', async (url, text) => {
    const { code, stderr } = await thv.run(['run', url, '--name', 'nowhere']);
    expect(code).toBe(1);
    expect(stderr).toMatch(text);
    expect(stderr).toContain('Try:');
    expect(await thv.json(['list', '--all'])).toEqual([]);
  });

  it.each([
    [['run', 'https://user:pw@host/mcp'], /user or a password/],
    [['run', 'https://host/mcp', '--', 'node'], /takes no command/],
    [['run', 'https://host/mcp', '--transport', 'stdio'], /cannot speak stdio/],
    [['run', 'https://host/mcp', '--target-port', '1'], /--target-port/],
    [['proxy', 'x'], /--target-uri/],
    [['proxy', '--target-uri', 'http://x'], /needs a name/],
    [['proxy', 'x', '--target-uri', 'x'], /no http or https URL/],
    [['proxy', 'stdio', 'nobody'], /not found/],
  ])('refuses %j', async (args, text) => {
    const { code, stderr } = await thv.run(args);
    expect(code).toBe(1);
    expect(stderr).toMatch(text);
  });
});

describe('thv proxy', () => {
  it.each(['--target-uri', '--remote-url'])('forwards in the foreground with %s', async (flag) => {
    const server = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { path: request.url } }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/here?a=1`;
    const { child, finished, says } = thv.start(['proxy', 'front', flag, target]);
    let text = '';
    child.stdout?.on('data', (chunk: string) => (text += chunk));
    try {
      await says('Ctrl-C stops it');
      const response = await fetch(text.trim(), { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' });
      expect(await response.json()).toMatchObject({ result: { path: '/here?a=1' } });
    } finally {
      child.kill('SIGTERM');
      expect((await finished).code).toBe(0);
      server.close();
    }
  });

  it('speaks stdio to a client and HTTP to a server', async () => {
    await thv.ok(['run', '--name', 'back', '--', ...everything]);
    const clientInfo = { name: 'test', version: '1' };
    const lines = [
      { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
      { method: 'notifications/initialized' },
      { id: 2, method: 'tools/call', params: { name: 'echo', arguments: { message: 'ż' } } },
    ];
    const input = lines.map((line) => `${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`).join('');
    const { code, stdout } = await thv.exec(['proxy', 'stdio', 'back'], { input });
    expect(code).toBe(0);
    const answers = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { readonly id?: unknown });
    expect(answers.find(({ id }) => id === 1)).toMatchObject({ result: { serverInfo: {} } });
    expect(JSON.stringify(answers.find(({ id }) => id === 2))).toContain('ż');
  });
});
