import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { MiddlewareChain, TransportError, errorBytes, healthResponse, parseMessage } from '@thv/transport';
import type { Message, Refusal } from '@thv/transport';
import { INVALID_REQUEST, SESSION_NOT_FOUND, UNSUPPORTED_VERSION } from '../codes.js';
import type { Dispatcher } from '../dispatcher.js';
import { HttpContext } from '../http/chain.js';
import { Guard } from '../http/guard.js';
import { SSE_HEADERS } from '../http/sse.js';
import type { Incoming, ResponseWriter } from '../http/writer.js';
import { LEGACY_VERSIONS, classify } from '../revision.js';
import { principalKey } from '@thv/transport';
import type { ClientSession } from '../sessions.js';
import { messagesAddress } from './address.js';
import { SseClient } from './client.js';
import { sseSettingsFrom } from './options.js';
import type { SseOptions, SseSettings } from './options.js';
import { SseReply } from './reply.js';

/** Everything between HTTP and the dispatcher for the transport of 2024-11-05. */
export class SseEdge {
  readonly #dispatcher: Dispatcher;
  readonly #settings: SseSettings;
  readonly #guard: Guard;
  readonly #chain: MiddlewareChain;
  readonly #clients = new Map<string, SseClient>();
  readonly #leaving = new Map<SseClient, () => void>();
  #stopBeat: () => void;

  constructor(dispatcher: Dispatcher, options: SseOptions) {
    this.#dispatcher = dispatcher;
    this.#settings = sseSettingsFrom(options);
    this.#guard = new Guard(options);
    this.#chain = new MiddlewareChain(this.#settings.middlewares, (name, error) =>
      this.#settings.onWarning?.(`middleware ${name}: ${error instanceof Error ? error.message : String(error)}`),
    );
    this.#stopBeat = this.#beat();
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const { path, messagesPath } = this.#settings;
    const url = request.url ?? '/';
    const at = url.indexOf('?');
    const asked = this.#withoutPrefix(at < 0 ? url : url.slice(0, at));
    if (asked === '/health') {
      this.#sendHealth(request, response);
      return;
    }
    if (asked !== path && asked !== messagesPath) {
      send(response, 404, '{"error":"not_found"}');
      return;
    }
    const incoming = incomingOf(request, asked);
    const refusal = this.#guard.refusal(incoming);
    const method = asked === path ? 'GET' : 'POST';
    if (refusal !== undefined) send(response, 403, errorBytes({ code: INVALID_REQUEST, message: refusal }));
    else if (request.method === 'OPTIONS' && this.#guard.preflightHeaders(incoming) !== undefined) {
      response.writeHead(204, this.#guard.preflightHeaders(incoming) as string[]).end();
    } else if (request.method !== method) {
      response.setHeader('allow', method);
      send(response, 405, errorBytes({ code: INVALID_REQUEST, message: 'Method not allowed' }));
    } else {
      const work =
        method === 'GET'
          ? this.#open(incoming, request, response)
          : this.#post(incoming, request, response, new URLSearchParams(at < 0 ? '' : url.slice(at + 1)));
      work.catch((error: unknown) => {
        this.#settings.onWarning?.(`request failed: ${error instanceof Error ? error.message : String(error)}`);
        if (!response.headersSent) send(response, 500, errorBytes({ code: -32603, message: 'Internal error' }));
      });
    }
  }

  async close(): Promise<void> {
    this.#stopBeat();
    for (const client of this.#clients.values()) client.end();
    await this.#chain.close();
  }

  #withoutPrefix(path: string): string {
    const { endpointPrefix: prefix } = this.#settings;
    return prefix !== '' && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
  }

