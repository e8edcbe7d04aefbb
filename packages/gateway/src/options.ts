import type { DispatcherOptions } from '@thv/dispatcher';
import type { HttpOptions } from '@thv/dispatcher/http';
import type { StateKey, StateStore } from '@thv/mrtr';
import type { Connection, Middleware, Principal } from '@thv/transport';
import { GatewayError } from './errors.js';
import type { LeaseLimits } from './lease/pool.js';
import type { ModernServer } from './server.js';

/** What a connection is made for. */
export interface ConnectRequest {
  /**
   * `shared`: the one server for all, or for all of one caller; it should restart by itself. `session` and `lease`: a
   * server for one session or one request chain, `watch`: one that reports changes; these should not restart.
   */
  readonly purpose: 'shared' | 'session' | 'lease' | 'watch';
  readonly sessionId?: string;
  readonly principal?: Principal | undefined;
}

/** Options of {@link createGatewayHandler}. */
export interface GatewayOptions {
  /** Makes a connection to the server. One of `connect` and `server` is given. */
  readonly connect?: (request: ConnectRequest) => Connection | Promise<Connection>;
  /** A server in this process. */
  readonly server?: ModernServer;
  /** Who shares a process of the server. @defaultValue 'shared' */
  readonly isolation?: 'shared' | 'session' | 'principal' | 'lease';
  /** What the server speaks; `auto` asks it. @defaultValue 'auto' */
  readonly backendEra?: 'auto' | 'legacy' | 'modern';
  /** Names the server in the states that are sealed for it. @defaultValue 'thv' */
  readonly name?: string;
  /** Times, sizes and reports of the dispatcher. */
  readonly dispatcher?: Omit<DispatcherOptions, 'connect' | 'connection' | 'isolation'>;
  /** Path, origins and limits of the HTTP edge. */
  readonly http?: Omit<HttpOptions, 'middlewares' | 'modern'>;
  /** First registered is outermost. @defaultValue none */
  readonly middlewares?: readonly Middleware[];
  /** Limits of `isolation: 'session'` and `'lease'` for clients of 2026-07-28. */
  readonly lease?: LeaseLimits;
  /** Keys for request states; give the same to every process of a service. @defaultValue one made at random */
  readonly stateKeys?: readonly StateKey[];
  /** `sealed` puts the states of a server of 2026-07-28 into ours, bound to the caller. @defaultValue 'relay' */
  readonly stateMode?: 'relay' | 'sealed';
  /** Keeps states that are too large to travel. @defaultValue none */
  readonly stateStore?: StateStore;
  /** Silence of the server after which the probe asks again, and gives up. Milliseconds. */
  readonly probe?: { readonly quietMs?: number; readonly timeoutMs?: number };
}

const CHOICES = {
  isolation: ['shared', 'session', 'principal', 'lease'],
  backendEra: ['auto', 'legacy', 'modern'],
  stateMode: ['relay', 'sealed'],
} as const;

/** Refuses options of the wrong kind, by name. */
export function checkOptions(options: GatewayOptions): void {
  for (const [name, choices] of Object.entries(CHOICES)) {
    const value: unknown = options[name as keyof typeof CHOICES];
    if (value === undefined || (choices as readonly unknown[]).includes(value)) continue;
    throw argument(`Expected \`${name}\` to be one of ${choices.join(', ')}, got \`${String(value)}\``);
  }
  if ((options.connect === undefined) === (options.server === undefined)) {
    throw argument('Expected one of `connect` and `server` to be given');
  }
  for (const [name, value] of Object.entries(options.lease ?? {})) {
    if (Number.isSafeInteger(value) && (value as number) > 0) continue;
    throw argument(`Expected \`lease.${name}\` to be a positive integer, got \`${String(value)}\``);
  }
  if (options.stateMode === 'sealed' && options.server !== undefined) {
    throw argument('Expected `stateMode` to be `relay` for a server in this process: it seals its own states');
  }
}

const argument = (message: string): GatewayError => new GatewayError('ERR_GATEWAY_ARGUMENT', message);
