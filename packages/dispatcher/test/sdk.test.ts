import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { isAlive, until } from '@thv/doubles';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { realEndpoint } from './support/real.js';
import type { RealEndpoint, RealOptions } from './support/real.js';

const everything = {
  command: process.execPath,
  args: [fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js')), 'stdio'],
};
const info = { name: 'test', version: '1.0.0' };
let endpoint: RealEndpoint | undefined;
const clients: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await endpoint?.close();
});

async function open(options: Omit<RealOptions, 'command'> = {}): Promise<RealEndpoint> {
  endpoint = await realEndpoint({ ...options, command: everything });
  return endpoint;
}

function createV1(capabilities: Record<string, object> = {}): ClientV1 {
  const client = new ClientV1(info, { capabilities });
  clients.push(client);
  return client;
}

async function connectedV1(url: string): Promise<ClientV1> {
  const client = createV1();
  await client.connect(new TransportV1(new URL(url)));
  return client;
}

async function connectedV2(url: string, mode?: 'auto'): Promise<ClientV2> {
  const client = new ClientV2(info, mode === undefined ? {} : { versionNegotiation: { mode } });
  clients.push(client);
  await client.connect(new TransportV2(new URL(url)));
  return client;
}

const textOf = (result: unknown) =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join('\n');

describe('the official clients, all on one server process', () => {
  it('list, call, read and get prompts', async () => {
    const { url, connections } = await open();
    const [one, two, three] = await Promise.all([connectedV1(url), connectedV2(url), connectedV2(url, 'auto')]);
    for (const client of [one, two, three]) {
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
      expect(textOf(await client.callTool({ name: 'echo', arguments: { message: 'hi' } }))).toContain('hi');
      const { resources } = await client.listResources();
      const { contents } = await client.readResource({ uri: resources[0]?.uri ?? '' });
      expect(contents).not.toEqual([]);
      expect((await client.listPrompts()).prompts).not.toEqual([]);
      await client.ping();
    }
    expect(connections).toHaveLength(1);
  });

  it('get the progress of their own long call', async () => {
    const { url } = await open();
    const [one, two] = await Promise.all([connectedV1(url), connectedV2(url)]);
    const seen: Record<string, number[]> = { one: [], two: [] };
    const call = { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 } };
    await Promise.all([
      one.callTool(call, undefined, { onprogress: ({ progress }) => seen['one']?.push(progress) }),
      two.callTool(call, { onprogress: ({ progress }) => seen['two']?.push(progress) }),
    ]);
    expect(seen).toEqual({ one: [1, 2, 3], two: [1, 2, 3] });
  });

  it('are told of updates of what they subscribed to', async () => {
    const { url } = await open();
    const [one, other] = await Promise.all([connectedV1(url), connectedV1(url)]);
    const updates: string[] = [];
    let strange = 0;
    one.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updates.push(params.uri));
    other.setNotificationHandler(ResourceUpdatedNotificationSchema, () => void strange++);
    const { resources } = await one.listResources();
    const uri = resources[0]?.uri ?? '';
    await one.subscribeResource({ uri });
    await one.callTool({ name: 'toggle-subscriber-updates', arguments: {} });
    await until('an update comes', () => updates.length > 0, { timeoutMs: 20_000 });
    expect(updates[0]).toBe(uri);
    expect(strange).toBe(0);
    await one.unsubscribeResource({ uri });
  });

  it('begin anew when their session is gone', async () => {
    const { url, dispatcher } = await open();
    const client = await connectedV2(url);
    const transport = client.transport as TransportV2;
    const session = dispatcher.session(transport.sessionId ?? '');
    if (session !== undefined) dispatcher.endSession(session);
    await expect(client.listTools()).rejects.toThrow(/Session not found/);
    const again = await connectedV2(url);
    expect((await again.listTools()).tools).not.toEqual([]);
  });

  it('are not offered what a shared process cannot do', async () => {
    const { url } = await open();
    const client = createV1({ sampling: {}, elicitation: {}, roots: {} });
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [] }));
    await client.connect(new TransportV1(new URL(url)));
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).not.toContain('trigger-sampling-request');
    expect(names).not.toContain('trigger-elicitation-request');
  });
});

describe('the official clients, each with a process of its own', () => {
  const isolated = { dispatcher: { isolation: 'session' as const } };

  async function interactive(url: string, who: string): Promise<ClientV1> {
    const client = createV1({ sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } });
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

  it.each([false, true])('complete elicitation, sampling and roots at once, resumable: %s', async (resumability) => {
    const { url, connections } = await open({ dispatcher: { isolation: 'session', resumability } });
    const [alice, bob] = await Promise.all([interactive(url, 'alice'), interactive(url, 'bob')]);
    expect(connections).toHaveLength(2);
    await Promise.all(
      (
        [
          ['alice', alice],
          ['bob', bob],
        ] as const
      ).map(async ([who, client]) => {
        const other = who === 'alice' ? 'bob' : 'alice';
        const answers = [
          textOf(await client.callTool({ name: 'trigger-elicitation-request', arguments: {} })),
          textOf(await client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'p', maxTokens: 5 } })),
          textOf(await client.callTool({ name: 'get-roots-list', arguments: {} })),
        ];
        for (const answer of answers) {
          expect(answer).toContain(who);
          expect(answer).not.toContain(other);
        }
      }),
    );
  });

  it('leave no process behind', async () => {
    const { url, connections } = await open(isolated);
    const client = await interactive(url, 'alice');
    const pid = connections[0]?.pid ?? 0;
    expect(isAlive(pid)).toBe(true);
    await (client.transport as TransportV1).terminateSession();
    await until('the process is gone', () => !isAlive(pid));
  });
});
