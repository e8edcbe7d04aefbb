import type { IncomingMessage } from 'node:http';
import { MiddlewareChain } from '../../chain.js';
import type { Principal } from '../../ports.js';
import { createSessionManager } from '../../session/manager.js';
import type { EndpointRewrite } from './endpoint-events.js';
import { normalPrefix } from './endpoint-events.js';
import { headerOf } from './context.js';
import type { ProxySettings } from './options.js';
import { Recovery } from './recovery.js';
import { TrackedSessions } from './sessions.js';
import { Upstream } from './upstream.js';
import type { UpstreamFailure } from './upstream-error.js';

/** What the requests of one proxy share. */
export class ProxyCore {
  readonly settings: ProxySettings;
  readonly chain: MiddlewareChain;
  readonly upstream: Upstream;
  readonly sessions: TrackedSessions;
  readonly recovery: Recovery;
  /** The server answered `initialize` and gave out no session. */
  isSessionless = false;
  #isReady = false;
  /** The server was seen to speak the era without sessions. */
  isModern = false;
  #wasUnauthorized = false;

  constructor(settings: ProxySettings) {
    const { clock, sessionStore, sessionTtlMs, middlewares = [], onWarning } = settings;
    this.settings = settings;
    this.chain = new MiddlewareChain(middlewares, (name, error) =>
      onWarning?.(`middleware ${name}: ${error instanceof Error ? error.message : String(error)}`),
    );
    this.upstream = new Upstream(settings);
    this.sessions = new TrackedSessions(
      createSessionManager({
        clock,
        ...(sessionStore === undefined ? {} : { store: sessionStore }),
        ...(sessionTtlMs === undefined ? {} : { ttlMs: sessionTtlMs }),
        onError: (error) => onWarning?.(`session store: ${String(error)}`),
      }),
    );
    this.recovery = new Recovery(this.upstream, this.sessions);
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  ready(isModern: boolean): void {
    this.isModern ||= isModern;
    if (this.#isReady) return;
    this.#isReady = true;
    this.settings.onReady?.();
  }

  unauthorized(): void {
    if (this.#wasUnauthorized) return;
    this.#wasUnauthorized = true;
    this.settings.onUnauthorized?.();
  }

  failed(failure: UpstreamFailure): void {
    this.settings.onFailure?.(failure);
  }

  /** Path and query towards the server. */
  pathFor({ method }: IncomingMessage, path: string, query: string): string {
    const { url, transport } = this.settings;
    const own = url.search.slice(1);
    const asked = query.slice(1);
    const search = own === '' || asked === '' ? own + asked : `${own}&${asked}`;
    const isOther = transport === 'sse' && !(method === 'GET' && (path === '/sse' || path === '/'));
    const target = url.pathname === '/' || isOther ? path : url.pathname;
    return search === '' ? target : `${target}?${search}`;
  }

  /** Who asks, in the words of a proxy. What clients say about that themselves is believed only where it is trusted. */
  forwardedHeaders(request: IncomingMessage): readonly string[] {
    const { remote, trustProxyHeaders, url } = this.settings;
    const told = (name: string): string | undefined =>
      trustProxyHeaders === true ? headerOf(request, `x-forwarded-${name}`) : undefined;
    const peer = request.socket.remoteAddress ?? '';
    const before = told('for');
    const result = ['X-Forwarded-For', before === undefined ? peer : `${before}, ${peer}`];
    if (remote === true) return [...result, 'X-Forwarded-Proto', url.protocol.slice(0, -1)];
    result.push('X-Forwarded-Host', told('host') ?? request.headers.host ?? '');
    result.push('X-Forwarded-Proto', told('proto') ?? 'http');
    for (const name of ['port', 'prefix']) {
      const value = told(name);
      if (value !== undefined) result.push(`X-Forwarded-${name === 'port' ? 'Port' : 'Prefix'}`, value);
    }
    return result;
  }

  /** How the address in an `endpoint` event changes for a client. */
  rewriteFor(request: IncomingMessage, principal: Principal | undefined): EndpointRewrite {
    const { prefix, trustProxyHeaders, onWarning, url } = this.settings;
    const told = (name: string): string | undefined =>
      trustProxyHeaders === true ? headerOf(request, `x-forwarded-${name}`)?.split(',')[0]?.trim() : undefined;
    return {
      prefix: prefix === '' ? normalPrefix(told('prefix')) : prefix,
      host: told('host'),
      scheme: told('proto'),
      serverHost: url.host,
      onSession: (id) => {
        this.ready(false);
        this.sessions
          .note(id, principal, 'sse')
          .catch((error: unknown) => onWarning?.(`session store: ${String(error)}`));
      },
    };
  }

  async close(): Promise<void> {
    this.upstream.close();
    await this.sessions.close();
    await this.chain.close();
  }
}
