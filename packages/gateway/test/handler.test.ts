import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMemoryConnection, createMessage } from '@thv/transport';
import type { Connection, MemoryPeer, Message } from '@thv/transport';
import { afterEach, describe, expect, it } from 'vitest';
import { GatewayError, createGatewayHandler, probeEra } from '../src/index.js';
import type { GatewayHandler, GatewayOptions, ModernServer } from '../src/index.js';

const clientInfo = { name: 'test', version: '1' };
const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** A server in memory that answers as `answer` says; `undefined` is silence. */
function backend(answer: (message: Message, peer: MemoryPeer) => object | undefined): Connection {
  const { connection, peer } = createMemoryConnection();
  peer.onMessage = (message) => {
    const said = answer(message, peer);
    const id = message.idText === undefined ? undefined : (JSON.parse(message.idText) as unknown);
    if (said !== undefined && id !== undefined)
      queueMicrotask(() => peer.send(createMessage({ jsonrpc: '2.0', id, ...said })));
  };
  return connection;
}

const unknown = { error: { code: -32601, message: 'Method not found' } };
const legacy = {
  result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } },
};
const discovered = {
  result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
};

async function listen(options: GatewayOptions): Promise<{ url: string; handler: GatewayHandler }> {
  const handler = createGatewayHandler(options);
  const server = createServer(handler).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  open.push(async () => {
    await handler.close();
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, handler };
}

async function ask(url: string, method: string, params: object = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'a',
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  });
  return {
    status: response.status,
    body: (await response.json()) as { result?: object; error?: { code: number; message: string; data?: object } },
  };
}

describe('the probe', () => {
  const quick = { clientInfo, quietMs: 20, timeoutMs: 80 };

  it.each([
    [
      'describes itself',
      'modern',
      (message: Message) => (message.method === 'server/discover' ? discovered : undefined),
    ],
    [
      'answers with an error of the newer era',
      'modern',
      () => ({ error: { code: -32022, message: 'x', data: { supported: [] } } }),
    ],
    ['does not know the method', 'legacy', () => unknown],
    ['answers with any other error', 'legacy', () => ({ error: { code: -32000, message: 'not initialized' } })],
    ['describes another revision', 'legacy', () => ({ result: { supportedVersions: ['2027-01-01'] } })],
    [
      'answers nothing but a ping',
      'legacy',
      (message: Message) => (message.method === 'ping' ? { result: {} } : undefined),
    ],
    ['says nothing at all', 'legacy', () => undefined],
  ])('of a server that %s finds: %s', async (_, era, answer) => {
    const { verdict, connection } = await probeEra(backend(answer), quick);
    expect(verdict.era).toBe(era);
    await connection.close();
  });

  it('of a server that does not survive it says so', async () => {
    const { verdict } = await probeEra(
      backend((_, peer) => void queueMicrotask(() => peer.fail())),
      quick,
    );
    expect(verdict).toMatchObject({ era: 'legacy', died: { reason: 'exit' } });
  });

  it('sends the question as the first line, and keeps late answers from the owner', async () => {
    const seen: (string | undefined)[] = [];
    let late: (() => void) | undefined;
    const { connection } = await probeEra(
      backend((message, peer) => {
        seen.push(message.method);
        if (message.method === 'ping') return { result: {} };
        late = () => peer.send(createMessage({ jsonrpc: '2.0', id: 'thv-discover', ...unknown }));
        return undefined;
      }),
      quick,
    );
    const got: Message[] = [];
    await connection.start({
      onMessage: (message) => got.push(message),
      onUp: () => undefined,
      onDown: () => undefined,
    });
    late?.();
    expect(seen).toEqual(['server/discover', 'ping']);
    expect(got).toEqual([]);
  });
});

