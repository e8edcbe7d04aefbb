import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerRounds, modernServer, openRoundRobin, textOf } from './doubles/src/index.js';
import type { RoundRobin } from './doubles/src/index.js';
import { openJournal } from './support/journal.js';
import type { Journal } from './support/journal.js';
import { runThv } from './support/thv.js';
import type { RunningThv } from './support/thv.js';

const accept = (answer: string) => ({ action: 'accept', content: { answer } });

let folder: string;
let journals: readonly Journal[];
let replicas: readonly RunningThv[];
let proxy: RoundRobin;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-replicas-'));
  const keyFile = join(folder, 'state-key');
  await writeFile(keyFile, `${Buffer.alloc(32, 9).toString('base64')}\n`, { mode: 0o600 });
  journals = [await openJournal(), await openJournal()];
  const key = 'the servers of both replicas share this key';
  replicas = await Promise.all(
    journals.map(({ file }) => runThv(modernServer({ journal: file, key }), ['--state-key-file', keyFile])),
  );
  proxy = await openRoundRobin(replicas.map(({ url }) => url));
});

afterAll(async () => {
  await proxy.close();
  for (const thv of replicas) await thv.close();
  for (const journal of journals) await journal.close();
  await rm(folder, { recursive: true, force: true });
});

describe('two replicas behind a round-robin proxy', () => {
  it('complete a flow whose rounds reach both', async () => {
    const params = { name: 'rounds', arguments: { count: 5 } };
    const options = { capabilities: { elicitation: {} }, agent: false } as const;
    const { rounds, last } = await answerRounds(
      proxy.url,
      'tools/call',
      params,
      (_k, _m, n) => accept(String(n)),
      options,
    );
    expect(rounds).toHaveLength(5);
    for (const { requestState } of rounds) expect(requestState).toMatch(/^thv1\./);
    expect(JSON.parse(textOf(last))).toMatchObject({
      said: [1, 2, 3, 4, 5].map((n) => accept(String(n))),
      effects: 1,
    });
    expect(journals.map((journal) => journal.calls('rounds'))).toEqual([3, 3]);
    expect(proxy.counts).toEqual([3, 3]);
  });
});
