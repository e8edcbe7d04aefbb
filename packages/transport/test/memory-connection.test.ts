import { describe, expect, it } from 'vitest';
import { createMemoryConnection, createMessage } from '../src/index.js';
import type { ConnectionDown, Message } from '../src/index.js';

const ping = (id: number) => createMessage({ jsonrpc: '2.0', id, method: 'ping' });

async function open() {
  const { connection, peer } = createMemoryConnection();
  const got: string[] = [];
  const downs: ConnectionDown[] = [];
  let ups = 0;
  await connection.start({
    onMessage: (message: Message, origin) => got.push(`${message.idText} ${origin}`),
    onUp: () => {
      ups += 1;
    },
    onDown: (down) => downs.push(down),
  });
  return { connection, peer, got, downs, ups: () => ups };
}

describe('a connection within the process', () => {
  it('delivers in order and tells for whom', async () => {
    const { connection, peer, got } = await open();
    const asked: string[] = [];
    peer.onMessage = (message, origin) => {
      asked.push(`${message.idText} ${origin}`);
      peer.send(message, message.idText);
    };
    expect(connection.send(ping(1), '7')).toBe(true);
    connection.send(ping(2));
    expect(asked).toEqual(['1 7', '2 undefined']);
    expect(got).toEqual(['1 1', '2 2']);
  });

  it('holds what is sent while it is paused, in order, also when it is paused again in between', async () => {
    const { connection, peer } = createMemoryConnection();
    const got: (string | undefined)[] = [];
    await connection.start({
      onMessage: (message) => {
        got.push(message.idText);
        if (message.idText === '2') connection.pause();
      },
      onUp: () => undefined,
      onDown: () => undefined,
    });
    connection.pause();
    expect(peer.paused).toBe(true);
    for (const id of [1, 2, 3]) peer.send(ping(id));
    expect(got).toEqual([]);
    connection.resume();
    expect(got).toEqual(['1', '2']);
    peer.send(ping(4));
    connection.resume();
    expect(got).toEqual(['1', '2', '3', '4']);
  });

  it('goes down, comes back and closes as a process does', async () => {
    const { connection, peer, got, downs, ups } = await open();
    peer.fail({ retryAfterMs: 5_000, exitCode: 3 });
    expect(connection.state).toBe('restarting');
    expect(downs).toEqual([{ reason: 'exit', exitCode: 3, signal: null, stderrTail: [], retryAfterMs: 5_000 }]);
    peer.send(ping(1));
    expect(got).toEqual([]);
    peer.restart();
    expect(ups()).toBe(2);
    await connection.drained();
    await connection.close();
    await connection.close();
    expect(connection.state).toBe('closed');
    expect(downs.map(({ reason }) => reason)).toEqual(['exit', 'closed']);
    peer.restart();
    expect(ups()).toBe(2);
  });
});
