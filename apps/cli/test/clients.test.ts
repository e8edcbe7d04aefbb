import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { processesNaming, until } from '@thv/doubles';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openThv } from './support/thv.js';
import type { Thv } from './support/thv.js';

const require = createRequire(import.meta.url);
const info = { name: 'test', version: '1.0.0' };

/** Command line of one of the official servers. */
function official(name: string, ...args: string[]): string[] {
  const folder = dirname(require.resolve(`@modelcontextprotocol/server-${name}/package.json`));
  return [process.execPath, join(folder, 'dist/index.js'), ...args];
}

const textOf = (result: unknown): string =>
  (result as { content: { text?: string }[] }).content.map(({ text = '' }) => text).join('\n');

let thv: Thv;
const clients: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  thv = await openThv();
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map(async (client) => client.close()));
  await thv.run(['rm', '--all']);
});

afterAll(async () => {
  await thv.close();
});

async function connect(url: string): Promise<readonly [ClientV1, ClientV2]> {
  const one = new ClientV1(info);
  const two = new ClientV2(info);
  clients.push(one, two);
  await Promise.all([one.connect(new TransportV1(new URL(url))), two.connect(new TransportV2(new URL(url)))]);
  return [one, two];
}

describe('both official SDKs at one URL of thv run', () => {
  const thought = { thought: 'a', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 };

  it.each([
    ['everything', ['stdio'], 'echo', { message: 'hello' }, /hello/],
    ['filesystem', ['.'], 'list_allowed_directories', {}, /Allowed directories/],
    ['memory', [], 'read_graph', {}, /entities/],
    ['sequential-thinking', [], 'sequentialthinking', thought, /thoughtNumber/],
  ])('use server-%s', async (name, args, tool, parameters, answer) => {
    const url = await thv.ok(['run', '--name', name, '--', ...official(name, ...args)]);
    const [one, two] = await connect(url);
    for (const { tools } of [await one.listTools(), await two.listTools()]) {
      expect(tools.map((each) => each.name)).toContain(tool);
    }
    const call = { name: tool, arguments: parameters };
    const answers = await Promise.all([one.callTool(call), two.callTool(call)]);
    for (const result of answers) expect(textOf(result)).toMatch(answer);
    await thv.ok(['stop', name]);
    await thv.ok(['start', name]);
    const [again] = await connect(url);
    expect(textOf(await again.callTool(call))).toMatch(answer);
  });
});

describe.skipIf(process.platform !== 'linux')('clients with --isolation session', () => {
  async function interactive(url: string, who: string): Promise<ClientV1> {
    const client = new ClientV1(info, { capabilities: { sampling: {}, elicitation: { form: {} }, roots: {} } });
    clients.push(client);
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      model: 'none',
      role: 'assistant',
      content: { type: 'text', text: `sampled by ${who}` },
    }));
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: `asked ${who}` } }));
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file:///home/${who}`, name: who }] }));
    await client.connect(new TransportV1(new URL(url)));
    return client;
  }

  it('complete elicitation, sampling and roots at once, and their processes end with them', async () => {
    const mark = `isolated-${process.pid}`;
    const run = ['run', '--name', 'isolated', '--isolation', 'session', '--session-ttl', '2s'];
    const url = await thv.ok([...run, '--', ...official('everything', 'stdio', mark)]);
    await until('the trial is over', () => processesNaming(mark).length === 0);
    const [alice, bob] = await Promise.all([interactive(url, 'alice'), interactive(url, 'bob')]);
    expect(processesNaming(mark)).toHaveLength(2);
    const calls = [
      { name: 'trigger-elicitation-request', arguments: {} },
      { name: 'trigger-sampling-request', arguments: { prompt: 'p', maxTokens: 5 } },
      { name: 'get-roots-list', arguments: {} },
    ];
    const both = [
      ['alice', 'bob', alice],
      ['bob', 'alice', bob],
    ] as const;
    await Promise.all(
      both.map(async ([who, other, client]) => {
        for (const call of calls) {
          const text = textOf(await client.callTool(call));
          expect(text).toContain(who);
          expect(text).not.toContain(other);
        }
      }),
    );
    await (alice.transport as TransportV1).terminateSession();
    await until('the process of alice is gone', () => processesNaming(mark).length === 1);
    await bob.close();
    await until('the idle session is reaped', () => processesNaming(mark).length === 0, { timeoutMs: 15_000 });
  });
});
