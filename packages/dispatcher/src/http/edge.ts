import { Buffer } from 'node:buffer';
import { INVALID_REQUEST } from '../codes.js';
import type { Dispatcher } from '../dispatcher.js';
import { LEGACY_VERSIONS, MODERN_VERSION } from '../revision.js';
import { MiddlewareChain } from '@thv/transport';
import { HttpContext } from './chain.js';
import { Guard } from './guard.js';
import { replyHealth } from './health.js';
import { httpSettingsFrom } from './options.js';
import type { HttpOptions, HttpSettings } from './options.js';
import { PostPipeline } from './post.js';
import { replyEmpty, replyError, replyFault, replySessionNotFound } from './responses.js';
import { SSE_HEADERS } from './sse.js';
import { HttpStreamSink } from './stream-sink.js';
import { headerOf } from './writer.js';
import type { Incoming, ResponseWriter } from './writer.js';

const KNOWN_VERSIONS = new Set([...LEGACY_VERSIONS, MODERN_VERSION]);
const NOT_FOUND = Buffer.from('{"error":"not_found"}');

/** Everything between an HTTP request and the dispatcher, for any server. */
export class Edge {
  readonly settings: HttpSettings;
  readonly dispatcher: Dispatcher;
  readonly #guard: Guard;
  readonly #chain: MiddlewareChain;
  readonly #post: PostPipeline;

  constructor(dispatcher: Dispatcher, options: HttpOptions) {
    this.dispatcher = dispatcher;
    this.settings = httpSettingsFrom(options);
    this.#guard = new Guard(options);
    this.#chain = new MiddlewareChain(this.settings.middlewares, (name, error) =>
      this.settings.onWarning?.(`middleware ${name}: ${error instanceof Error ? error.message : String(error)}`),
    );
    this.#post = new PostPipeline(dispatcher, this.settings, this.#chain);
  }

  /** Answers what the head decides. True when it is a POST whose body is wanted; then {@link post} follows. */
  admit(request: Incoming, writer: ResponseWriter): boolean {
    const { path, healthPath } = this.settings;
    if (request.path !== path) {
      if (request.path === healthPath) replyHealth(this.dispatcher, this.settings.transport, request, writer);
      else
        writer.reply(404, ['content-type', 'application/json', 'content-length', String(NOT_FOUND.length)], NOT_FOUND);
      return false;
    }
    if (Number(request.headers['content-length']) > this.settings.maxBodyBytes) {
      this.tooLarge(request, writer);
      return false;
    }
    const refusal = this.#guard.refusal(request);
    if (refusal !== undefined) {
      replyError(writer, 403, { code: INVALID_REQUEST, message: refusal });
      return false;
    }
    if (request.method === 'POST') return true;
    this.#admitOther(request, writer);
    return false;
  }

  /** Takes the body of an admitted POST. */
  post(request: Incoming, writer: ResponseWriter, body: Buffer): void {
    const problem = this.#versionProblem(request);
    this.#post.handle(request, writer, body, this.#guard.headersFor(request), problem);
  }

  /** Answers a body above the limit; the connection cannot be used again, since the rest is not read. */
  tooLarge(request: Incoming, writer: ResponseWriter): void {
    const error = {
      code: INVALID_REQUEST,
      message: `The body is larger than ${this.settings.maxBodyBytes} bytes`,
    };
    replyError(writer, 413, error, { headers: ['connection', 'close', ...this.#guard.headersFor(request)] });
  }

  /** Answers a fault of our own or of a plug-in: it must not reach the process. */
  fault(error: unknown, writer: ResponseWriter): void {
    this.settings.onWarning?.(`request failed: ${error instanceof Error ? error.message : String(error)}`);
    replyFault(writer);
  }

  async close(): Promise<void> {
    await this.#chain.close();
  }

  #admitOther(request: Incoming, writer: ResponseWriter): void {
    const { method } = request;
    const preflight = method === 'OPTIONS' ? this.#guard.preflightHeaders(request) : undefined;
    if (preflight !== undefined) {
      replyEmpty(writer, 204, preflight);
      return;
    }
    const modern = headerOf(request, 'mcp-protocol-version') === MODERN_VERSION;
    if (modern || this.settings.stateless) {
      this.#methodNotAllowed(writer, 'POST, OPTIONS', request);
    } else if (method === 'GET' && !this.settings.standaloneStream) {
      this.#methodNotAllowed(writer, 'POST, DELETE', request, 'SSE not supported on this endpoint');
    } else if (method === 'GET' || method === 'DELETE') {
      this.#throughChain(request, writer);
    } else {
      this.#methodNotAllowed(writer, 'GET, POST, DELETE', request);
    }
  }

  #throughChain(request: Incoming, writer: ResponseWriter): void {
    if (this.#chain.empty) {
      this.#sessionVerb(request, writer, undefined);
      return;
    }
    const context = new HttpContext(request, writer, undefined);
    this.#chain
      .decide(context)
      .then((verdict) => {
        if (verdict.kind === 'pass') this.#sessionVerb(request, writer, context);
        else this.#post.refuse(writer, verdict, undefined, this.#guard.headersFor(request));
      })
      .catch((error: unknown) => this.fault(error, writer));
  }

  #sessionVerb(request: Incoming, writer: ResponseWriter, context: HttpContext | undefined): void {
    const headers = this.#guard.headersFor(request);
    const bad = (message: string) => replyError(writer, 400, { code: INVALID_REQUEST, message }, { headers });
    const problem = this.#versionProblem(request);
    if (problem !== undefined) {
      bad(problem);
      return;
    }
    const id = headerOf(request, 'mcp-session-id');
    if (id === undefined || id === '') {
      bad('The Mcp-Session-Id header is missing');
      return;
    }
    const session = this.dispatcher.session(id, context?.principal);
    if (session === undefined) {
      replySessionNotFound(writer, undefined, headers);
    } else if (request.method === 'DELETE') {
      this.dispatcher.endSession(session);
      replyEmpty(writer, 204, headers);
    } else if (!admitsStream(headerOf(request, 'accept'))) {
      const error = { code: INVALID_REQUEST, message: 'Accept must admit text/event-stream' };
      replyError(writer, 406, error, { headers });
    } else {
      writer.openStream([...SSE_HEADERS, 'mcp-session-id', session.id, ...headers]);
      const filter = context === undefined ? undefined : this.#chain.filterFor(context);
      const lastEventId = headerOf(request, 'last-event-id');
      this.dispatcher.openStream(session, new HttpStreamSink(writer, filter), { lastEventId });
    }
  }

  #methodNotAllowed(writer: ResponseWriter, allow: string, request: Incoming, message = 'Method not allowed'): void {
    const headers = ['allow', allow, ...this.#guard.headersFor(request)];
    if (request.method === 'HEAD') replyEmpty(writer, 405, headers);
    else replyError(writer, 405, { code: INVALID_REQUEST, message }, { headers });
  }

  #versionProblem(request: Incoming): string | undefined {
    if (!this.settings.strict) return undefined;
    const version = headerOf(request, 'mcp-protocol-version');
    if (version === undefined || KNOWN_VERSIONS.has(version)) return undefined;
    return `Unsupported MCP-Protocol-Version ${JSON.stringify(version)}; supported: ${[...KNOWN_VERSIONS].join(', ')}`;
  }
}

function admitsStream(accept: string | undefined): boolean {
  return accept === undefined || /text\/(?:event-stream|\*)|\*\/\*/i.test(accept);
}
