import { describe, expect, it } from 'vitest';
import { hostileServer, isAlive, openSession, readAll, send, until, within } from './doubles/src/index.js';
import type { HostileScript, McpSession } from './doubles/src/index.js';
import { runThv } from './support/thv.js';
import type { RunningThv } from './support/thv.js';

interface Statistics {
  readonly pid: number;
  readonly initializes: number;
  readonly subscriptions: readonly string[];
  readonly level?: string;
}

const statisticsOf = async (session: McpSession) => JSON.parse(await session.callText('stats')) as Statistics;
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

async function withThv(
  script: HostileScript,
  options: readonly string[],
  action: (thv: RunningThv) => Promise<void>,
): Promise<void> {
  const thv = await runThv(hostileServer(script), options);
  try {
    await action(thv);
  } finally {
    await thv.close();
  }
}

/** Posts without a session. */
const post = async (url: string, message: unknown, more: Readonly<Record<string, string>> = {}) =>
  readAll(await send(url, { headers: { ...headers, ...more }, body: JSON.stringify(message) }));

describe.concurrent('one server for all', () => {
  it('sees one handshake, also when a second would end it', async () => {
    await withThv({ secondInitialize: 'exit' }, [], async ({ url }) => {
      const sessions = await Promise.all([openSession(url), openSession(url), openSession(url)]);
      sessions.push(await openSession(url));
      for (const session of sessions) expect((await statisticsOf(session)).initializes).toBe(1);
    });
  });

  it('serves a client that probes first, and then initializes twice', async () => {
    await withThv({ secondInitialize: 'error' }, [], async ({ url }) => {
      const probe = await post(url, { jsonrpc: '2.0', id: 0, method: 'server/discover' });
      expect(probe.message).toMatchObject({ id: 0, error: { code: -32601 } });
      const [first, second] = [await openSession(url), await openSession(url)];
      expect(first.sessionId).not.toBe(second.sessionId);
      expect(await second.callText('echo', { message: 'fine' })).toBe('fine');
    });
  });

  it('gives updates to those who subscribed, once each', async () => {
    await withThv({}, [], async ({ url }) => {
      const [subscriber, other] = await Promise.all([openSession(url), openSession(url)]);
      const [mine, theirs] = await Promise.all([subscriber.listen(), other.listen()]);
      await subscriber.request('resources/subscribe', { uri: 'hostile://one' });
      const update = { method: 'notifications/resources/updated', params: { uri: 'hostile://one' } };
      await other.callText('notify', update);
      await other.callText('notify', { method: 'notifications/prompts/list_changed' });
      expect(await within(5000, 'the update', mine.events.message())).toMatchObject(update);
      expect(await within(5000, 'the change', mine.events.message())).toMatchObject({
        method: 'notifications/prompts/list_changed',
      });
      // The first thing that the other one hears is what came after the update.
      const heard = await within(5000, 'the change', theirs.events.next());
      expect(JSON.parse(heard?.data ?? '')).toMatchObject({ method: 'notifications/prompts/list_changed' });
      expect(heard?.raw).toMatch(/^event: message\r?\n/m);
      mine.body.destroy();
      theirs.body.destroy();
    });
  });

  it('comes back with its handshake, subscriptions and log level, and tells that lists may have changed', async () => {
    await withThv({}, [], async ({ url }) => {
      const session = await openSession(url);
      const stream = await session.listen();
      await session.request('resources/subscribe', { uri: 'hostile://one' });
      await session.request('logging/setLevel', { level: 'warning' });
      const before = await until('the level has arrived', async () => {
        const found = await statisticsOf(session);
        return found.level === 'warning' && found;
      });
      await session.request('tools/call', { name: 'crash', arguments: {} });
      expect(isAlive(before.pid)).toBe(false);
      const kinds = new Set<unknown>();
      while (kinds.size < 3) kinds.add((await within(20_000, 'a change of lists', stream.events.message())).method);
      expect([...kinds].toSorted()).toEqual([
        'notifications/prompts/list_changed',
        'notifications/resources/list_changed',
        'notifications/tools/list_changed',
      ]);
      const after = await until('the level has arrived again', async () => {
        const found = await statisticsOf(session);
        return found.level === 'warning' && found;
      });
      expect(after.pid).not.toBe(before.pid);
      expect(after).toMatchObject({ initializes: 1, subscriptions: ['hostile://one'] });
      stream.body.destroy();
    });
  });

  it('has a page for health checks beside it', async () => {
    await withThv({}, [], async ({ url }) => {
      const { status, text } = await readAll(await send(new URL('/health', url)));
      expect(status).toBe(200);
      expect(JSON.parse(text)).toMatchObject({ status: 'healthy' });
      expect((await send(new URL('/elsewhere', url))).status).toBe(404);
    });
  });
});

