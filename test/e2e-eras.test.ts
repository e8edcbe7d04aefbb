import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eraClients, modernServer, readJournal } from './doubles/src/index.js';
import type { Command, Person } from './doubles/src/index.js';
import { runThv } from './support/thv.js';
import type { RunningThv } from './support/thv.js';

const everything: Command = {
  command: process.execPath,
  args: [fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js')), 'stdio'],
};

let folder: string;
const running = new Map<'legacy' | 'modern', RunningThv>();
const urlOf = (server: 'legacy' | 'modern'): string => running.get(server)?.url ?? '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'thv-eras-'));
  const [legacy, modern] = await Promise.all([
    runThv(everything, ['--isolation', 'lease']),
    runThv(modernServer({ journal: join(folder, 'journal') })),
  ]);
  running.set('legacy', legacy).set('modern', modern);
});

afterAll(async () => {
  for (const [name, thv] of running) expect(await thv.close(), `${name}: ${thv.stderr()}`).toBe(130);
  await rm(folder, { recursive: true, force: true });
});

/** A person who keeps what was asked. */
function personCalled(name: string, action: Person['action'] = 'accept') {
  const asked: string[] = [];
  const person: Person = {
    name,
    form: { name, check: true, answer: `${name} says so` },
    model: `thought for ${name}`,
    root: `file:///home/${name}`,
    action,
    onAsk: (method, params) => {
      const mode = (params as { readonly mode?: string } | undefined)?.mode;
      asked.push(mode === 'url' ? 'url' : method);
    },
  };
  return { person, asked };
}

describe.each(eraClients)('a $client client ($era)', ({ client: name, connect }) => {
  const user = name.replace(' ', '-');

  it('uses a Legacy server that asks its user, its model and its folders', async () => {
    const { person, asked } = personCalled(user);
    const client = await connect(urlOf('legacy'), person);
    expect(await client.listToolNames()).toEqual(
      expect.arrayContaining(['trigger-elicitation-request', 'trigger-sampling-request', 'trigger-url-elicitation']),
    );
    expect((await client.call('trigger-elicitation-request')).text).toContain(user);
    expect((await client.call('trigger-sampling-request', { prompt: 'Think' })).text).toContain(`thought for ${user}`);
    expect((await client.call('get-roots-list')).text).toContain(`file:///home/${user}`);
    const { text } = await client.call('trigger-url-elicitation', { url: 'https://example.com/consent' });
    expect(text).toMatch(/accept/i);
    const questions = asked.filter((question) => question !== 'roots/list');
    expect(questions).toEqual(['elicitation/create', 'sampling/createMessage', 'url']);
    expect(asked).toContain('roots/list');
    await client.close();
  });

  it('uses a Legacy server that asks nothing: progress, resources, prompts', async () => {
    const client = await connect(urlOf('legacy'));
    expect((await client.call('echo', { message: 'ą€🙂漢' })).text).toContain('ą€🙂漢');
    const { progress } = await client.call('trigger-long-running-operation', { duration: 0.2, steps: 4 });
    expect(progress).toEqual([1, 2, 3, 4]);
    expect(await client.readText('demo://resource/dynamic/text/1')).toContain('Resource 1');
    expect(await client.listPromptNames()).toContain('simple-prompt');
    expect(await client.listToolNames()).not.toContain('trigger-elicitation-request');
    await client.close();
  });

  it('hears of a Legacy server that its user declined, or cancelled', async () => {
    for (const [action, heard] of [
      ['decline', /declined/i],
      ['cancel', /cancelled/i],
    ] as const) {
      const { person, asked } = personCalled(user, action);
      const client = await connect(urlOf('legacy'), person);
      expect((await client.call('trigger-elicitation-request')).text).toMatch(heard);
      expect(asked.filter((question) => question !== 'roots/list')).toEqual(['elicitation/create']);
      await client.close();
    }
  });

  it('uses a Modern server that asks round after round', async () => {
    const { person, asked } = personCalled(user);
    const client = await connect(urlOf('modern'), person);
    const { said } = JSON.parse((await client.call('rounds', { count: 3 })).text) as { said: unknown[] };
    expect(said).toEqual(Array.from({ length: 3 }, () => ({ action: 'accept', content: person.form })));
    expect(asked).toEqual(Array.from({ length: 3 }, () => 'elicitation/create'));
    await client.close();
  });

  it('uses a Modern server that asks for everything at once, in tools, prompts and resources', async () => {
    const { person, asked } = personCalled(user);
    const client = await connect(urlOf('modern'), person);
    const answers = JSON.parse((await client.call('ask', { kinds: ['form', 'url', 'model', 'roots'] })).text) as object;
    expect(answers).toMatchObject({
      form: { action: 'accept', content: { answer: `${user} says so` } },
      url: { action: 'accept' },
      model: { content: { text: `thought for ${user}` } },
      roots: { roots: [{ uri: `file:///home/${user}` }] },
    });
    expect(asked.toSorted()).toEqual(['elicitation/create', 'roots/list', 'sampling/createMessage', 'url']);
    expect(await client.getPrompt('asking')).toContain(`${user} says so`);
    expect(await client.readText('asking://something')).toContain(`${user} says so`);
    await client.close();
  });

  it('tells a Modern server that its user declined, or cancelled', async () => {
    for (const action of ['decline', 'cancel'] as const) {
      const { person, asked } = personCalled(user, action);
      const client = await connect(urlOf('modern'), person);
      const answers: unknown = JSON.parse((await client.call('ask', { kinds: ['form'] })).text);
      expect(answers).toEqual({ form: { action } });
      expect(asked).toEqual(['elicitation/create']);
      await client.close();
    }
  });

  it('uses a Modern server that asks nothing: progress, resources, mirrored arguments', async () => {
    const client = await connect(urlOf('modern'));
    expect((await client.call('echo', { message: 'ą€🙂漢' })).text).toBe('ą€🙂漢');
    expect((await client.call('progress', { count: 4 })).progress).toEqual([1, 2, 3, 4]);
    expect(await client.readText('double://one')).toBe('content of one');
    await client.listToolNames();
    const args = { region: 'Zürich', attempt: 7, note: 'not mirrored' };
    expect(JSON.parse((await client.call('mirrored', args)).text)).toEqual(args);
    await client.close();
  });

  it('is told where a Modern server needs what the client has not declared', async () => {
    const client = await connect(urlOf('modern'));
    const before = readJournal(join(folder, 'journal')).length;
    // A Legacy client has no such error; for it the tool fails.
    const heard = await client.call('ask', { kinds: ['model'] }).then(
      ({ text }) => text,
      (error: Error & { readonly code?: number }) => `${error.code} ${error.message}`,
    );
    expect(heard).toMatch(/sampling/i);
    const after = readJournal(join(folder, 'journal')).slice(before);
    expect(after.filter(({ name: tool }) => tool === 'ask')).toHaveLength(1);
    await client.close();
  });
});

describe('each of the servers', () => {
  it('is one process where it is Modern, and none is left over where it is leased', () => {
    expect(running.get('modern')?.backends()).toHaveLength(1);
  });
});