  async #open(incoming: Incoming, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const context = new HttpContext(incoming, writerOf(response), undefined);
    if (!this.#chain.empty) {
      const verdict = await this.#chain.decide(context);
      if (verdict.kind === 'refuse') {
        refuse(response, verdict, undefined);
        return;
      }
    }
    const [client, after] = this.#clientFor(request, context);
    if (client === undefined) {
      response.setHeader('retry-after', '1');
      send(response, 503, errorBytes({ code: -32603, message: 'Too many clients' }));
      return;
    }
    const { settings } = this.#dispatcher;
    this.#leaving.get(client)?.();
    this.#leaving.delete(client);
    response.writeHead(200, [...SSE_HEADERS, ...this.#guard.headersFor(incoming)]);
    const address = messagesAddress(request, client.id, this.#settings);
    // With an id from the start, a client that loses its stream before the first message can come back too.
    response.write(`id: ${client.id}.${after}\nevent: endpoint\ndata: ${address}\n\n`);
    client.attach(response, after);
    response.once('close', () => {
      if (!client.detach(response) || !client.open) return;
      this.#leaving.set(
        client,
        settings.clock.setTimer(this.#settings.reconnectMs, () => client.end()),
      );
    });
  }

  /** The client that comes back with the id of its last event, or a new one. */
  #clientFor(request: IncomingMessage, context: HttpContext): readonly [SseClient | undefined, number] {
    const last = request.headers['last-event-id'];
    const [, id, sequence] = /^([0-9a-f-]{36})\.(\d{1,15})$/.exec(typeof last === 'string' ? last : '') ?? [];
    const known = id === undefined ? undefined : this.#clients.get(id);
    if (known !== undefined && known.principalKey === principalKey(context.principal)) return [known, Number(sequence)];
    if (this.#clients.size >= this.#settings.maxClients) return [undefined, 0];
    const client = new SseClient({
      id: randomUUID(),
      principal: context.principal,
      filter: this.#chain.filterFor(context),
      flow: this.#dispatcher.flow,
      limits: { maxMessages: this.#settings.maxPendingMessages, maxBytes: this.#settings.maxPendingBytes },
      onEnd: (ended) => this.#ended(ended),
    });
    this.#clients.set(client.id, client);
    return [client, 0];
  }

  #ended(client: SseClient): void {
    this.#clients.delete(client.id);
    this.#leaving.get(client)?.();
    this.#leaving.delete(client);
    if (client.session !== undefined) this.#dispatcher.endSession(client.session);
  }

  async #post(
    incoming: Incoming,
    request: IncomingMessage,
    response: ServerResponse,
    query: URLSearchParams,
  ): Promise<void> {
    for (const [name, value] of pairs(this.#guard.headersFor(incoming))) response.setHeader(name, value);
    const id = query.get('session_id') ?? query.get('sessionId');
    if (id === null || id === '') {
      send(response, 400, errorBytes({ code: INVALID_REQUEST, message: 'The parameter session_id is missing' }));
      return;
    }
    const body = await this.#read(request);
    if (body === undefined) {
      const message = `The body is larger than ${this.#settings.maxBodyBytes} bytes`;
      response.setHeader('connection', 'close');
      send(response, 413, errorBytes({ code: INVALID_REQUEST, message }));
      return;
    }
    const message = parse(body);
    const context = new HttpContext(incoming, writerOf(response), 'kind' in message ? message : undefined);
    const verdict = this.#chain.empty ? undefined : await this.#chain.decide(context);
    if (verdict?.kind === 'refuse') {
      refuse(response, verdict, 'kind' in message && message.kind === 'request' ? message.idText : undefined);
      return;
    }
    const client = this.#clients.get(id);
    if (client === undefined || client.principalKey !== principalKey(context.principal)) {
      send(response, 404, errorBytes({ code: SESSION_NOT_FOUND, message: 'Session not found' }));
    } else if (!('kind' in message)) {
      send(response, 400, errorBytes(message));
    } else {
      this.#route(response, client, verdict?.message ?? message, context);
    }
  }

  #route(response: ServerResponse, client: SseClient, message: Message, context: HttpContext): void {
    const { principal } = context;
    const origin = { session: client.session, principal };
    if (message.kind === 'request') {
      if (classify(message, undefined).era !== 'legacy') {
        const data = { supported: LEGACY_VERSIONS.toReversed() };
        const text = 'This transport serves versions with initialize; use Streamable HTTP';
        send(response, 400, errorBytes({ code: UNSUPPORTED_VERSION, message: text, data }, message.idText));
        return;
      }
      accepted(response);
      const filter = this.#chain.filterFor(context);
      const reply = new SseReply(client, message.idText ?? '0', filter, (session) => this.#bind(client, session));
      this.#dispatcher.request(message, reply, origin);
      return;
    }
    const taken =
      message.kind === 'notification'
        ? this.#dispatcher.notify(message, origin)
        : this.#dispatcher.respond(message, origin);
    if (taken === 'taken') {
      if (message.kind === 'response') this.#chain.clientResponded(message, context);
      accepted(response);
    } else if (taken === 'busy') {
      response.setHeader('retry-after', '1');
      send(response, 503, errorBytes({ code: -32603, message: 'The queue to the MCP server is full' }));
    } else {
      send(response, 400, errorBytes({ code: INVALID_REQUEST, message: 'No request of the server has this id' }));
    }
  }

  #bind(client: SseClient, session: ClientSession): void {
    if (!client.open) {
      this.#dispatcher.endSession(session);
      return;
    }
    client.session = session;
    this.#dispatcher.openStream(session, client);
  }

  #read(request: IncomingMessage): Promise<Buffer | undefined> {
    const { maxBodyBytes } = this.#settings;
    if (Number(request.headers['content-length']) > maxBodyBytes) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const chunks: Buffer[] = [];
      let size = 0;
      request.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > maxBodyBytes) {
          request.pause();
          resolve(undefined);
        } else chunks.push(chunk);
      });
      request.on('end', () => resolve(Buffer.concat(chunks, size)));
    });
  }

  /** Comments keep idle streams open, also those of clients that have no session yet. */
  #beat(): () => void {
    const { clock, keepAliveMs } = this.#dispatcher.settings;
    return clock.setTimer(keepAliveMs, () => {
      for (const client of this.#clients.values()) client.keepAlive();
      this.#stopBeat = this.#beat();
    });
  }

  /** Looks at the dispatcher and never at the server: a ping would travel through some client's channel. */
  #sendHealth(request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET');
      send(response, 405, errorBytes({ code: INVALID_REQUEST, message: 'Method not allowed' }));
      return;
    }
    const refusal = this.#dispatcher.refusal();
    const status = refusal === undefined ? 'healthy' : refusal.retryAfterMs === undefined ? 'unhealthy' : 'degraded';
    const health = healthResponse({ status, transport: 'stdio' });
    response.setHeader('cache-control', 'no-store');
    send(response, health.status, request.method === 'HEAD' ? '' : health.body);
  }
}

