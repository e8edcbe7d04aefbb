import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGatewayHandler } from '../../packages/gateway/src/index.js';
import type { GatewayOptions, GatewayStats } from '../../packages/gateway/src/index.js';
import { createStdioConnection } from '../../packages/transport/src/index.js';
import type { Middleware } from '../../packages/transport/src/index.js';
import type { Command } from '../doubles/src/index.js';

/** Options of a gateway, but the server. */
export type GatewayTestOptions = Omit<GatewayOptions, 'connect' | 'server'>;

/** A gateway of this process. */
export interface GatewayUnderTest {
  readonly url: string;
  /** The processes that requests of Modern clients hold. */
  leases(): GatewayStats['leases'];
  stats(): GatewayStats | undefined;
  /** Closes the gateway, then its listener. Idempotent. */
  close(): Promise<void>;
}

/** Whoever brings a token is who it says. */
const byToken: Middleware = {
  name: 'by-token',
  handle(context, next) {
    const { authorization } = context.headers;
    const [, subject] = /^Bearer (.+)$/.exec(String(authorization)) ?? [];
    context.principal = subject === undefined ? undefined : { issuer: 'https://login.example', subject };
    return next();
  },
};

/** Serves a stdio server on a port of its own, as `thv run` does. */
export async function openGateway(command: Command, options: GatewayTestOptions = {}): Promise<GatewayUnderTest> {
  const handler = createGatewayHandler({
    middlewares: [byToken],
    ...options,
    connect: () => createStdioConnection({ command: command.command, args: command.args, env: {}, restart: false }),
  });
  const server = createServer(handler);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = async () => {
    await handler.close();
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    leases: () => handler.stats()?.leases ?? { busy: 0, idle: 0, waiting: 0, parked: 0 },
    stats: () => handler.stats(),
    close: () => (closing ??= close()),
  };
}
