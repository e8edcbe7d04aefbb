import type { IncomingMessage } from 'node:http';
import type { Principal } from '../../ports.js';
import { outgoingHeaders } from './headers.js';
import type { OutgoingHeaders, RawHeaders } from './headers.js';
import { serverSessionId } from './sessions.js';
import type { TrackedSessions } from './sessions.js';
import type { Upstream } from './upstream.js';

/** What a request knows that finds its session gone at the server. */
export interface RecoveryRequest {
  readonly id: string;
  readonly principal: Principal | undefined;
  readonly path: string;
  readonly rawHeaders: RawHeaders;
  readonly outgoing: OutgoingHeaders;
}

const INITIALIZED = Buffer.from('{"jsonrpc":"2.0","method":"notifications/initialized"}');
/** A handshake that takes longer is no recovery. */
const DRAIN_MS = 30_000;
/** Of the request that found the session gone; they say nothing about a handshake. */
const NOT_REPLAYED = /^(?:content-type|content-length|accept|last-event-id|mcp-method|mcp-name)$/i;

/** Opens lost sessions of a server again, once for all requests that find the same one gone. */
export class Recovery {
  readonly #upstream: Upstream;
  readonly #sessions: TrackedSessions;
  readonly #running = new Map<string, Promise<string | undefined>>();

  constructor(upstream: Upstream, sessions: TrackedSessions) {
    this.#upstream = upstream;
    this.#sessions = sessions;
  }

  /** The id under which the server knows the session from now on; `undefined` when it cannot be opened again. */
  recover(request: RecoveryRequest): Promise<string | undefined> {
    const { id } = request;
    let running = this.#running.get(id);
    if (running === undefined) {
      running = this.#open(request).finally(() => this.#running.delete(id));
      this.#running.set(id, running);
    }
    return running;
  }

  async #open(request: RecoveryRequest): Promise<string | undefined> {
    const look = await this.#sessions.look(request.id, request.principal);
    if (look.kind !== 'known') return undefined;
    const { record } = look;
    // A request that was slow to come back may find that another one opened the session already.
    const current = serverSessionId(request.id, record);
    if (current !== request.outgoing.sessionId) return current;
    const initialize = Object.hasOwn(record.metadata, 'init_body') ? record.metadata['init_body'] : undefined;
    if (initialize === undefined) return undefined;
    const opened = await this.#post(request, Buffer.from(initialize), undefined);
    const serverId = opened?.headers['mcp-session-id'];
    if (opened === undefined || typeof serverId !== 'string') return undefined;
    const taken = await this.#post(request, INITIALIZED, serverId);
    if (taken === undefined) return undefined;
    await this.#sessions.renew(record, serverId);
    return serverId;
  }

  /** A POST with a 2xx answer that was read to its end. */
  async #post(
    { rawHeaders, outgoing, path }: RecoveryRequest,
    body: Buffer,
    sessionId: string | undefined,
  ): Promise<IncomingMessage | undefined> {
    const kept = rawHeaders.filter((_, index) => !NOT_REPLAYED.test(rawHeaders[index - (index % 2)] ?? ''));
    const headers = outgoingHeaders(kept, {
      ...outgoing,
      sessionId,
      contentLength: body.length,
      isChunked: false,
    });
    headers.push('Content-Type', 'application/json', 'Accept', 'application/json, text/event-stream');
    const reply = await this.#upstream.send({ method: 'POST', path, headers, body });
    if (reply.kind === 'failure') return undefined;
    const { response } = reply;
    const status = response.statusCode ?? 0;
    if (!(await drained(response))) return undefined;
    return status >= 200 && status < 300 ? response : undefined;
  }
}

async function drained(response: IncomingMessage): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), DRAIN_MS);
    response.resume();
    response.once('close', () => {
      clearTimeout(timer);
      resolve(response.complete);
    });
    response.once('error', () => undefined);
  });
}
