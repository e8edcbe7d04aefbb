import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** What a {@link FaultProxy} does to the bytes of a connection. */
export type Fault =
  | { readonly kind: 'none' }
  /** Ends both sides without a word once the server sent as many bytes. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** Sends the end of the stream to the client once the server sent as many bytes, and keeps the other direction. */
  | { readonly kind: 'half-close'; readonly afterBytes: number }
  /** Holds everything that the server sends. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Resets the connection once the server sent as many bytes; 0 resets it at the first byte of the client. */
  | { readonly kind: 'reset'; readonly afterBytes: number }
  /** Sends what the server sends in pieces. */
  | { readonly kind: 'trickle'; readonly bytes: number; readonly everyMs: number }
  /** Answers with these bytes and never asks the server. */
  | { readonly kind: 'garbage'; readonly bytes: Buffer };

/** A TCP proxy that spoils connections. */
export interface FaultProxy {
  readonly port: number;
  readonly origin: string;
  /** For connections from now on. */
  fault: Fault;
  /** Connections taken so far. */
  readonly accepted: number;
  /** Ends the connections that are open. */
  dropAll(): void;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens a proxy in front of a port of this machine. */
export async function openFaultProxy(targetPort: number, first: Fault = { kind: 'none' }): Promise<FaultProxy> {
  const sockets = new Set<Socket>();
  let fault = first;
  let accepted = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    accepted += 1;
    keep(client);
    if (fault.kind === 'garbage') {
      const { bytes } = fault;
      client.once('data', () => client.end(bytes));
      return;
    }
    if (fault.kind === 'reset' && fault.afterBytes === 0) {
      client.once('data', () => client.resetAndDestroy());
      return;
    }
    const upstream = connect({ port: targetPort, host: '127.0.0.1' });
    keep(upstream);
    client.pipe(upstream);
    spoil(upstream, client, fault);
    client.once('close', () => upstream.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const dropAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const close = async (): Promise<void> => {
    dropAll();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    get fault() {
      return fault;
    },
    set fault(next) {
      fault = next;
    },
    get accepted() {
      return accepted;
    },
    dropAll,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function spoil(upstream: Socket, client: Socket, fault: Fault): void {
  if (fault.kind === 'cut' || fault.kind === 'half-close' || fault.kind === 'reset') {
    let left = fault.afterBytes;
    upstream.on('data', (chunk: Buffer) => {
      if (left <= 0) return;
      client.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left > 0) return;
      if (fault.kind === 'half-close') client.end();
      // What was written must be on its way before the connection goes.
      else setTimeout(() => (fault.kind === 'reset' ? client.resetAndDestroy() : client.destroy()), 20);
    });
    upstream.on('end', () => client.end());
  } else if (fault.kind === 'delay') {
    upstream.on('data', (chunk: Buffer) => void setTimeout(() => client.write(chunk), fault.ms));
    upstream.on('end', () => void setTimeout(() => client.end(), fault.ms));
  } else if (fault.kind === 'trickle') {
    void trickle(upstream, client, fault);
  } else {
    upstream.pipe(client);
  }
}

async function trickle(
  upstream: Socket,
  client: Socket,
  { bytes, everyMs }: { readonly bytes: number; readonly everyMs: number },
): Promise<void> {
  try {
    for await (const chunk of upstream) {
      const all = chunk as Buffer;
      for (let at = 0; at < all.length && !client.destroyed; at += bytes) {
        client.write(all.subarray(at, at + bytes));
        await new Promise((resolve) => setTimeout(resolve, everyMs));
      }
    }
  } catch {
    // The server's side broke off.
  }
  client.end();
}
