import { describe, expect, it } from 'vitest';
import {
  hostileServer,
  hostileServerInShell,
  isAlive,
  losslessResult,
  openSession,
  processGroup,
  readAll,
  rssBytes,
  until,
  within,
} from './doubles/src/index.js';
import type { HostileScript } from './doubles/src/index.js';
import { runThv } from './support/thv.js';
import type { RunningThv } from './support/thv.js';

async function withThv(
  script: HostileScript,
  action: (thv: RunningThv) => Promise<void>,
  options: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const thv = await runThv(hostileServer(script), options, env);
  try {
    await action(thv);
  } finally {
    await thv.close();
  }
}

describe('a server that writes badly', () => {
  it.each<[string, HostileScript]>([
    ['a banner and noise', { banner: ['Starting…', '{ not json', '[]', ''], noiseEvery: 2, stderrBytes: 2_000_000 }],
    ['a byte order mark and CRLF', { bom: true, crlf: true }],
    ['marks around every message', { linePrefix: '>>> ', lineSuffix: ' <<<' }],
    ['one byte at a time', { splitBytes: 1 }],
    ['slowly', { startDelayMs: 500, initializeDelayMs: 500 }],
  ])('is understood: %s', async (_name, script) => {
    await withThv(script, async ({ url }) => {
      const session = await openSession(url);
      expect(await session.callText('echo', { message: 'ą€🙂漢' })).toBe('ą€🙂漢');
      const { text } = await session.request('tools/call', { name: 'lossless' });
      expect(text).toContain(losslessResult);
    });
  });
});

describe('a server that misbehaves while it runs', () => {
  it('confuses nobody', async () => {
    await withThv({}, async ({ url, pid }) => {
      const [session, other] = await Promise.all([openSession(url), openSession(url)]);
      const silent = await other.listen();
      expect(await session.callText('duplicate', { times: 5 })).toBe('answer 1');
      expect(await session.callText('wrong-ids')).toBe('yours');
      expect(await session.callText('batch-answer')).toBe('batch');
      expect(
        await session.callText('lines', { lines: ['{"jsonrpc":"1.0","id":$ID,"result":{}}', '}{', '"text"'] }),
      ).toBe('done');
      // What the earlier calls left over must not answer a later one.
      expect(await session.callText('echo', { message: 'mine' })).toBe('mine');
      expect(JSON.parse(await session.callText('ask', { method: 'sampling/createMessage', params: {} }))).toMatchObject(
        {
          error: { code: -32601 },
        },
      );
      expect(JSON.parse(await session.callText('ask', { method: 'ping' }))).toMatchObject({ result: {} });
      const before = rssBytes(pid);
      for (let turn = 0; turn < 3; turn += 1)
        await session.callText('flood', { count: 50_000, padding: 'x'.repeat(100) });
      expect((rssBytes(pid) - before) / 1024 ** 2).toBeLessThan(150);
      // Nothing of the flood reached a client that it does not concern; list changes do.
      await session.callText('notify', { method: 'notifications/tools/list_changed' });
      expect(await within(5000, 'the change of the list', silent.events.message())).toMatchObject({
        method: 'notifications/tools/list_changed',
      });
      silent.body.destroy();
    });
  });

  it('delivers progress before the result, also in one chunk, and to the one who asked', async () => {
    await withThv({}, async ({ url }) => {
      const [session, other] = await Promise.all([openSession(url), openSession(url)]);
      const call = (who: typeof session, progressToken: string | number) =>
        who.request('tools/call', {
          name: 'progress',
          arguments: { count: 3, sameChunk: true },
          _meta: { progressToken },
        });
      const [mine, theirs] = await Promise.all([call(session, 'token'), call(other, 7)]);
      for (const [answer, token] of [
        [mine, 'token'],
        [theirs, 7],
      ] as const) {
        expect(answer.messages.map(({ method, params }) => method ?? params)).toEqual([
          'notifications/progress',
          'notifications/progress',
          'notifications/progress',
          undefined,
        ]);
        expect(answer.messages.slice(0, 3).map(({ params }) => params?.progressToken)).toEqual([token, token, token]);
      }
    });
  });

  it('hands large answers on whole', async () => {
    await withThv({}, async ({ url }) => {
      const session = await openSession(url);
      expect((await session.callText('large', { bytes: 20_000_000 })).length).toBe(20_000_000);
      expect(await session.callText('echo', { message: 'next' })).toBe('next');
    });
  });
});

