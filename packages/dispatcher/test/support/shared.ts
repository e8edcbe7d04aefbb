import { createDispatcher } from '../../src/index.js';
import type { DispatcherOptions, Drop } from '../../src/index.js';
import { TestClient } from './client.js';
import { ManualClock, settled } from './clock.js';
import { FakeConnection } from './connection.js';

/** A shared dispatcher over a backend in the test's hands. */
export function shared(options: Partial<DispatcherOptions> = {}) {
  const connection = new FakeConnection();
  const clock = new ManualClock();
  const drops: Drop[] = [];
  const dispatcher = createDispatcher({ connection, clock, onDropped: (drop) => drops.push(drop), ...options });
  return {
    connection,
    clock,
    drops,
    dispatcher,
    /** A client with a session. */
    async client(params: Record<string, unknown> = {}, principal?: { subject: string }): Promise<TestClient> {
      const client = new TestClient(dispatcher, principal);
      client.initialize(params);
      await settled();
      if (client.session === undefined) throw new Error('initialize made no session');
      return client;
    },
  };
}
