import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import type { VersionNegotiationMode } from '@modelcontextprotocol/client';

/** What the tests ask of an official client, whichever its version. */
export interface OfficialClient {
  readonly serverName: string | undefined;
  readonly sessionId: string | undefined;
  listToolNames(): Promise<string[]>;
  /** Calls a tool; answers the text of its content, and the progress that came meanwhile. */
  call(name: string, args?: Record<string, unknown>): Promise<{ text: string; progress: number[] }>;
  readText(uri: string): Promise<string>;
  listPromptNames(): Promise<string[]>;
  /** The text of the first message of a prompt. */
  getPrompt(name: string): Promise<string>;
  /** Ends the session as the SDK does it. */
  close(): Promise<void>;
}

/** How a client answers what a server asks; all three are offered when given. */
export interface Person {
  readonly name: string;
  /** What the user types into a form. */
  readonly form: Record<string, string | number | boolean>;
  /** What the model says. */
  readonly model: string;
  readonly root: string;
  /** What the user does with a form or an address. @defaultValue 'accept' */
  readonly action?: 'accept' | 'decline' | 'cancel';
  /** Called with the method and the parameters of each question before it is answered; may take its time. */
  readonly onAsk?: (method: string, params: unknown) => void | Promise<void>;
  /** Sent with every request. */
  readonly token?: string;
}

interface CallResult {
  readonly content?: unknown;
}

const textOf = (result: CallResult): string =>
  ((result.content ?? []) as { readonly type: string; readonly text?: string }[])
    .map(({ text }) => text ?? '')
    .join('\n');

const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const elicitationOf = ({ action = 'accept', form }: Person, params: unknown) =>
  action === 'accept' && (params as { readonly mode?: string }).mode !== 'url' ? { action, content: form } : { action };
const headersOf = (person?: Person) =>
  person?.token === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${person.token}` } } };
const answersOf = (person: Person) => ({
  sampling: {
    model: `model of ${person.name}`,
    role: 'assistant' as const,
    content: { type: 'text' as const, text: person.model },
  },
  roots: { roots: [{ uri: person.root, name: `root of ${person.name}` }] },
});

async function connectV1(url: string, person?: Person): Promise<OfficialClient> {
  const client = new ClientV1(
    { name: person?.name ?? 'v1', version: '1.0.0' },
    person === undefined ? {} : { capabilities },
  );
  if (person !== undefined) {
    const answers = answersOf(person);
    client.setRequestHandler(ElicitRequestSchema, async ({ method, params }) => {
      await person.onAsk?.(method, params);
      return elicitationOf(person, params);
    });
    client.setRequestHandler(CreateMessageRequestSchema, async ({ method, params }) => {
      await person.onAsk?.(method, params);
      return answers.sampling;
    });
    client.setRequestHandler(ListRootsRequestSchema, async ({ method, params }) => {
      await person.onAsk?.(method, params);
      return answers.roots;
    });
  }
  const transport = new TransportV1(new URL(url), headersOf(person));
  // The package declares its optional properties without `undefined`, unlike its own interface.
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return {
    serverName: client.getServerVersion()?.name,
    sessionId: transport.sessionId,
    listToolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, args = {}) {
      const progress: number[] = [];
      const onprogress = ({ progress: value }: { readonly progress: number }) => void progress.push(value);
      const result = await client.callTool({ name, arguments: args }, undefined, { onprogress });
      return { text: textOf(result as CallResult), progress };
    },
    async readText(uri) {
      const { contents } = await client.readResource({ uri });
      return contents.map((content) => ('text' in content ? content.text : '')).join('\n');
    },
    listPromptNames: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    async getPrompt(name) {
      const { content } = (await client.getPrompt({ name })).messages[0] ?? {};
      return content?.type === 'text' ? content.text : '';
    },
    async close() {
      await transport.terminateSession();
      await client.close();
    },
  };
}

async function connectV2(
  url: string,
  person?: Person,
  mode: VersionNegotiationMode = 'legacy',
): Promise<OfficialClient> {
  const client = new ClientV2(
    { name: person?.name ?? 'v2', version: '1.0.0' },
    { ...(person === undefined ? {} : { capabilities }), versionNegotiation: { mode } },
  );
  if (person !== undefined) {
    const answers = answersOf(person);
    client.setRequestHandler('elicitation/create', async ({ method, params }) => {
      await person.onAsk?.(method, params);
      return elicitationOf(person, params);
    });
    client.setRequestHandler('sampling/createMessage', async ({ method, params }) => {
      await person.onAsk?.(method, params);
      return answers.sampling;
    });
    client.setRequestHandler('roots/list', async ({ method, params }) => {
      await person.onAsk?.(method, params);
      return answers.roots;
    });
  }
  const transport = new TransportV2(new URL(url), headersOf(person));
  await client.connect(transport);
  return {
    serverName: client.getServerVersion()?.name,
    sessionId: transport.sessionId,
    listToolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, args = {}) {
      const progress: number[] = [];
      const onprogress = ({ progress: value }: { readonly progress: number }) => void progress.push(value);
      const result = await client.callTool({ name, arguments: args }, { onprogress });
      return { text: textOf(result as CallResult), progress };
    },
    async readText(uri) {
      const { contents } = await client.readResource({ uri });
      return contents.map((content) => ('text' in content ? content.text : '')).join('\n');
    },
    listPromptNames: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
    async getPrompt(name) {
      const { content } = (await client.getPrompt({ name })).messages[0] ?? {};
      return content?.type === 'text' ? content.text : '';
    },
    async close() {
      await transport.terminateSession();
      await client.close();
    },
  };
}

/** The official clients by the era that they speak to an endpoint of both. */
export const eraClients = [
  { client: 'v1', era: 'legacy', connect: connectV1 },
  { client: 'v2', era: 'legacy', connect: (url: string, person?: Person) => connectV2(url, person, 'legacy') },
  { client: 'v2 auto', era: 'modern', connect: (url: string, person?: Person) => connectV2(url, person, 'auto') },
  {
    client: 'v2 pinned',
    era: 'modern',
    connect: (url: string, person?: Person) => connectV2(url, person, { pin: '2026-07-28' }),
  },
] as const;

/** Both official SDKs for TypeScript. */
export const officialClients = [
  { sdk: '@modelcontextprotocol/sdk', connect: connectV1 },
  { sdk: '@modelcontextprotocol/client', connect: connectV2 },
] as const;