describe('a gateway', () => {
  it('starts another process where the probe killed the first one, and asks it nothing', async () => {
    let count = 0;
    const methods: (string | undefined)[] = [];
    const { url, handler } = await listen({
      connect: () => {
        count += 1;
        const isFirst = count === 1;
        return backend((message, peer) => {
          if (!isFirst) methods.push(message.method);
          if (isFirst) queueMicrotask(() => peer.fail());
          return message.method === 'initialize' ? legacy : { result: { tools: [] } };
        });
      },
    });
    expect(await ask(url, 'tools/list')).toMatchObject({
      status: 200,
      body: { result: { resultType: 'complete', tools: [] } },
    });
    expect(methods[0]).toBe('initialize');
    expect(handler.stats()).toMatchObject({ era: 'legacy' });
  });

  it('refuses a server of the older era where it was told the newer one, and answers 503', async () => {
    const { url, handler } = await listen({ connect: () => backend(() => unknown), backendEra: 'modern' });
    await expect(handler.start()).rejects.toMatchObject({ code: 'ERR_GATEWAY_NOT_READY' });
    expect(await ask(url, 'tools/list')).toMatchObject({
      status: 503,
      body: { error: { data: { reason: 'start-failed' } } },
    });
  });

  it('does not ask a server that it was told is old', async () => {
    const methods: (string | undefined)[] = [];
    const { handler } = await listen({
      backendEra: 'legacy',
      connect: () =>
        backend((message) => {
          methods.push(message.method);
          return legacy;
        }),
    });
    await handler.ready();
    expect(methods[0]).toBe('initialize');
  });

  it.each(['session', 'principal', 'lease', 'shared'] as const)(
    'with isolation %s says that a server which refuses the handshake is not ready',
    async (isolation) => {
      const { handler } = await listen({ connect: () => backend(() => unknown), isolation });
      await expect(handler.ready()).rejects.toThrow('not ready');
    },
  );

  it('serves a server in this process to clients of either era', async () => {
    const server: ModernServer = {
      discover: async () => ({ capabilities: { tools: {} }, serverInfo: { name: 'here', version: '1' } }),
      request: (message, reply) => {
        const result = { resultType: 'complete', tools: [], method: message.method };
        reply.settle({
          kind: 'answer',
          message: createMessage({ jsonrpc: '2.0', id: JSON.parse(message.idText ?? '0') as unknown, result }),
        });
      },
      listen: async () => ({ honoured: {}, close: () => undefined }),
      close: async () => undefined,
    };
    const { url } = await listen({ server });
    expect(await ask(url, 'tools/list')).toMatchObject({ status: 200, body: { result: { method: 'tools/list' } } });
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
      }),
    });
    expect(await response.json()).toMatchObject({
      result: { protocolVersion: '2025-06-18', serverInfo: { name: 'here' } },
    });
  });

  it('ends at once while it still asks a server that says nothing, or waits for its connection', async () => {
    const silent = createGatewayHandler({ connect: () => backend(() => undefined) });
    const never = createGatewayHandler({ connect: () => new Promise<Connection>(() => undefined) });
    for (const handler of [silent, never]) {
      const started = expect(handler.start()).rejects.toMatchObject({ code: 'ERR_GATEWAY_CLOSED' });
      await handler.close();
      await started;
    }
  });

  it('lets a server of the newer era finish what it has, when it closes in peace', async () => {
    let heard: (answer: () => void) => void = () => undefined;
    const request = new Promise<() => void>((resolve) => {
      heard = resolve;
    });
    const { url, handler } = await listen({
      connect: () =>
        backend((message, peer) => {
          if (message.method === 'server/discover') return discovered;
          const id = JSON.parse(message.idText ?? '0') as unknown;
          const result = { resultType: 'complete', prompts: [] };
          heard(() => peer.send(createMessage({ jsonrpc: '2.0', id, result })));
          return undefined;
        }),
    });
    const asked = ask(url, 'prompts/list');
    const answer = await request;
    const closed = handler.close({ drainMs: 5000 });
    setTimeout(answer, 60);
    expect(await asked).toMatchObject({ status: 200, body: { result: { prompts: [] } } });
    await closed;
  });

  it('takes nothing more once it is closed', async () => {
    const { url, handler } = await listen({
      connect: () => backend((message) => (message.method === 'initialize' ? legacy : unknown)),
    });
    await handler.ready();
    await handler.close();
    await handler.close();
    await expect(handler.start()).rejects.toMatchObject({ code: 'ERR_GATEWAY_CLOSED' });
    expect((await ask(url, 'tools/list')).status).toBe(503);
  });

  it.each([
    [{}, 'Expected one of `connect` and `server`'],
    [
      { connect: () => backend(() => unknown), isolation: 'none' },
      'Expected `isolation` to be one of shared, session, principal, lease, got `none`',
    ],
    [
      { connect: () => backend(() => unknown), backendEra: 'old' },
      'Expected `backendEra` to be one of auto, legacy, modern, got `old`',
    ],
    [
      { connect: () => backend(() => unknown), lease: { maxRounds: 0 } },
      'Expected `lease.maxRounds` to be a positive integer, got `0`',
    ],
  ])('refuses options of the wrong kind: %#', (options, message) => {
    const make = () => createGatewayHandler(options as GatewayOptions);
    expect(make).toThrow(message);
    try {
      make();
    } catch (error) {
      expect(GatewayError.is(error) && error.code).toBe('ERR_GATEWAY_ARGUMENT');
    }
  });
});