function parse(body: Buffer): Message | { readonly code: number; readonly message: string } {
  try {
    return parseMessage(body);
  } catch (error) {
    if (!TransportError.is(error)) throw error;
    return { code: error.code === 'ERR_TRANSPORT_JSON' ? -32700 : INVALID_REQUEST, message: error.message };
  }
}

function send(response: ServerResponse, status: number, body: Buffer | string): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.setHeader('content-length', Buffer.byteLength(body));
  response.end(body);
}

function accepted(response: ServerResponse): void {
  response.statusCode = 202;
  response.setHeader('content-type', 'text/plain');
  response.end('Accepted');
}

function refuse(response: ServerResponse, { status, headers = {}, error }: Refusal, idText: string | undefined): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  send(response, status, error === undefined ? '' : errorBytes(error, idText));
}

function incomingOf(request: IncomingMessage, path: string): Incoming {
  const { method = 'GET', headers, socket } = request;
  const { remoteAddress, localPort, localAddress } = socket;
  return { method, path, headers, remoteAddress, localPort, localAddress };
}

/** The part of a writer that a context needs. */
const writerOf = (response: ServerResponse): Pick<ResponseWriter, 'whenGone'> => ({
  whenGone: (callback) => {
    response.once('close', () => {
      if (!response.writableFinished) callback();
    });
  },
});

function pairs(list: readonly string[]): readonly (readonly [string, string])[] {
  return list.flatMap((name, index) => (index % 2 === 0 ? [[name, list[index + 1] ?? ''] as const] : []));
}
