import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  hostileServer,
  isAlive,
  officialClients,
  openSession,
  readAll,
  rssBytes,
  send,
  until,
} from './doubles/src/index.js';
import type { McpSession } from './doubles/src/index.js';
import { runThv } from './support/thv.js';
import type { RunningThv } from './support/thv.js';

const everything = {
  command: process.execPath,
  args: [fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js')), 'stdio'],
};

describe('a server process for each session', () => {
  let thv: RunningThv;
  beforeAll(async () => {
    thv = await runThv(everything, ['--isolation', 'session']);
  });
  afterAll(async () => {
    await thv.close();
  });

  it('lets two clients at once be asked, each its own questions', async () => {
    const people = [
      { name: 'alice', form: { name: 'Alice A.', integer: 11 }, model: 'a poem by alice', root: 'file:///home/alice' },
      { name: 'bob', form: { name: 'Bob B.', integer: 22 }, model: 'a poem by bob', root: 'file:///home/bob' },
    ] as const;
    const answers = await Promise.all(
      people.map(async (person, index) => {
        const client = await officialClients[index % 2 === 0 ? 0 : 1].connect(thv.url, person);
        const [elicitation, sampling, roots] = await Promise.all([
          client.call('trigger-elicitation-request'),
          client.call('trigger-sampling-request', { prompt: `of ${person.name}`, maxTokens: 50 }),
          client.call('get-roots-list'),
        ]);
        return { client, texts: [elicitation.text, sampling.text, roots.text] };
      }),
    );
    for (const [index, person] of people.entries()) {
      const texts = answers[index]?.texts ?? [];
      const other = people[1 - index]?.name ?? '';
      expect(texts[0]).toContain(person.form.name);
      expect(texts[1]).toContain(person.model);
      expect(texts[2]).toContain(person.root);
      expect(texts.join('\n').toLowerCase()).not.toContain(other);
    }
    expect(thv.backends()).toHaveLength(2);
    await Promise.all(answers.map(({ client }) => client.close()));
    await until('the processes of both sessions are gone', () => thv.backends().length === 0);
  });
});

describe('the limit of sessions that have a process', () => {
  it('answers the 33rd with 503, reaps idle ones, and then serves again', async () => {
    const thv = await runThv(hostileServer(), ['--isolation', 'session', '--session-ttl', '5s']);
    try {
      const sessions: McpSession[] = [];
      for (let batch = 0; batch < 4; batch += 1) {
        sessions.push(...(await Promise.all(Array.from({ length: 8 }, () => openSession(thv.url)))));
      }
      const [first] = sessions;
      const pids = await Promise.all(sessions.map(pidOf));
      expect(new Set(pids).size).toBe(32);

      const refused = await postInitialize(thv.url);
      expect(refused.status).toBe(503);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
      expect(refused.message).toMatchObject({ jsonrpc: '2.0', id: 1, error: { code: expect.any(Number) as number } });
      expect(refused.headers['mcp-session-id']).toBeUndefined();

      await until('all idle processes are gone', () => pids.every((pid) => !isAlive(pid)), { timeoutMs: 30_000 });
      expect(thv.backends()).toHaveLength(0);
      const stale = await first?.request('tools/list');
      expect(stale?.status).toBe(404);
      expect(stale?.message?.error?.code).toBe(-32001);
      expect(await (await openSession(thv.url)).callText('echo', { message: 'again' })).toBe('again');
    } finally {
      await thv.close();
    }
  });
});

describe('200 sessions on one shared server', () => {
  it('each get their own answers, in little memory', async () => {
    const thv = await runThv(hostileServer());
    try {
      const sessions = await Promise.all(Array.from({ length: 200 }, () => openSession(thv.url)));
      expect(new Set(sessions.map(({ sessionId }) => sessionId)).size).toBe(200);
      for (let round = 0; round < 3; round += 1) {
        // Every session uses the same JSON-RPC ids, and late answers overtake one another.
        const answers = await Promise.all(
          sessions.map((session, index) =>
            session.callText('delay', { ms: (index * 7) % 50, message: `${round}/${index}` }),
          ),
        );
        expect(answers).toEqual(sessions.map((_session, index) => `${round}/${index}`));
      }
      const statistics = JSON.parse((await sessions[0]?.callText('stats')) ?? '') as { initializes: number };
      expect(statistics.initializes).toBe(1);
      expect(thv.backends()).toHaveLength(1);
      expect(rssBytes(thv.pid) / 1024 ** 2).toBeLessThan(150);
    } finally {
      await thv.close();
    }
  });
});

async function pidOf(session: McpSession): Promise<number> {
  return (JSON.parse(await session.callText('stats')) as { pid: number }).pid;
}

async function postInitialize(url: string) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'one more', version: '1' } };
  return readAll(
    await send(url, {
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    }),
  );
}
