import type { IncomingMessage, ServerResponse } from 'node:http';
import { createNodeHandler } from '@thv/dispatcher/http';
import type { NodeHandler } from '@thv/dispatcher/http';
import type { DispatcherStats } from '@thv/dispatcher';
import { openCore } from './core.js';
import type { Core } from './core.js';
import { GatewayError } from './errors.js';
import { createModernEdge } from './modern/edge.js';
import type { OpenModernEdge } from './modern/edge.js';
import { checkOptions } from './options.js';
import type { GatewayOptions } from './options.js';
import type { Era } from './probe/probe.js';

/** Figures of a gateway at one moment. */
export interface GatewayStats extends DispatcherStats {
  /** What the server speaks; `undefined` until it was asked. */
  readonly era: Era | undefined;
  /** Processes that requests of 2026-07-28 hold, where the server is of the older era and not shared. */
  readonly leases: { readonly busy: number; readonly idle: number; readonly waiting: number; readonly parked: number };
}

/** A request listener of `node:http` that serves one MCP server to clients of both eras. */
export interface GatewayHandler {
  (request: IncomingMessage, response: ServerResponse): void;
  /**
   * Starts the server and finds out what it speaks; without this call the first request does.
   * Rejects as the connection's start does.
   */
  start(options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * Resolves once the server answers.
   * @throws GatewayError `ERR_GATEWAY_NOT_READY`, or DispatcherError `ERR_DISPATCHER_HANDSHAKE`, when it does not
   */
  ready(): Promise<void>;
  stats(): GatewayStats | undefined;
  /** Takes no more requests, waits up to `drainMs` for those on their way, then ends everything. Idempotent. */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

const DRAIN_CHECK_MS = 25;
const NO_LEASES = { busy: 0, idle: 0, waiting: 0, parked: 0 };

/**
 * Makes one endpoint for one MCP server, whatever era it and its clients speak. Requests that come before the server
 * has said what it speaks wait for that.
 *
 * @throws GatewayError `ERR_GATEWAY_ARGUMENT` for an option of the wrong kind
 * @example http.createServer(createGatewayHandler({ connect: () => createStdioConnection({ command: 'my-server' }) }))
 */
export function createGatewayHandler(options: GatewayOptions): GatewayHandler {
  checkOptions(options);
  const gateway = new Gateway(options);
  const handler = (request: IncomingMessage, response: ServerResponse): void => gateway.handle(request, response);
  return Object.assign(handler, {
    start: (given: { readonly signal?: AbortSignal } = {}) => gateway.start(given.signal),
    ready: () => gateway.ready(),
    stats: () => gateway.stats(),
    close: (given: { readonly drainMs?: number } = {}) => gateway.close(given.drainMs ?? 0),
  });
}

interface Opened {
  readonly core: Core;
  readonly edge: OpenModernEdge;
  readonly handler: NodeHandler;
}

class Gateway {
  readonly #options: GatewayOptions;
  #opening: Promise<Opened> | undefined;
  #opened: Opened | undefined;
  #closing: Promise<void> | undefined;
  readonly #ending = new AbortController();

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    if (this.#opened !== undefined && this.#closing === undefined) {
      this.#opened.handler(request, response);
      return;
    }
    this.#open().then(
      ({ handler }) => handler(request, response),
      (error: unknown) => unavailable(response, error),
    );
  }

  async start(signal: AbortSignal | undefined): Promise<void> {
    await this.#open(signal);
  }

  async ready(): Promise<void> {
    const { core } = await this.#open();
    await core.ready();
  }

  stats(): GatewayStats | undefined {
    if (this.#opened === undefined) return undefined;
    const { core } = this.#opened;
    const stats = core.dispatcher.stats();
    const relayed = core.relay?.counts().inFlight ?? 0;
    return { ...stats, inFlight: stats.inFlight + relayed, era: core.era, leases: core.leases?.counts() ?? NO_LEASES };
  }

  close(drainMs: number): Promise<void> {
    return (this.#closing ??= this.#close(drainMs));
  }

  async #close(drainMs: number): Promise<void> {
    this.#ending.abort(new GatewayError('ERR_GATEWAY_CLOSED', 'The gateway was closed before the server was there'));
    const opened = await this.#opening?.catch(() => undefined);
    if (opened === undefined) return;
    const { core, edge, handler } = opened;
    edge.endSubscriptions();
    await Promise.all([core.dispatcher.close({ drainMs }), this.#drained(core, drainMs)]);
    await core.server.close();
    await core.end?.();
    await handler.close();
  }

  /** Requests of the newer era that are on their way; who is only waited for by nobody, a parked call, is not. */
  async #drained({ relay, leases }: Core, drainMs: number): Promise<void> {
    const until = performance.now() + drainMs;
    const busy = (): number => {
      const { busy: held, parked } = leases?.counts() ?? NO_LEASES;
      return (relay?.counts().inFlight ?? 0) + held - parked;
    };
    while (busy() > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, DRAIN_CHECK_MS));
  }

  #open(signal?: AbortSignal): Promise<Opened> {
    if (this.#closing !== undefined) {
      return Promise.reject(new GatewayError('ERR_GATEWAY_CLOSED', 'The gateway is closed: create another one'));
    }
    this.#opening ??= this.#build(signal).catch((error: unknown) => {
      // The next request tries again.
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #build(signal: AbortSignal | undefined): Promise<Opened> {
    const { http = {}, middlewares = [] } = this.#options;
    const given = signal === undefined ? [] : [signal];
    const core = await openCore(this.#options, AbortSignal.any([...given, this.#ending.signal]));
    const edge = createModernEdge(core.server, { isPrivate: middlewares.length > 0 });
    const handler = createNodeHandler(core.dispatcher, { ...http, middlewares, modern: edge });
    this.#opened = { core, edge, handler };
    return this.#opened;
  }
}

function unavailable(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) return;
  const isClosed = GatewayError.is(error) && error.code === 'ERR_GATEWAY_CLOSED';
  const text = `The MCP server could not be started: ${error instanceof Error ? error.message : String(error)}`;
  const message = isClosed ? 'The server is shutting down' : text;
  const reason = isClosed ? 'shutdown' : 'start-failed';
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code: -32603, message, data: { reason } } });
  response.writeHead(503, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'retry-after': '5',
  });
  response.end(body);
}
