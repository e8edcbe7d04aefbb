import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMemoryConnection, createMessage } from '@thv/transport';
import type { Connection } from '@thv/transport';
import { afterEach, describe, expect, it } from 'vitest';
import { askModern } from '@thv/doubles';
import { createGatewayHandler } from '../src/index.js';

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
