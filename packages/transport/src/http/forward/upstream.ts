import { Agent, request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { rootCertificates } from 'node:tls';
import { isPrivateHost } from './addresses.js';
import type { ProxySettings } from './options.js';
import { classifyError, upstreamFailure } from './upstream-error.js';
import type { UpstreamFailure } from './upstream-error.js';

/** One request towards the server. */
export interface UpstreamRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Names and values in turn; `Host` first. */
  readonly headers: readonly string[];
  /** The whole body, or its first part where `more` goes on. */
  readonly body: Buffer | undefined;
  /** Sends the rest of the body and ends the request. */
  readonly more?: ((request: ClientRequest) => void) | undefined;
  /** Takes the request, so that it can be ended when the client goes. */
  readonly onRequest?: (request: ClientRequest) => void;
}

/** A response, or why there is none. */
export type UpstreamReply =
  | { readonly kind: 'response'; readonly response: IncomingMessage }
  | { readonly kind: 'failure'; readonly failure: UpstreamFailure };

/** A body up to this is sent in one write with the head; as a buffer it would cost a gathered write. */
const SHORT_BYTES = 8 * 1024;
const REDIRECTS: ReadonlySet<number | undefined> = new Set([301, 302, 307, 308]);

/** Connections to one server, kept for the next request. */
export class Upstream {
  readonly #settings: ProxySettings;
  readonly #agent: Agent | HttpsAgent;
  readonly #isTls: boolean;
  readonly #hostname: string;
  readonly #port: string | number;
  /** Where a permanent redirect moved the server's path to. */
  #moved: { readonly from: string; readonly to: string } | undefined;

  constructor(settings: ProxySettings) {
    this.#settings = settings;
    this.#isTls = settings.url.protocol === 'https:';
    this.#hostname = settings.url.hostname.replace(/^\[|\]$/g, '');
    this.#port = settings.url.port === '' ? (this.#isTls ? 443 : 80) : settings.url.port;
    const pool = { keepAlive: true, maxFreeSockets: 256, noDelay: true, scheduling: 'lifo' } as const;
    const { caBundle = [] } = settings;
    const trust = caBundle.length === 0 ? {} : { ca: [...rootCertificates, ...caBundle] };
    this.#agent = this.#isTls ? new HttpsAgent({ ...pool, ...trust }) : new Agent(pool);
    limitConnects(this.#agent, settings, this.#isTls);
  }

  get host(): string {
    return this.#settings.url.host;
  }

  /** Sends a request and follows redirects on the same host. */
  async send(request: UpstreamRequest): Promise<UpstreamReply> {
    let path = this.#moved !== undefined && this.#moved.from === request.path ? this.#moved.to : request.path;
    for (let turn = 0; ; turn += 1) {
      const reply = await this.#once(request, path);
      if (reply.kind === 'failure' || !REDIRECTS.has(reply.response.statusCode)) return reply;
      const next = this.#follow(reply.response, path);
      if (next === undefined) return reply;
      reply.response.resume();
      if (typeof next !== 'string') return { kind: 'failure', failure: next };
      if (turn >= this.#settings.maxRedirects) {
        const text = `${this.host} redirects more than ${this.#settings.maxRedirects} times; use the last address as the URL`;
        return { kind: 'failure', failure: upstreamFailure('redirect-loop', text) };
      }
      if (reply.response.statusCode === 301 || reply.response.statusCode === 308) {
        this.#moved = { from: request.path, to: next };
      }
      if (request.more !== undefined) {
        const text = `${this.host} redirects to ${next}, and the body is too long to be sent again; send it again`;
        return { kind: 'failure', failure: upstreamFailure('redirect-body', text, { status: 503 }) };
      }
      path = next;
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The path of a redirect that is followed, `undefined` for one that the client gets, a failure for a dangerous one. */
  #follow(response: IncomingMessage, path: string): string | UpstreamFailure | undefined {
    const { location } = response.headers;
    const { url, remote } = this.#settings;
    if (location === undefined || !URL.canParse(location, url.origin)) return undefined;
    const next = new URL(location, new URL(path, url));
    if (next.host === url.host && next.protocol === url.protocol) return next.pathname + next.search;
    if (remote !== true || isPrivateHost(url.hostname) || !isPrivateHost(next.hostname)) return undefined;
    const text = `${url.host} redirects into a private network (${next.host}), which is refused; if that is wanted, use that address as the URL`;
    return upstreamFailure('redirect-private', text);
  }

  #once(request: UpstreamRequest, path: string): Promise<UpstreamReply> {
    const { url, headersTimeoutMs, clock, lookup } = this.#settings;
    const { method, headers, body, more } = request;
    return new Promise((resolve) => {
      const outgoing = (this.#isTls ? httpsRequest : httpRequest)({
        agent: this.#agent,
        host: this.#hostname,
        port: this.#port,
        method,
        path,
        headers: headers as string[],
        ...(lookup === undefined ? {} : { lookup }),
      });
      let cancelTimer: (() => void) | undefined;
      if (headersTimeoutMs > 0) {
        cancelTimer = clock.setTimer(headersTimeoutMs, () => {
          const text = `${url.host} did not begin to answer within ${headersTimeoutMs / 1000} s; check the server, or allow more time`;
          resolve({ kind: 'failure', failure: upstreamFailure('timeout', text, { status: 504 }) });
          outgoing.destroy();
        });
      }
      outgoing.once('response', (response) => {
        cancelTimer?.();
        resolve({ kind: 'response', response });
      });
      // Stays for errors behind the response; those are told by the response itself.
      outgoing.on('error', (error) => {
        cancelTimer?.();
        resolve({ kind: 'failure', failure: classifyError(error, url.host) });
      });
      request.onRequest?.(outgoing);
      if (more === undefined) {
        if (body !== undefined && body.length <= SHORT_BYTES) outgoing.end(body.toString('latin1'), 'latin1');
        else outgoing.end(body);
      } else {
        if (body !== undefined) outgoing.write(body);
        more(outgoing);
      }
    });
  }
}

/** Gives up connections that do not come about. Done where they are made, which is seldom, and not for each request. */
function limitConnects(agent: Agent, { connectTimeoutMs, clock }: ProxySettings, isTls: boolean): void {
  const create = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = create(options, callback);
    if (socket === null || socket === undefined) return socket;
    const cancel = clock.setTimer(connectTimeoutMs, () => {
      const text = `no connection within ${connectTimeoutMs / 1000} s`;
      socket.destroy(Object.assign(new Error(text), { code: 'ERR_CONNECT_TIMEOUT' }));
    });
    socket.once(isTls ? 'secureConnect' : 'connect', cancel);
    socket.once('close', cancel);
    return socket;
  };
}