describe.concurrent('a server for each session', () => {
  it('takes only its own session with it when it dies', async () => {
    await withThv({}, ['--isolation', 'session'], async ({ url }) => {
      const [dying, other] = await Promise.all([openSession(url), openSession(url)]);
      const failed = await dying.request('tools/call', { name: 'crash', arguments: {} });
      expect(failed.message?.error?.code).toBe(-32603);
      const gone = await dying.request('tools/list');
      expect([gone.status, gone.message?.error?.code]).toEqual([404, -32001]);
      expect(await other.callText('echo', { message: 'unharmed' })).toBe('unharmed');
      expect(await (await openSession(url)).callText('echo', { message: 'new' })).toBe('new');
    });
  });

  it('ends its server with the session', async () => {
    await withThv({}, ['--isolation', 'session'], async ({ url }) => {
      const session = await openSession(url);
      const { pid } = await statisticsOf(session);
      expect((await session.close()).status).toBe(204);
      await until('the server is gone', () => !isAlive(pid));
      expect((await session.request('ping')).status).toBe(404);
    });
  });

  it('asks a client only for what it offered', async () => {
    await withThv({}, ['--isolation', 'session'], async ({ url }) => {
      const session = await openSession(url);
      for (const method of ['sampling/createMessage', 'elicitation/create', 'roots/list']) {
        expect(JSON.parse(await session.callText('ask', { method, params: {} })), method).toMatchObject({
          error: { code: -32601 },
        });
      }
    });
  });
});

describe.concurrent('the flags of run', () => {
  it('--stateless leaves sessions and streams out', async () => {
    await withThv({}, ['--stateless'], async ({ url }) => {
      const get = await send(url, { headers: { accept: 'text/event-stream' } });
      expect(get.status).toBe(405);
      expect(get.headers.allow).toContain('POST');
      const { status, message } = await post(url, { jsonrpc: '2.0', id: 5, method: 'tools/list' });
      expect(status).toBe(200);
      expect(message).toMatchObject({ id: 5, result: { tools: expect.any(Array) as unknown[] } });
    });
  });

  it('--strict-protocol-validation refuses versions that do not exist', async () => {
    const unknown = { 'mcp-protocol-version': '1999-01-01' };
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    await withThv({}, ['--strict-protocol-validation'], async ({ url }) => {
      expect((await post(url, list, unknown)).status).toBe(400);
      expect((await post(url, list)).status).toBe(200);
    });
    await withThv({}, [], async ({ url }) => expect((await post(url, list, unknown)).status).toBe(200));
  });

  it('--session-ttl ends sessions that are not used', async () => {
    await withThv({}, ['--session-ttl', '1s'], async ({ url }) => {
      const session = await openSession(url);
      expect((await session.request('ping')).status).toBe(200);
      // Asking keeps a session alive: wait first.
      await new Promise((resolve) => setTimeout(resolve, 1600));
      const late = await session.request('ping');
      expect([late.status, late.message?.error?.code]).toEqual([404, -32001]);
    });
  });
});
