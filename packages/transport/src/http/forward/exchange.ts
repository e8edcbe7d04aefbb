import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import { checkModernHeaders, classify } from '../../classify.js';
import { errorBytes } from '../../error-body.js';
import type { Message } from '../../message.js';
import type { Principal, Refusal } from '../../ports.js';
import { MODERN_VERSION, RPC_CODES } from '../../revision.js';
import { emptyLength, hasBody, passBody, readBody, toNumber } from './body.js';
import type { ReadBody } from './body.js';
import { ForwardContext, headerOf } from './context.js';
import type { ProxyCore } from './core.js';
import { createEndpointRewriter } from './endpoint-events.js';
import { createFrameFilter } from './frame-events.js';
import { outgoingHeaders } from './headers.js';
import type { OutgoingHeaders } from './headers.js';
import { peek } from './peek.js';
import type { Peeked } from './peek.js';
import { isEventStream, isJson, relay } from './relay.js';
import { serverSessionId } from './sessions.js';
import type { SessionLook } from './sessions.js';
import { upstreamFailure } from './upstream-error.js';
import type { UpstreamFailure } from './upstream-error.js';
import type { UpstreamReply } from './upstream.js';

const { internalError, invalidRequest, sessionNotFound } = RPC_CODES;
const NONE: SessionLook = { kind: 'none' };

/** One request on its way to the server and back. */
export class ForwardExchange {
  readonly #core: ProxyCore;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #path: string;
  readonly #query: string;
  #body: ReadBody = { bytes: Buffer.alloc(0), isWhole: true };
  #peeked: Peeked | undefined;
  #context: ForwardContext | undefined;
  #session: SessionLook = NONE;
  #isModern: boolean;
  #outgoing: ClientRequest | undefined;
  #isGone = false;

  constructor(core: ProxyCore, request: IncomingMessage, response: ServerResponse, path: string, query: string) {
    this.#core = core;
    this.#request = request;
    this.#response = response;
    this.#path = path;
    this.#query = query;
    this.#isModern = headerOf(request, 'mcp-protocol-version') === MODERN_VERSION;
  }

  start(): void {
    const { maxBodyBytes, prefixBytes } = this.#core.settings;
    this.#response.once('close', () => {
      if (this.#response.writableFinished) return;
      this.#isGone = true;
      this.#outgoing?.destroy();
    });
    if (!hasBody(this.#request)) {
      this.#run();
    } else if (Number(this.#request.headers['content-length']) > maxBodyBytes) {
      this.#tooLarge();
    } else {
      const whole = this.#core.chain.readsBody;
      readBody(this.#request, whole ? maxBodyBytes : Math.min(prefixBytes, maxBodyBytes), (body) => {
        this.#body = body;
        if (body.bytes.length > maxBodyBytes) this.#tooLarge();
        else this.#run();
      });
    }
  }

