import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMemoryConnection, createMessage } from '@thv/transport';
import type { Connection } from '@thv/transport';
import { afterEach, describe, expect, it } from 'vitest';
import { askModern } from '@thv/doubles';
import { createGatewayHandler } from '../src/index.js';
import type { ConnectRequest, GatewayOptions } from '../src/index.js';

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** An older server that asks for roots as soon as it is asked for anything, and answers once it has heard. */
function asker(): { connection: Connection; heard: unknown[] } {
  const { connection, peer } = createMemoryConnection();
  const heard: unknown[] = [];
  let waiting: unknown;
  const send = (message: object) => queueMicrotask(() => peer.send(createMessage({ jsonrpc: '2.0', ...message })));
  peer.onMessage = (message) => {
    const id: unknown = message.idText === undefined ? undefined : JSON.parse(message.idText);
    if (message.kind === 'response') {
      heard.push(message.json()['error'] ?? message.json()['result']);
      send({ id: waiting, result: { tools: [], content: [] } });
    } else if (message.method === 'initialize') {
      const serverInfo = { name: 'asker', version: '1' };
      send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
    } else if (id !== undefined && message.method !== 'server/discover') {
      waiting = id;
      send({ id: 'roots', method: 'roots/list' });
    } else if (id !== undefined) {
      send({ id, error: { code: -32601, message: 'Method not found' } });
    }
  };
  return { connection, heard };
}

/** Counts the connections that are made for each purpose, and those that are still open. */
function counted(make: (request: ConnectRequest) => Connection) {
  const made: Connection[] = [];
  const purposes: string[] = [];
  const connect = async (request: ConnectRequest): Promise<Connection> => {
    purposes.push(request.purpose);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const connection = make(request);
    made.push(connection);
    return connection;
  };
  return { connect, purposes, open: () => made.filter(({ state }) => state !== 'closed').length };
}

async function served(options: GatewayOptions) {
  const handler = createGatewayHandler(options);
  const server = createServer(handler).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  open.push(async () => {
    await handler.close();
    server.closeAllConnections();
    server.close();
  });
  return { handler, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` };
}

const toolChanges = { notifications: { toolsListChanged: true } };

describe('processes of a gateway that closes', () => {
  it.each(['lease', 'session', 'principal'] as const)('%s: the one that was probed ends unused', async (isolation) => {
    const { connect, open: left } = counted(() => asker().connection);
    const { handler } = await served({ isolation, connect });
    await handler.start();
    expect(left()).toBe(1);
    await handler.close();
    expect(left()).toBe(0);
  });

  it('ends one that does not answer its handshake', async () => {
    const { connect, open: left } = counted(() => createMemoryConnection().connection);
    const { handler, url } = await served({ isolation: 'lease', backendEra: 'legacy', connect });
    const call = askModern(url, 'tools/list', {}, {});
    await expect.poll(() => handler.stats()?.leases.busy).toBe(1);
    await handler.close();
    expect(left()).toBe(0);
    expect((await call).text).toContain('shutting down');
  });
});

describe('subscriptions of a leased server', () => {
  it('share one process, and end with it', async () => {
    const watches: Connection[] = [];
    const { connect, purposes } = counted(({ purpose }) => {
      const { connection } = asker();
      if (purpose === 'watch') watches.push(connection);
      return connection;
    });
    const { url } = await served({ isolation: 'lease', connect });
    const listens = [1, 2, 3].map(() => askModern(url, 'subscriptions/listen', toolChanges, {}));
    await expect.poll(() => watches[0]?.state).toBe('up');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(purposes.filter((purpose) => purpose === 'watch')).toHaveLength(1);
    await watches[0]?.close();
    for (const { text } of await Promise.all(listens)) expect(text).toContain('complete');
    void askModern(url, 'subscriptions/listen', toolChanges, {}).catch(() => undefined);
    await expect.poll(() => watches[1]?.state).toBe('up');
  });

  it('are refused where their process cannot be started', async () => {
    const { url } = await served({
      isolation: 'lease',
      connect: ({ purpose }) => {
        if (purpose === 'watch') throw new Error('no room');
        return asker().connection;
      },
    });
    const { text } = await askModern(url, 'subscriptions/listen', toolChanges, {});
    expect(text).toContain('no room');
  });
});

describe('a server that asks without end', () => {
  it('has a bound on questions that wait', async () => {
    const refused: unknown[] = [];
    const { url, handler } = await served({
      isolation: 'lease',
      backendEra: 'legacy',
      connect: () => {
        const { connection, peer } = createMemoryConnection();
        const send = (message: object) => peer.send(createMessage({ jsonrpc: '2.0', ...message }));
        peer.onMessage = (message) => {
          const id: unknown = message.idText === undefined ? undefined : JSON.parse(message.idText);
          if (message.kind === 'response') refused.push(message.json()['error']);
          else if (message.method === 'initialize') {
            const serverInfo = { name: 'endless', version: '1' };
            send({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
          } else if (message.method === 'tools/list') send({ id, result: { tools: [] } });
          else if (message.method === 'tools/call')
            for (let index = 0; index < 100; index += 1) send({ id: `q${index}`, method: 'roots/list' });
        };
        return connection;
      },
    });
    const { message } = await askModern(url, 'tools/call', { name: 'any' }, { capabilities: { roots: {} } });
    const asked = message?.result as { readonly inputRequests?: object } | undefined;
    expect(Object.keys(asked?.inputRequests ?? {})).toHaveLength(64);
    expect(refused).toHaveLength(36);
    expect(handler.stats()?.leases.parked).toBe(1);
  });
});

describe('a leased server', () => {
  it('may ask within a call, and within nothing else', async () => {
    const heard: unknown[][] = [];
    const handler = createGatewayHandler({
      isolation: 'lease',
      connect: () => {
        const made = asker();
        heard.push(made.heard);
        return made.connection;
      },
    });
    const server = createServer(handler).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    open.push(async () => {
      await handler.close();
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const options = { capabilities: { roots: {} } };
    const listed = await askModern(url, 'tools/list', {}, options);
    expect(listed.message, listed.text).toMatchObject({ result: { resultType: 'complete', tools: [] } });
    expect(heard.flat()).toMatchObject([{ code: -32601 }]);
    const called = await askModern(url, 'tools/call', { name: 'any', arguments: {} }, options);
    expect(called.message?.result, called.text).toMatchObject({ resultType: 'input_required' });
    expect(handler.stats()?.leases).toMatchObject({ parked: 1 });
  });
});
