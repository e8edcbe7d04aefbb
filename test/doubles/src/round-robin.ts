import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** A proxy that gives each connection to the next of its targets. */
export interface RoundRobin {
  /** The URL of the first target, with the address of the proxy. */
  readonly url: string;
  /** How many connections each target was given. */
  readonly counts: readonly number[];
  close(): Promise<void>;
}

/** Opens a TCP proxy in front of some URLs; it never looks into what it carries. */
export async function openRoundRobin(urls: readonly string[]): Promise<RoundRobin> {
  const targets = urls.map((url) => new URL(url));
  const counts = targets.map(() => 0);
  const sockets = new Set<Socket>();
  let next = 0;

  const server = createServer((client) => {
    const index = next % targets.length;
    next += 1;
    counts[index] = (counts[index] ?? 0) + 1;
    const target = targets[index];
    const backend = connect({ host: '127.0.0.1', port: Number(target?.port) });
    for (const [from, to] of [
      [client, backend],
      [backend, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${targets[0]?.pathname ?? ''}`,
    counts,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
