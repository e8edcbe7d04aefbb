import { createStdioConnection, signalGroup } from '@thv/transport';
import type { Connection, ConnectionDown, ConnectionHandlers, StdioConnectionOptions } from '@thv/transport';
import type { Watchdog } from './watchdog.js';

/** Makes connections to server processes and knows which of their process groups live. */
export interface ChildProcesses {
  /** Like `createStdioConnection`; `watch` sees each start and end. */
  connect(options: StdioConnectionOptions, watch?: ChildWatch): Connection;
  readonly pids: readonly number[];
}

/** What is seen of one connection. */
export interface ChildWatch {
  /** The program could not be started at all. */
  onStartError?(error: unknown): void;
  onUp?(): void;
  onDown?(down: ConnectionDown): void;
}

/** Options of {@link createChildProcesses}. */
export interface ChildProcessesOptions {
  readonly watchdog: Watchdog;
  /** Called whenever a process came or went. */
  readonly onChange?: (pids: readonly number[]) => void;
}

const goneCheckMs = 100;

/** Keeps the watchdog and the status file informed about every server process of a host. */
export function createChildProcesses({ watchdog, onChange }: ChildProcessesOptions): ChildProcesses {
  const alive = new Set<number>();

  function add(pid: number): void {
    alive.add(pid);
    watchdog.watch(pid);
    onChange?.([...alive]);
  }

  /** A group is given back only when nothing of it is left: what a server started may outlive it for a moment. */
  function removeWhenGone(pid: number): void {
    if (!signalGroup(pid, 0)) {
      alive.delete(pid);
      watchdog.unwatch(pid);
      onChange?.([...alive]);
      return;
    }
    setTimeout(() => removeWhenGone(pid), goneCheckMs).unref();
  }

  return {
    get pids() {
      return [...alive];
    },
    connect(options, watch = {}) {
      const connection = createStdioConnection(options);
      let current: number | undefined;
      const observe = (handlers: ConnectionHandlers): ConnectionHandlers => ({
        ...handlers,
        onUp() {
          current = connection.pid;
          if (current !== undefined) add(current);
          handlers.onUp();
          watch.onUp?.();
        },
        onDown(down) {
          if (current !== undefined) removeWhenGone(current);
          current = undefined;
          handlers.onDown(down);
          watch.onDown?.(down);
        },
      });
      return {
        get state() {
          return connection.state;
        },
        async start(handlers, startOptions) {
          try {
            await connection.start(observe(handlers), startOptions);
          } catch (error) {
            watch.onStartError?.(error);
            throw error;
          }
        },
        send: (message, origin) => connection.send(message, origin),
        drained: async () => connection.drained(),
        pause: () => connection.pause(),
        resume: () => connection.resume(),
        close: async () => connection.close(),
      };
    },
  };
}
