import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it } from 'vitest';
import { modernServer, openRoundRobin, readAll, readJournal, send, until } from './doubles/src/index.js';
import type { ModernStatistics } from './doubles/src/index.js';

/** A client of the SDK on the Modern server, without anything between. */
async function connect(script: Parameters<typeof modernServer>[0] = {}) {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    {
      capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  );
  const asked: string[] = [];
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params.mode ?? 'form');
    return params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { answer: params.message } };
  });
  client.setRequestHandler('sampling/createMessage', () => {
    asked.push('model');
    return { model: 'm', role: 'assistant', content: { type: 'text', text: 'thought' } };
  });
  client.setRequestHandler('roots/list', () => {
    asked.push('roots');
    return { roots: [{ uri: 'file:///tmp' }] };
  });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [...modernServer(script).args] }));
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { content } = await client.callTool({ name, arguments: args });
    return (content as { text: string }[]).map(({ text }) => text).join('');
  };
  return { client, asked, call };
}

describe('modernServer', () => {
  it('asks round after round, and does its work once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'thv-doubles-'));
    const journal = join(folder, 'journal');
    const { client, asked, call } = await connect({ journal });
    const { said, effects } = JSON.parse(await call('rounds', { count: 3 })) as { said: unknown[]; effects: number };
    expect(said).toEqual([1, 2, 3].map((n) => ({ action: 'accept', content: { answer: `Round ${n} of 3` } })));
    expect(effects).toBe(1);
    expect(asked).toEqual(['form', 'form', 'form']);
    const statistics = JSON.parse(await call('stats')) as ModernStatistics;
    expect(statistics).toMatchObject({ calls: { rounds: 4, stats: 1 }, effects: 1, cancelled: 0 });
    expect(readJournal(journal).filter(({ method }) => method === 'tools/call')).toHaveLength(5);
    await client.close();
    await rm(folder, { recursive: true });
  });

  it('asks for every kind at once, in tools, prompts and resources', async () => {
    const { client, asked, call } = await connect();
    const answers = JSON.parse(await call('ask', { kinds: ['form', 'url', 'model', 'roots'] })) as object;
    expect(Object.keys(answers).toSorted()).toEqual(['form', 'model', 'roots', 'url']);
    expect(asked.toSorted()).toEqual(['form', 'model', 'roots', 'url']);
    const { messages } = await client.getPrompt({ name: 'asking' });
    expect(JSON.stringify(messages)).toContain('What do you say?');
    const { contents } = await client.readResource({ uri: 'asking://anything' });
    expect(JSON.stringify(contents)).toContain('What do you say?');
    expect(await call('think', { times: 2 })).toBe('thought 2 times');
    await client.close();
  });

  it('reports progress, mirrors arguments and tells of changes', async () => {
    const { client } = await connect();
    const progress: number[] = [];
    await client.callTool(
      { name: 'progress', arguments: { count: 3, ms: 5 } },
      { onprogress: (step) => progress.push(step.progress) },
    );
    // The client of the SDK may forget its handler before it has handed over the last one.
    expect([1, 2, 3].slice(0, progress.length)).toEqual(progress);
    expect(progress.length).toBeGreaterThanOrEqual(2);
    const changes: string[] = [];
    client.setNotificationHandler('notifications/tools/list_changed', () => void changes.push('tools'));
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void changes.push(params.uri));
    const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['double://one'] });
    await client.callTool({ name: 'change', arguments: { list: 'tools' } });
    await client.callTool({ name: 'update', arguments: { uri: 'double://one' } });
    await until('both are heard', () => changes.length === 2);
    expect(changes).toEqual(['tools', 'double://one']);
    await subscription.close();
    await client.close();
  });
});

describe('openRoundRobin', () => {
  it('gives each connection to the next target', async () => {
    const servers = [0, 1].map((index) => createServer((_request, response) => response.end(String(index))));
    const urls: string[] = [];
    for (const server of servers) {
      await once(server.listen(0, '127.0.0.1'), 'listening');
      urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
    }
    const proxy = await openRoundRobin(urls);
    const answers: string[] = [];
    for (let count = 0; count < 4; count += 1)
      answers.push((await readAll(await send(proxy.url, { agent: false }))).text);
    expect(answers).toEqual(['0', '1', '0', '1']);
    expect(proxy.counts).toEqual([2, 2]);
    await proxy.close();
    for (const server of servers) server.close();
  });
});
