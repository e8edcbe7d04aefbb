import { createMemoryConnection, createMessage } from '@thv/transport';
import type { MemoryPeer, Message, Principal } from '@thv/transport';
import { afterEach, describe, expect, it } from 'vitest';
import { createDispatcher } from '../src/index.js';
import type { ClientSession, Dispatcher, Outcome, Reply, StreamSink } from '../src/index.js';

const ada: Principal = { subject: 'ada', issuer: 'https://id.example' };
const bob: Principal = { subject: 'bob', issuer: 'https://id.example' };

interface Backend {
  readonly peer: MemoryPeer;
  readonly principal: Principal | undefined;
  readonly seen: Message[];
}

let dispatcher: Dispatcher | undefined;
afterEach(() => dispatcher?.close());

/** A dispatcher whose servers answer the handshake, and keep everything else for the test. */
function open(options: { readonly maxBackends?: number } = {}) {
  const backends: Backend[] = [];
  const made = createDispatcher({
    isolation: 'principal',
    ...options,
    connect: ({ principal }) => {
      const { connection, peer } = createMemoryConnection();
      const seen: Message[] = [];
      backends.push({ peer, principal, seen });
      peer.onMessage = (message) => {
        seen.push(message);
        const id = JSON.parse(message.idText ?? 'null') as unknown;
        const capabilities = { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} };
        const result = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 's', version: '1' } };
        if (message.method === 'initialize') peer.send(createMessage({ jsonrpc: '2.0', id, result }));
        else if (message.method === 'tools/list')
          peer.send(createMessage({ jsonrpc: '2.0', id, result: { tools: [] } }));
        else if (message.method === 'logging/setLevel') peer.send(createMessage({ jsonrpc: '2.0', id, result: {} }));
      };
      return connection;
    },
  });
  dispatcher = made;
  return { dispatcher: made, backends };
}

const ask = (
  { request }: Pick<Dispatcher, 'request'>,
  method: string,
  origin: { readonly session?: ClientSession; readonly principal?: Principal },
  params: object = {},
): Promise<Outcome> =>
  new Promise((settle) => {
    const reply: Reply = {
      streams: false,
      open: true,
      bufferedBytes: 0,
      send: () => true,
      keepAlive: () => undefined,
      settle,
    };
    request(createMessage({ jsonrpc: '2.0', id: 1, method, params }), reply, {
      session: origin.session,
      principal: origin.principal,
    });
  });

async function sessionOf(made: Dispatcher, principal: Principal | undefined): Promise<ClientSession> {
  const outcome = await ask(
    { request: (...args) => made.request(...args) },
    'initialize',
    principal === undefined ? {} : { principal },
    { protocolVersion: '2025-11-25', capabilities: { elicitation: {} }, clientInfo: { name: 'c', version: '1' } },
  );
  if (outcome.kind !== 'answer' || outcome.session === undefined) throw new Error(JSON.stringify(outcome));
  return outcome.session;
}

function listen(made: Dispatcher, session: ClientSession): Message[] {
  const got: Message[] = [];
  const sink: StreamSink = {
    open: true,
    bufferedBytes: 0,
    send: (message) => got.push(message) > 0,
    keepAlive: () => undefined,
    end: () => undefined,
  };
  made.openStream(session, sink);
  return got;
}

