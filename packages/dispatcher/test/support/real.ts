import { hostileServer } from '@thv/doubles';
import type { Command, HostileScript } from '@thv/doubles';
import { createStdioConnection, openListener } from '@thv/transport';
import type { StdioConnection } from '@thv/transport';
import { createNodeHandler } from '../../src/http/index.js';
import type { HttpOptions } from '../../src/http/index.js';
import { createDispatcher } from '../../src/index.js';
import type { DispatcherOptions } from '../../src/index.js';

export interface RealOptions {
  readonly script?: HostileScript;
  readonly command?: Command;
  readonly dispatcher?: Partial<DispatcherOptions>;
  readonly http?: HttpOptions;
  readonly restartMs?: number;
}

/** A real process behind a real socket. */
export async function realEndpoint(options: RealOptions = {}) {
  const { command, args } = options.command ?? hostileServer(options.script ?? {});
  const connections: StdioConnection[] = [];
  const connect = (): StdioConnection => {
    const restart =
      options.restartMs === undefined
        ? (false as const)
        : { initialDelayMs: options.restartMs, maxDelayMs: options.restartMs };
    const connection = createStdioConnection({ command, args, env: process.env, stopGraceMs: 500, restart });
    connections.push(connection);
    return connection;
  };
  const shared = options.dispatcher?.isolation !== 'session';
  const dispatcher = createDispatcher({
    ...(shared ? { connection: connect() } : { connect }),
    ...options.dispatcher,
  });
  const handler = createNodeHandler(dispatcher, options.http);
  const listener = await openListener({ handler });
  return {
    url: `${listener.origin}/mcp`,
    origin: listener.origin,
    dispatcher,
    connections,
    async close() {
      await dispatcher.close();
      await handler.close();
      await listener.close({ graceMs: 100 });
    },
  };
}

export type RealEndpoint = Awaited<ReturnType<typeof realEndpoint>>;
