import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { officialClients } from './doubles/src/index.js';
import { runThv } from './support/thv.js';
import type { RunningThv } from './support/thv.js';

const program = (name: string) =>
  fileURLToPath(import.meta.resolve(`@modelcontextprotocol/server-${name}/dist/index.js`));
const node = (name: string, ...args: string[]) => ({ command: process.execPath, args: [program(name), ...args] });

let folder: string;
const running = new Map<string, RunningThv>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-e2e-'));
  await writeFile(join(folder, 'note.txt'), 'written beforehand');
  const starts = [
    ['everything', node('everything', 'stdio'), []],
    ['filesystem', node('filesystem', folder), []],
    ['memory', node('memory'), ['-e', `MEMORY_FILE_PATH=${join(folder, 'memory.jsonl')}`]],
    ['sequential-thinking', node('sequential-thinking'), []],
  ] as const;
  for (const [name, command, options] of starts) running.set(name, await runThv(command, options));
});

afterAll(async () => {
  for (const [name, thv] of running) expect(await thv.close(), `${name}: ${thv.stderr()}`).toBe(130);
  await rm(folder, { recursive: true, force: true });
});

const urlOf = (name: string): string => running.get(name)?.url ?? '';

describe.each(officialClients)('a client made with $sdk', ({ sdk, connect }) => {
  it('uses server-everything: tools, progress, resources, prompts', async () => {
    const client = await connect(urlOf('everything'));
    expect(client.sessionId).toMatch(/^[\x21-\x7e]+$/);
    expect(await client.listToolNames()).toEqual(expect.arrayContaining(['echo', 'get-sum']));
    expect((await client.call('echo', { message: 'ą€🙂漢' })).text).toContain('ą€🙂漢');
    expect((await client.call('get-sum', { a: 2, b: 40 })).text).toContain('42');
    const { progress } = await client.call('trigger-long-running-operation', { duration: 0.4, steps: 4 });
    expect(progress).toEqual([1, 2, 3, 4]);
    expect(await client.readText('demo://resource/dynamic/text/1')).toContain('Resource 1');
    expect(await client.listPromptNames()).toContain('simple-prompt');
    await client.close();
  });

  it('uses server-filesystem', async () => {
    const client = await connect(urlOf('filesystem'));
    expect((await client.call('read_text_file', { path: join(folder, 'note.txt') })).text).toBe('written beforehand');
    const path = join(folder, `${sdk.split('/')[1]}.txt`);
    const content = `by ${sdk}\u2028 with separators\n`.repeat(5000);
    await client.call('write_file', { path, content });
    expect(await readFile(path, 'utf8')).toBe(content);
    expect((await client.call('read_text_file', { path })).text).toBe(content);
    await client.close();
  });

  it('uses server-memory', async () => {
    const client = await connect(urlOf('memory'));
    await client.call('create_entities', {
      entities: [{ name: sdk, entityType: 'sdk', observations: ['is official'] }],
    });
    const graph = JSON.parse((await client.call('read_graph')).text) as { entities: { name: string }[] };
    expect(graph.entities.map(({ name }) => name)).toContain(sdk);
    await client.close();
  });

  it('uses server-sequential-thinking', async () => {
    const client = await connect(urlOf('sequential-thinking'));
    const thought = { thought: 'first', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };
    const { text } = await client.call('sequentialthinking', thought);
    expect(JSON.parse(text)).toMatchObject({ thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false });
    await client.close();
  });
});

describe('each of the servers', () => {
  it('runs once, however many clients it has', () => {
    for (const [name, thv] of running) expect(thv.backends(), name).toHaveLength(1);
  });
});