  #run(): void {
    this.#forward().catch((error: unknown) => {
      this.#core.settings.onWarning?.(`request failed: ${error instanceof Error ? error.message : String(error)}`);
      this.#error(500, internalError, 'Internal error');
    });
  }

  async #forward(): Promise<void> {
    const peeked = this.#readsMessage() ? peek(this.#body.bytes, this.#body.isWhole) : undefined;
    this.#peeked = peeked;
    const message = peeked?.kind === 'message' ? peeked.message : undefined;
    if (!this.#core.chain.empty) {
      this.#context = new ForwardContext(this.#request, this.#response, this.#path, message);
      const verdict = await this.#core.chain.decide(this.#context);
      if (verdict.kind === 'refuse') {
        this.#refuse(verdict);
        return;
      }
      if (verdict.message !== undefined) this.#replace(verdict.message);
      else if (message !== undefined && this.#core.chain.readsBody) this.#replace(message);
    }
    if (!this.#admits()) return;
    const id = this.#sessionId();
    if (id !== undefined) this.#session = await this.#core.sessions.look(id, this.#principal);
    if (!this.#admitsSession()) return;
    await this.#exchange();
  }

  /** Where the body must be a message of MCP. */
  #readsMessage(): boolean {
    if (this.#request.method !== 'POST' || this.#body.bytes.length === 0) return false;
    const json = /application\/json/i.test(this.#request.headers['content-type'] ?? '');
    if (this.#core.settings.transport === 'streamable-http') return true;
    return json && (this.#path.startsWith('/mcp') || !this.#core.chain.empty);
  }

  #replace(message: Message): void {
    const { method, idText } = message;
    this.#peeked = { kind: 'message', message, method, idText };
    this.#body = { bytes: message.bytes, isWhole: true };
  }

  /** Refuses what is no message, or one that contradicts its headers. */
  #admits(): boolean {
    const peeked = this.#peeked;
    if (peeked === undefined) return true;
    if (peeked.kind === 'problem') return this.#error(400, peeked.code, peeked.text, peeked.idText);
    if (peeked.kind === 'array') {
      const version = headerOf(this.#request, 'mcp-protocol-version');
      // An array would carry messages past middlewares that look at one.
      if (!this.#core.chain.readsBody && (version === undefined || version <= '2025-03-26')) return true;
      return this.#error(
        400,
        invalidRequest,
        'Arrays of messages are not served here: send one message in each request',
      );
    }
    if (peeked.kind === 'part' || peeked.message.kind !== 'request') return true;
    const { message } = peeked;
    const era = classify(message, headerOf(this.#request, 'mcp-protocol-version'));
    this.#isModern = era.era === 'modern';
    const problem =
      era.era === 'invalid'
        ? era.error
        : era.era === 'modern'
          ? checkModernHeaders(message, (name) => headerOf(this.#request, name))
          : undefined;
    if (problem === undefined) return true;
    return this.#error(problem.status, problem.code, problem.message, message.idText, problem.data);
  }

  get #method(): string | undefined {
    return this.#peeked?.kind === 'message' || this.#peeked?.kind === 'part' ? this.#peeked.method : undefined;
  }

  get #idText(): string | undefined {
    return this.#peeked !== undefined && 'idText' in this.#peeked ? this.#peeked.idText : undefined;
  }

  get #principal(): Principal | undefined {
    return this.#context?.principal;
  }

  /** The session that the request names. The newer era has none: there, a stray header means nothing. */
  #sessionId(): string | undefined {
    if (this.#isModern || this.#method === 'initialize') return undefined;
    return headerOf(this.#request, 'mcp-session-id');
  }

  #admitsSession(): boolean {
    const look = this.#session;
    if (look.kind === 'unavailable') {
      this.#core.settings.onWarning?.(`session store: ${String(look.error)}`);
      return this.#error(503, internalError, 'The session store is unavailable; send the request again', this.#idText);
    }
    // A server that never gives out sessions is not asked for one.
    if (look.kind !== 'unknown' || this.#core.isSessionless) return true;
    return this.#error(404, sessionNotFound, 'Session not found', this.#idText);
  }

  async #exchange(): Promise<void> {
    const serverId =
      this.#session.kind === 'known' ? serverSessionId(this.#session.id, this.#session.record) : undefined;
    const outgoing =
      this.#core.settings.authorize === undefined ? this.#outgoingHeaders(serverId) : await this.#authorized(serverId);
    if (outgoing === undefined) return;
    let reply = await this.#send(outgoing);
    if (this.#isRetried(reply)) reply = await this.#send(outgoing);
    if (this.#isGone) return;
    if (reply.kind === 'failure' || reply.response.statusCode === 404) {
      const again = await this.#recovered(reply, outgoing);
      if (again === 'answered' || this.#isGone) return;
      reply = again ?? reply;
    }
    if (reply.kind === 'failure') this.#fail(reply.failure);
    else await this.#answer(reply.response);
  }

  /** The headers with credentials of ours; `undefined` when there are none, which the client was told. */
  async #authorized(sessionId: string | undefined): Promise<OutgoingHeaders | undefined> {
    try {
      const authorization = await this.#core.settings.authorize?.();
      return this.#outgoingHeaders(sessionId, authorization);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#response.setHeader('retry-after', '10');
      const text = `No credentials for ${this.#core.upstream.host}: ${why}`;
      this.#fail(upstreamFailure('credentials', text, { status: 503 }));
      return undefined;
    }
  }

  #outgoingHeaders(sessionId: string | undefined, authorization?: string): OutgoingHeaders {
    const { settings, upstream, chain } = this.#core;
    const length = this.#request.headers['content-length'];
    const { bytes, isWhole } = this.#body;
    return {
      host: upstream.host,
      contentLength: isWhole ? (hasBody(this.#request) ? bytes.length : emptyLength(this.#request)) : toNumber(length),
      isChunked: !isWhole && length === undefined,
      sessionId,
      forwarded: this.#core.forwardedHeaders(this.#request),
      set: authorization === undefined ? settings.set : new Map([...settings.set, ['authorization', authorization]]),
      identity: chain.filters || settings.transport === 'sse',
    };
  }

  #send(headers: OutgoingHeaders): Promise<UpstreamReply> {
    const { bytes, isWhole } = this.#body;
    return this.#core.upstream.send({
      method: this.#request.method ?? 'GET',
      path: this.#core.pathFor(this.#request, this.#path, this.#query),
      headers: outgoingHeaders(this.#request.rawHeaders, headers),
      body: bytes.length === 0 ? undefined : bytes,
      more: isWhole ? undefined : (outgoing) => this.#pass(outgoing),
      onRequest: (outgoing) => {
        this.#outgoing = outgoing;
        if (this.#isGone) outgoing.destroy();
      },
    });
  }

  #pass(outgoing: ClientRequest): void {
    passBody(this.#request, outgoing, {
      body: this.#body,
      maxBytes: this.#core.settings.maxBodyBytes,
      onTooLarge: () => {
        this.#tooLarge();
        outgoing.destroy();
      },
    });
  }

  /** A kept connection that the server closes at this very moment; what may have run is not run twice. */
  #isRetried(reply: UpstreamReply): boolean {
    if (reply.kind !== 'failure' || reply.failure.class !== 'disconnected' || this.#isGone) return false;
    const isSafe = this.#request.method !== 'POST' || (this.#method !== undefined && this.#method !== 'tools/call');
    return isSafe && this.#body.isWhole && this.#outgoing?.reusedSocket === true;
  }

  /** Opens a session again that the server lost, and sends the request once more. */
  async #recovered(reply: UpstreamReply, outgoing: OutgoingHeaders): Promise<UpstreamReply | 'answered' | undefined> {
    const session = this.#session;
    if (session.kind !== 'known' || this.#request.method === 'DELETE') return undefined;
    const isLost = reply.kind === 'failure' ? reply.failure.isBeforeRequest : reply.response.statusCode === 404;
    if (!isLost) return undefined;
    const serverId = await this.#core.recovery.recover({
      id: session.id,
      principal: this.#principal,
      path: this.#core.pathFor(this.#request, this.#path, this.#query),
      rawHeaders: this.#request.rawHeaders,
      outgoing,
    });
    if (serverId === undefined) return undefined;
    if (reply.kind === 'response') reply.response.destroy();
    if (this.#body.isWhole) return this.#send({ ...outgoing, sessionId: serverId });
    const text =
      'The server lost the session; it is open again, and the request was too long to be kept: send it again';
    this.#error(503, internalError, text, this.#idText, { reason: 'session-renewed' });
    return 'answered';
  }

  async #answer(incoming: IncomingMessage): Promise<void> {
    const core = this.#core;
    const status = incoming.statusCode ?? 502;
    // Errors behind the head are told to the relay; one that comes while a store is asked must not end the process.
    incoming.on('error', () => undefined);
    if (status === 401) core.unauthorized();
    if (this.#request.method === 'DELETE' && (status === 404 || (status >= 200 && status < 300))) {
      const id = headerOf(this.#request, 'mcp-session-id');
      if (id !== undefined) await core.sessions.drop(id);
    }
    const wrong = this.#wrongContent(incoming);
    if (wrong !== undefined) {
      incoming.destroy();
      this.#fail(wrong);
      return;
    }
    const sessionId = headerOf(incoming, 'mcp-session-id');
    if (status === 200) {
      const noted = this.#noteSession(sessionId);
      if (noted !== undefined) await noted;
    }
    if (this.#isGone) {
      incoming.destroy();
      return;
    }
    const filter = this.#context === undefined ? undefined : core.chain.filterFor(this.#context);
    if (
      status < 300 &&
      this.#context !== undefined &&
      this.#peeked?.kind === 'message' &&
      this.#peeked.message.kind === 'response'
    ) {
      core.chain.clientResponded(this.#peeked.message, this.#context);
    }
    relay(incoming, this.#response, {
      host: core.upstream.host,
      sessionId: this.#session.kind === 'known' ? this.#session.id : undefined,
      filter,
      transforms: isEventStream(incoming) ? this.#transforms(filter) : [],
      idText: this.#idText,
      maxBodyBytes: core.settings.maxBodyBytes,
      fail: (failure) => this.#fail(failure),
      onBroken: (failure) => {
        if (!this.#isGone) core.failed(failure);
      },
    });
  }

  #transforms(filter: Parameters<typeof createFrameFilter>[0] | undefined): readonly Transform[] {
    const { settings } = this.#core;
    const transforms: Transform[] = [];
    if (settings.transport === 'sse' && this.#request.method === 'GET') {
      transforms.push(createEndpointRewriter(this.#core.rewriteFor(this.#request, this.#principal)));
    }
    if (filter !== undefined) transforms.push(createFrameFilter(filter, { maxEventBytes: settings.maxBodyBytes }));
    return transforms;
  }

  /** A page for people where a message should be: most often a login, or the wrong address. */
  #wrongContent(incoming: IncomingMessage): UpstreamFailure | undefined {
    const isRequest = this.#idText !== undefined && this.#core.settings.transport === 'streamable-http';
    if (!isRequest || incoming.statusCode !== 200 || isJson(incoming) || isEventStream(incoming)) return undefined;
    const type = incoming.headers['content-type'] ?? 'no content type';
    const { host } = this.#core.upstream;
    if (/^\s*text\/html|application\/xhtml/i.test(type)) {
      const text = `${host} answered with a web page instead of JSON, most often a login page; check the URL, and whether the server wants credentials`;
      return upstreamFailure('login-page', text);
    }
    const text = `${host} answered with ${type} instead of application/json or text/event-stream; check the URL and the transport`;
    return upstreamFailure('content-type', text);
  }

  /** Notes what a good answer tells; a promise where that takes a store. */
  #noteSession(id: string | undefined): Promise<void> | undefined {
    const core = this.#core;
    const isInitialize = this.#method === 'initialize';
    if (isInitialize && !this.#isModern) core.isSessionless = id === undefined;
    if (isInitialize || this.#isModern || id !== undefined) core.ready(this.#isModern);
    if (id === undefined || this.#session.kind === 'known' || this.#isModern) return undefined;
    const body = isInitialize && this.#body.isWhole ? this.#body.bytes : undefined;
    return core.sessions.note(id, this.#principal, 'mcp', body).catch((error: unknown) => {
      core.settings.onWarning?.(`session store: ${String(error)}`);
    });
  }

  #fail(failure: UpstreamFailure): void {
    if (this.#isGone) return;
    this.#core.failed(failure);
    const data = { reason: failure.class, ...(failure.code === undefined ? {} : { code: failure.code }) };
    this.#error(failure.status, internalError, failure.message, this.#idText, data);
  }

  #refuse({ status, headers = {}, error }: Refusal): void {
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value);
    if (error === undefined) {
      this.#response.writeHead(status, ['Content-Length', '0']);
      this.#response.end();
    } else this.#error(status, error.code, error.message, this.#idText, error.data);
  }

  /** Always false, so that a check can end with it. */
  #error(status: number, code: number, message: string, idText?: string, data?: unknown): false {
    const response = this.#response;
    if (response.headersSent || response.destroyed) {
      if (!response.writableEnded) response.destroy();
      return false;
    }
    const body = errorBytes(data === undefined ? { code, message } : { code, message, data }, idText);
    response.statusCode = status;
    response.setHeader('content-type', 'application/json');
    response.setHeader('content-length', body.length);
    // What was not read of a body would be taken for the next request.
    if (!this.#request.complete) response.setHeader('connection', 'close');
    response.end(this.#request.method === 'HEAD' ? undefined : body);
    return false;
  }

  #tooLarge(): void {
    const { maxBodyBytes } = this.#core.settings;
    this.#error(413, invalidRequest, `The body is larger than ${maxBodyBytes} bytes`);
  }
}