describe('isolation by principal', () => {
  it('gives each caller a backend, and all sessions of one caller the same', async () => {
    const { dispatcher: made, backends } = open();
    await sessionOf(made, ada);
    await sessionOf(made, ada);
    await sessionOf(made, bob);
    await sessionOf(made, undefined);
    expect(backends.map(({ principal }) => principal?.subject)).toEqual(['ada', 'bob', undefined]);
    expect(made.stats()).toMatchObject({ sessions: 4, backends: 3 });
  });

  it('tells the news of a backend to its caller alone', async () => {
    const { dispatcher: made, backends } = open();
    const [one, two, other] = [await sessionOf(made, ada), await sessionOf(made, ada), await sessionOf(made, bob)];
    const streams = [one, two, other].map((session) => listen(made, session));
    const news = createMessage({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    const log = createMessage({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'info', data: 'x' },
    });
    backends[0]?.peer.send(news);
    backends[0]?.peer.send(log);
    expect(streams.map((got) => got.map(({ method }) => method))).toEqual([
      ['notifications/tools/list_changed', 'notifications/message'],
      ['notifications/tools/list_changed', 'notifications/message'],
      [],
    ]);
  });

  it('lets a backend ask while its caller has exactly one session', async () => {
    const { dispatcher: made, backends } = open();
    const one = await sessionOf(made, ada);
    await sessionOf(made, bob);
    const stream = listen(made, one);
    const question = createMessage({
      jsonrpc: '2.0',
      id: 'q',
      method: 'elicitation/create',
      params: { message: '?', requestedSchema: { type: 'object', properties: {} } },
    });
    backends[0]?.peer.send(question);
    expect(stream.map(({ method }) => method)).toEqual(['elicitation/create']);
    const answer = createMessage({ jsonrpc: '2.0', id: 'q', result: { action: 'decline' } });
    expect(made.respond(answer, { session: one, principal: ada })).toBe('taken');
    expect(backends[0]?.seen.at(-1)?.json()).toMatchObject({ id: 'q', result: { action: 'decline' } });
    await sessionOf(made, ada);
    backends[0]?.peer.send(question);
    expect(stream).toHaveLength(1);
    expect(backends[0]?.seen.at(-1)?.json()).toMatchObject({ id: 'q', error: { code: -32601 } });
  });

  it.each([ada, undefined])('asks no session while a request without one is on its way', async (principal) => {
    const { dispatcher: made, backends } = open();
    const one = await sessionOf(made, principal);
    const stream = listen(made, one);
    const call = { request: (...args: Parameters<Dispatcher['request']>) => made.request(...args) };
    const origin = principal === undefined ? {} : { principal };
    const outcome = ask(call, 'tools/call', origin, { name: 'ask' });
    const seen = backends[0]?.seen ?? [];
    const idText = seen.at(-1)?.idText ?? '0';
    const question = createMessage({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: {} });
    backends[0]?.peer.send(question);
    expect(stream).toEqual([]);
    expect(seen.at(-1)?.json()).toMatchObject({ id: 'q', error: { code: -32601 } });
    backends[0]?.peer.send(createMessage({ jsonrpc: '2.0', id: JSON.parse(idText) as number, result: {} }));
    expect(await outcome).toMatchObject({ kind: 'answer' });
    backends[0]?.peer.send(question);
    expect(stream.map(({ method }) => method)).toEqual(['elicitation/create']);
  });

  it('serves requests without a session from the backend of their caller', async () => {
    const { dispatcher: made, backends } = open();
    const call = { request: (...args: Parameters<Dispatcher['request']>) => made.request(...args) };
    expect(await ask(call, 'tools/list', { principal: ada })).toMatchObject({ kind: 'answer' });
    expect(await ask(call, 'tools/list', { principal: bob })).toMatchObject({ kind: 'answer' });
    expect(backends.map(({ seen }) => seen.filter(({ method }) => method === 'tools/list').length)).toEqual([1, 1]);
  });

  it('shares the subscriptions of sessions and listeners of one caller', async () => {
    const { dispatcher: made, backends } = open();
    await sessionOf(made, ada);
    const heard: string[] = [];
    const listening = made.listen(
      { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['x:1'] },
      { send: (message) => heard.push(message.method ?? ''), end: (graceful) => heard.push(`end ${graceful}`) },
      { session: undefined, principal: ada },
    );
    await new Promise((resolve) => setImmediate(resolve));
    const subscribe = backends[0]?.seen.find(({ method }) => method === 'resources/subscribe');
    const id = JSON.parse(subscribe?.idText ?? '0') as number;
    backends[0]?.peer.send(createMessage({ jsonrpc: '2.0', id, result: {} }));
    expect(await listening).toMatchObject({ honoured: { toolsListChanged: true, resourceSubscriptions: ['x:1'] } });
    backends[0]?.peer.send(
      createMessage({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'x:1' } }),
    );
    backends[0]?.peer.send(createMessage({ jsonrpc: '2.0', method: 'notifications/prompts/list_changed' }));
    expect(heard).toEqual(['notifications/resources/updated']);
    await made.close();
    expect(heard.at(-1)).toBe('end true');
  });

  it('has a bound on backends, and tells when to come again', async () => {
    const { dispatcher: made } = open({ maxBackends: 1 });
    await sessionOf(made, ada);
    const call = { request: (...args: Parameters<Dispatcher['request']>) => made.request(...args) };
    expect(await ask(call, 'tools/list', { principal: bob })).toMatchObject({
      kind: 'failure',
      failure: { status: 503, retryAfterMs: 5000 },
    });
  });
});