describe.concurrent('a server that dies', () => {
  it.each<[string, string, unknown]>([
    ['before its answer', 'crash', {}],
    ['in the middle of its answer', 'crash-mid-answer', {}],
    ['by a signal', 'crash', { how: 'SIGKILL' }],
    ['for its reader alone', 'close-stdout', {}],
  ])('%s fails what waits at once, and comes back', async (_name, tool, args) => {
    await withThv({ stderrLines: ['ready'] }, async ({ url }) => {
      const session = await openSession(url);
      const waiting = session.request('tools/call', { name: 'no-answer', arguments: {} });
      const started = performance.now();
      const [failed, other] = await Promise.all([
        session.request('tools/call', { name: tool, arguments: args }),
        within(5000, 'the other request to fail', waiting),
      ]);
      // The timeout of a request is a minute: whoever waits is told by the death itself.
      expect(performance.now() - started).toBeLessThan(5000);
      for (const answer of [failed, other]) {
        expect(answer.message?.error?.code, answer.text).toBe(-32603);
        expect(answer.message).toHaveProperty('id');
      }
      const meanwhile = await session.request('tools/list');
      if (meanwhile.status !== 200) {
        expect(meanwhile.status).toBe(503);
        expect(Number(meanwhile.headers['retry-after'])).toBeGreaterThan(0);
      }
      const again = await until(
        'the server is back',
        async () => {
          const answer = await session.request('tools/call', { name: 'echo', arguments: { message: 'back' } });
          return answer.status === 200 && answer.message?.result !== undefined && answer;
        },
        { timeoutMs: 20_000, intervalMs: 200 },
      );
      expect(again.text).toContain('back');
    });
  });

  it('at the start leaves one clear error with its last words', async () => {
    const dying = hostileServer({ stderrLines: ['configuration missing: TOKEN'], crash: { at: 'start', how: 3 } });
    await expect(runThv(dying)).rejects.toThrow(/exit code 1:[\s\S]*configuration missing: TOKEN/);
  });

  it('during initialize leaves one clear error', async () => {
    const dying = hostileServer({ stderrLines: ['bad handshake'], crash: { at: 'initialize', how: 9 } });
    await expect(runThv(dying)).rejects.toThrow(/exit code 1:[\s\S]*bad handshake/);
  });
});

describe.concurrent('a server that does not answer', () => {
  it('is told when a request times out', async () => {
    await withThv(
      {},
      async ({ url }) => {
        const session = await openSession(url);
        const { message } = await session.request('tools/call', { name: 'no-answer' });
        expect(message?.error?.code).toBe(-32_000);
        const { cancelled } = JSON.parse(await session.callText('stats')) as { cancelled: unknown[] };
        expect(cancelled).toHaveLength(1);
      },
      [],
      { TOOLHIVE_PROXY_REQUEST_TIMEOUT: '500ms' },
    );
  });

  it('fills a bounded queue while it reads nothing, and then goes on', async () => {
    await withThv({}, async ({ url, pid }) => {
      const sessions = await Promise.all(Array.from({ length: 6 }, () => openSession(url)));
      const [first] = sessions;
      const before = rssBytes(pid);
      const frozen = first?.callText('block', { ms: 3000 });
      const message = 'x'.repeat(1_000_000);
      const answers = await Promise.all(
        sessions.flatMap((session) =>
          Array.from({ length: 40 }, () => session.request('tools/call', { name: 'echo', arguments: { message } })),
        ),
      );
      const refused = answers.filter(({ status }) => status !== 200);
      expect(refused.length).toBeGreaterThan(0);
      for (const { status, headers, message: body } of refused) {
        expect([status, body?.error?.code]).toEqual([503, -32603]);
        expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      }
      expect((rssBytes(pid) - before) / 1024 ** 2).toBeLessThan(150);
      expect(await frozen).toBe('awake');
      // Whatever was accepted is answered.
      for (const { text, status } of answers) if (status === 200) expect(text).toContain(message);
      expect(await first?.callText('echo', { message: 'after' })).toBe('after');
    });
  });

  it('is told when a client cancels', async () => {
    await withThv({}, async ({ url }) => {
      const session = await openSession(url);
      const slow = session.post({
        jsonrpc: '2.0',
        id: 'slow',
        method: 'tools/call',
        params: { name: 'no-answer', arguments: {} },
      });
      await until('the call has reached the server', async () => {
        return (JSON.parse(await session.callText('stats')) as { toolCalls: number }).toolCalls > 1;
      });
      await session.notify('notifications/cancelled', { requestId: 'slow', reason: 'changed my mind' });
      await within(3000, 'the cancelled request to end', slow.then(readAll));
      const { cancelled } = JSON.parse(await session.callText('stats')) as { cancelled: { reason: string }[] };
      expect(cancelled).toMatchObject([{ reason: 'changed my mind' }]);
    });
  });
});

describe.concurrent('a server that will not end', () => {
  it('ends with its shell and its children', async () => {
    const command = hostileServerInShell({
      ignoreSignals: ['SIGTERM', 'SIGINT', 'SIGHUP'],
      ignoreStdinEnd: true,
      grandchild: { ignoreSignals: ['SIGTERM', 'SIGINT', 'SIGHUP'], inheritStdio: true },
    });
    const thv = await runThv(command);
    const [leader] = thv.backends();
    const group = processGroup(leader?.group ?? 0);
    expect(group.length).toBeGreaterThanOrEqual(3);
    await thv.close();
    await until('the whole group is gone', () => group.every(({ pid }) => !isAlive(pid)));
  });
});
