import { createDispatcher } from '../../src/index.js';
import type { BackendRequest, DispatcherOptions, Drop } from '../../src/index.js';
import { TestClient } from './client.js';
import { ManualClock, settled } from './clock.js';
import { FakeConnection } from './connection.js';

/** A dispatcher with a backend for each session, all of them in the test's hands. */
export function perSession(options: Partial<DispatcherOptions> = {}, prepare?: (connection: FakeConnection) => void) {
  const connections: FakeConnection[] = [];
  const requests: BackendRequest[] = [];
  const clock = new ManualClock();
  const drops: Drop[] = [];
  const dispatcher = createDispatcher({
    isolation: 'session',
    clock,
    onDropped: (drop) => drops.push(drop),
    connect: (request) => {
      const connection = new FakeConnection();
      prepare?.(connection);
      connections.push(connection);
      requests.push(request);
      return connection;
    },
    ...options,
  });
  return {
    connections,
    requests,
    clock,
    drops,
    dispatcher,
    /** A client with a session, and its backend. */
    async client(params: Record<string, unknown> = {}, principal?: { subject: string }) {
      const client = new TestClient(dispatcher, principal);
      client.initialize(params);
      await settled();
      const connection = connections.at(-1);
      if (client.session === undefined || connection === undefined) throw new Error('initialize made no session');
      return { client, connection };
    },
  };
}
