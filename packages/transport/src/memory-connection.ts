import type { Message } from './message.js';
import type { Connection, ConnectionDown, ConnectionHandlers, ConnectionState } from './ports.js';

/** The server's side of a connection within one process. */
export interface MemoryPeer {
  /** Called for each message; `origin` is the wire id of the in-flight request that it is sent for. */
  onMessage: ((message: Message, origin: string | undefined) => void) | undefined;
  /** Sends to the owner of the connection; `origin` attributes the message to an in-flight request. */
  send(message: Message, origin?: string): void;
  /** Ends the server as if its process had died. */
  fail(down?: Partial<ConnectionDown>): void;
  /** Starts it again after {@link MemoryPeer.fail} with `retryAfterMs`. */
  restart(): void;
  /** True while the owner asked to stop sending. */
  readonly paused: boolean;
}

/**
 * A connection to a server in this process. Messages are delivered at once, in order; nothing is copied.
 */
export function createMemoryConnection(): { readonly connection: Connection; readonly peer: MemoryPeer } {
  let handlers: ConnectionHandlers | undefined;
  let state: ConnectionState = 'idle';
  let paused = false;
  const held: (readonly [Message, string | undefined])[] = [];

  const peer: MemoryPeer = {
    onMessage: undefined,
    get paused() {
      return paused;
    },
    send(message, origin) {
      if (state !== 'up') return;
      if (paused || held.length > 0) held.push([message, origin]);
      else handlers?.onMessage(message, origin);
    },
    fail(down = {}) {
      if (state !== 'up') return;
      state = down.retryAfterMs === undefined ? 'closed' : 'restarting';
      held.length = 0;
      handlers?.onDown({ reason: 'exit', exitCode: 1, signal: null, stderrTail: [], ...down });
    },
    restart() {
      if (state !== 'restarting') return;
      state = 'up';
      handlers?.onUp();
    },
  };

  const connection: Connection = {
    get state() {
      return state;
    },
    start(given) {
      handlers = given;
      state = 'up';
      handlers.onUp();
      return Promise.resolve();
    },
    send(message, origin) {
      if (state === 'up') peer.onMessage?.(message, origin);
      return true;
    },
    drained: () => Promise.resolve(),
    pause() {
      paused = true;
    },
    resume() {
      paused = false;
      // The owner may pause again while it takes what was held.
      for (let next = held.shift(); next !== undefined; next = paused ? undefined : held.shift()) {
        handlers?.onMessage(...next);
      }
    },
    close() {
      if (state === 'up') handlers?.onDown({ reason: 'closed', stderrTail: [] });
      state = 'closed';
      return Promise.resolve();
    },
  };
  return { connection, peer };
}
