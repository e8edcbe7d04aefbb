import type { Environment } from './environment.js';
import type { RunConfig } from './run-config.js';

/** How the server behind a listener is. */
export type HostState =
  | { readonly kind: 'up'; readonly restarts: number }
  /** The server is gone; it is started again after `retryAfterMs`. */
  | { readonly kind: 'down'; readonly reason: string; readonly retryAfterMs?: number }
  /** The server is gone and is not started again. */
  | {
      readonly kind: 'given-up';
      readonly reason: string;
      readonly restarts: number;
      readonly stderrTail: readonly string[];
    };

/** What {@link OpenHost} takes besides the configuration. */
export interface HostOptions {
  readonly env: Environment;
  /** Aborted to give up a start. */
  readonly signal: AbortSignal;
  /** @defaultValue `300000`, since a package may have to be fetched first */
  readonly startTimeoutMs?: number;
  /** What the server writes to stderr. */
  readonly onServerOutput?: (text: string) => void;
  /** The server processes that live now, each the leader of its group. */
  readonly onChildren?: (pids: readonly number[]) => void;
  readonly onState?: (state: HostState) => void;
  readonly onEvent?: (event: string, fields: Readonly<Record<string, unknown>>) => void;
}

/** A server that answers behind a listener. */
export interface WorkloadHost {
  readonly port: number;
  /** Ends listener, clients and server, in this order. Idempotent. */
  close(): Promise<void>;
}

/** Opens a listener with a server behind it; resolves when the server answered its handshake. */
export type OpenHost = (config: RunConfig, options: HostOptions) => Promise<WorkloadHost>;

export const openHost: OpenHost = () => Promise.reject(new Error('later'));
