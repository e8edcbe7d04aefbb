import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import {
  createSseReader,
  descendants,
  hostileServer,
  hostileServerInShell,
  isAlive,
  losslessResult,
  oddBodies,
  openRawConnection,
  pipeline,
  postText,
  rssBytes,
  smuggledBodies,
  targetOf,
  until,
  withTemporaryHome,
} from './doubles/src/index.js';
import type { HostileScript } from './doubles/src/index.js';

/** Runs the hostile server over some input lines and answers what it wrote and how it ended. */
async function run(script: HostileScript, messages: readonly unknown[]) {
  const { command, args } = hostileServer(script);
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stdin.on('error', () => {});
  child.stdin.end(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { text: Buffer.concat(chunks).toString('utf8'), chunks: chunks.length, code, signal };
}

const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } };
const call = (name: string, args: unknown = {}, id = 2) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args, _meta: { progressToken: 'token' } },
});

describe('the hostile server', () => {
  it('behaves without a script', async () => {
    const { text, code } = await run({}, [initialize, call('echo', { message: 'hi' })]);
    const [first, second] = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(first).toMatchObject({ id: 1, result: { protocolVersion: '2025-06-18' } });
    expect(second).toEqual({ jsonrpc: '2.0', id: 2, result: { content: [{ type: 'text', text: 'hi' }] } });
    expect(code).toBe(0);
  });

  it('writes the lossless result as its text says', async () => {
    const { text } = await run({}, [call('lossless')]);
    expect(text).toBe(`{"jsonrpc":"2.0","id":2,"result":${losslessResult}}\n`);
    expect(JSON.parse(text)).toHaveProperty('result.structuredContent.z', 1);
  });

  it.each<[string, HostileScript, number | null, string | null]>([
    ['start', { crash: { at: 'start' } }, 1, null],
    ['initialize', { crash: { at: 'initialize', how: 7 } }, 7, null],
    ['after-initialize', { crash: { at: 'after-initialize', how: 'SIGKILL' } }, null, 'SIGKILL'],
    ['call', { crash: { at: 'call', after: 1 } }, 1, null],
    ['mid-call', { crash: { at: 'mid-call', after: 1 } }, 1, null],
  ])('dies at %s', async (point, script, code, signal) => {
    const ended = await run(script, [initialize, call('echo', {}, 2), call('echo', {}, 3)]);
    expect({ code: ended.code, signal: ended.signal }).toEqual({ code, signal });
    expect(ended.text.includes('"id":2')).toBe(point.endsWith('call'));
    expect(ended.text.endsWith('\n')).toBe(point !== 'mid-call' && ended.text !== '');
  });

  it('writes progress and result in one chunk', async () => {
    const { text } = await run({}, [call('progress', { sameChunk: true, count: 2 })]);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { method?: string; id?: number });
    expect(lines.map(({ method, id }) => method ?? id)).toEqual([
      'notifications/progress',
      'notifications/progress',
      2,
    ]);
  });

  it('keeps a shell and a grandchild below itself', async () => {
    const { command, args } = hostileServerInShell({ grandchild: { ignoreSignals: ['SIGTERM'] } });
    const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    const below = await until('a server and its child run', () => {
      const found = descendants(child.pid ?? 0);
      return found.length === 2 && found;
    });
    expect(new Set(below.map(({ group }) => group))).toEqual(new Set([child.pid]));
    expect(rssBytes(below[0]?.pid ?? 0)).toBeGreaterThan(1e6);
    process.kill(-(child.pid ?? 0), 'SIGKILL');
    await until('all are gone', () => below.every(({ pid }) => !isAlive(pid)));
  });
});

describe('the hostile bodies', () => {
  it.each(smuggledBodies.filter(({ code }) => code === -32700))('is no JSON: $name', ({ body }) => {
    expect(() => JSON.parse(body.toString('utf8')) as unknown).toThrow(SyntaxError);
  });

  it.each(oddBodies)('is one request: $name', ({ body, id }) => {
    expect(JSON.parse(body.toString('utf8'))).toMatchObject({ jsonrpc: '2.0', id });
  });
});

describe('the raw connection', () => {
  it('reads pipelined answers in order, with a length and in chunks', async () => {
    const server = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => {
        if (chunk.includes('chunked')) response.write('in ');
        response.end(chunk);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x?y`;
    const answers = await pipeline(url, ['"one"', '"chunked"', '"three"']);
    expect(answers.map(({ status, body }) => [status, body.toString()])).toEqual([
      [200, '"one"'],
      [200, 'in "chunked"'],
      [200, '"three"'],
    ]);
    const connection = await openRawConnection(targetOf(url));
    await connection.write(postText(targetOf(url), '1'));
    expect((await connection.readHead()).status).toBe(200);
    connection.destroy();
    await connection.closed;
    server.close();
  });
});

describe('the reader of events', () => {
  it('joins data lines, keeps comments, and survives every split', async () => {
    const text = ': hello\n\nevent: message\nid: a\ndata: {"x":\ndata: "ą🙂"}\n\ndata: 2\r\n\r\n: bye\n\n';
    const bytes = Buffer.from(text);
    for (let size = 1; size <= bytes.length; size += 1) {
      async function* chunks() {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
      }
      const reader = createSseReader(chunks());
      expect(await reader.message()).toEqual({ x: 'ą🙂' });
      expect(await reader.next()).toMatchObject({ event: 'message', isNamed: false, data: '2', id: undefined });
      expect(await reader.next()).toBeUndefined();
      expect(reader.pendingComments).toEqual(['bye']);
    }
  });
});

describe('the temporary home', () => {
  it('is a folder of its own that goes away', async () => {
    const first = await withTemporaryHome(async ({ home, env }) => {
      expect(env.HOME).toBe(home);
      expect(env.XDG_STATE_HOME?.startsWith(home)).toBe(true);
      return home;
    });
    await withTemporaryHome(async ({ home }) => expect(home).not.toBe(first));
  });
});
