import { TransportError, parseMessage, splitArray } from '@thv/transport';
import type { Message, MiddlewareChain, Principal, Refusal } from '@thv/transport';
import { errorBytes } from '@thv/transport';
import { INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, UNSUPPORTED_VERSION } from '../codes.js';
import type { Dispatcher } from '../dispatcher.js';
import { BUSY } from '../outcome.js';
import { LEGACY_VERSIONS, MODERN_VERSION, checkModernHeaders, claimedVersion, classify } from '../revision.js';
import type { ClassificationError } from '../revision.js';
import type { ClientSession } from '../sessions.js';
import { BatchReply, isArray, joinArray } from './batch.js';
import { HttpContext } from './chain.js';
import type { HttpSettings } from './options.js';
import { HttpReply } from './reply.js';
import { replyEmpty, replyError, replyFailure, replyFault, replyJson, replySessionNotFound } from './responses.js';
import { headerOf } from './writer.js';
import type { HeaderList, Incoming, ResponseWriter } from './writer.js';

/** An error before there is a message to route. */
interface Problem {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** One POST on its way through the pipeline. */
interface Exchange {
  readonly request: Incoming;
  readonly writer: ResponseWriter;
  /** CORS headers, where they are on. */
  readonly headers: HeaderList;
}

const BATCH_REFUSED: Problem = {
  status: 400,
  code: INVALID_REQUEST,
  message: 'Arrays of messages are served for 2025-03-26 alone: send one message in each request',
};

/** A POST from its body to the dispatcher. */
export class PostPipeline {
  readonly #dispatcher: Dispatcher;
  readonly #settings: HttpSettings;
  readonly #chain: MiddlewareChain;

  constructor(dispatcher: Dispatcher, settings: HttpSettings, chain: MiddlewareChain) {
    this.#dispatcher = dispatcher;
    this.#settings = settings;
    this.#chain = chain;
  }

  handle(
    request: Incoming,
    writer: ResponseWriter,
    body: Buffer,
    headers: HeaderList,
    versionProblem: string | undefined,
  ): void {
    const exchange: Exchange = { request, writer, headers };
    if (versionProblem !== undefined) {
      this.#reject(exchange, { status: 400, code: INVALID_REQUEST, message: versionProblem });
      return;
    }
    const type = headerOf(request, 'content-type');
    if (isArray(body)) {
      this.#handleArray(exchange, body, type);
      return;
    }
    const message = acceptsType(type) ? parse(body) : WRONG_TYPE;
    if ('status' in message) this.#reject(exchange, message);
    else if (this.#chain.empty) this.#route(exchange, message, undefined);
    else this.#watch(this.#throughChain(exchange, message), writer);
  }

  /** Sends the refusal of a middleware. */
  refuse(writer: ResponseWriter, refusal: Refusal, idText: string | undefined, headers: HeaderList): void {
    const list = [...Object.entries(refusal.headers ?? {}).flat(), ...headers];
    if (refusal.error === undefined) replyEmpty(writer, refusal.status, list);
    else replyError(writer, refusal.status, refusal.error, { idText, headers: list });
  }

  /** A fault in one request, such as a header that a middleware made up, must not reach the process. */
  #watch(work: Promise<void>, writer: ResponseWriter): void {
    work.catch((error: unknown) => {
      this.#settings.onWarning?.(`request failed: ${error instanceof Error ? error.message : String(error)}`);
      replyFault(writer);
    });
  }

  /** What is no message is refused, but only after those middlewares that refuse for reasons of their own. */
  #reject(exchange: Exchange, problem: Problem): void {
    const { writer, request, headers } = exchange;
    const send = () => replyError(writer, problem.status, problem, { headers });
    if (this.#chain.empty) {
      send();
      return;
    }
    const decided = this.#chain.decide(new HttpContext(request, writer, undefined)).then((verdict) => {
      if (verdict.kind === 'pass') send();
      else this.refuse(writer, verdict, undefined, headers);
    });
    this.#watch(decided, writer);
  }

  async #throughChain(exchange: Exchange, message: Message): Promise<void> {
    const context = new HttpContext(exchange.request, exchange.writer, message);
    const verdict = await this.#chain.decide(context);
    if (verdict.kind === 'pass') this.#route(exchange, verdict.message ?? message, context);
    else this.refuse(exchange.writer, verdict, requestId(message), exchange.headers);
  }

  #route(exchange: Exchange, message: Message, context: HttpContext | undefined): void {
    if (message.kind === 'request') this.#routeRequest(exchange, message, context);
    else this.#routeOneWay(exchange, message, context);
  }

  #routeRequest(exchange: Exchange, message: Message, context: HttpContext | undefined): void {
    const { request, writer, headers } = exchange;
    const era = classify(message, headerOf(request, 'mcp-protocol-version'));
    if (era.era !== 'legacy') {
      this.#routeModern(exchange, message, context, era.era === 'invalid' ? era.error : undefined);
      return;
    }
    const session = this.#sessionOf(request, context?.principal, message.method === 'initialize');
    if (session === 'unknown') {
      replySessionNotFound(writer, message.idText, headers);
      return;
    }
    this.#dispatcher.request(message, this.#replyFor(exchange, message, context), {
      session,
      principal: context?.principal,
    });
  }

  #replyFor({ request, writer, headers }: Exchange, message: Message, context: HttpContext | undefined): HttpReply {
    const accept = headerOf(request, 'accept');
    const takesStream = accept !== undefined && accept.includes('text/event-stream');
    return new HttpReply(writer, {
      idText: message.idText ?? '0',
      // The session id travels in the headers of the answer, so they cannot go out before it.
      streams: takesStream && message.method !== 'initialize',
      json: !takesStream || /application\/(?:json|\*)|\*\/\*/.test(accept),
      headers,
      filter: context === undefined ? undefined : this.#chain.filterFor(context),
      onSession: this.#onSession,
    });
  }

  readonly #onSession = (session: ClientSession, clientIsThere: boolean): boolean => {
    if (clientIsThere && !this.#settings.stateless) return true;
    this.#dispatcher.endSession(session);
    return false;
  };

  #routeModern(
    exchange: Exchange,
    message: Message,
    context: HttpContext | undefined,
    invalid: ClassificationError | undefined,
  ): void {
    const { request, writer, headers } = exchange;
    const { modern } = this.#settings;
    const idText = message.idText;
    if (modern === undefined) {
      replyError(writer, 400, this.#unsupported(message, request), { idText, headers });
      return;
    }
    const problem =
      invalid ??
      checkModernHeaders(message, (name) => headerOf(request, name)) ??
      (message.method === 'initialize' ? UNKNOWN_METHOD : undefined);
    if (problem === undefined) {
      const known = context ?? new HttpContext(request, writer, message);
      modern.request(message, this.#replyFor(exchange, message, context), known);
      return;
    }
    // What a refusal offers is what `server/discover` lists.
    const { data } = problem.code === UNSUPPORTED_VERSION ? this.#unsupported(message, request) : problem;
    replyError(writer, problem.status, { ...problem, data }, { idText, headers });
  }

  /** A client of the newer era learns which versions this edge serves, and can fall back to one of them. */
  #unsupported(message: Message, request: Incoming): Problem {
    const requested = claimedVersion(message) ?? headerOf(request, 'mcp-protocol-version') ?? '';
    return {
      status: 400,
      code: UNSUPPORTED_VERSION,
      message: `Unsupported protocol version: ${requested}`,
      data: { supported: this.#settings.modern?.supportedVersions ?? LEGACY_VERSIONS.toReversed(), requested },
    };
  }

  #routeOneWay(exchange: Exchange, message: Message, context: HttpContext | undefined): void {
    const { request, writer, headers } = exchange;
    const principal = context?.principal;
    if (message.kind === 'response' && headerOf(request, 'mcp-protocol-version') === MODERN_VERSION) {
      const error = { code: INVALID_REQUEST, message: `Clients of ${MODERN_VERSION} send no responses` };
      replyError(writer, 400, error, { headers });
      return;
    }
    const session = this.#sessionOf(request, principal, false);
    if (session === 'unknown') {
      replySessionNotFound(writer, undefined, headers);
      return;
    }
    const taken = this.#takeOneWay(message, session, context);
    if (taken === 'taken') {
      replyEmpty(writer, 202, headers);
    } else if (taken === 'busy') {
      replyFailure(writer, BUSY, undefined, headers);
    } else {
      const error = { code: INVALID_REQUEST, message: 'No request of the server has this id' };
      replyError(writer, 400, error, { headers });
    }
  }

  #takeOneWay(message: Message, session: ClientSession | undefined, context: HttpContext | undefined) {
    const origin = { session, principal: context?.principal };
    if (message.kind === 'notification') return this.#dispatcher.notify(message, origin);
    const taken = this.#dispatcher.respond(message, origin);
    if (taken === 'taken' && context !== undefined) this.#chain.clientResponded(message, context);
    return taken;
  }

  /** The session that a request names; an unknown id on `initialize` is ignored and a new one made. */
  #sessionOf(
    request: Incoming,
    principal: Principal | undefined,
    initialize: boolean,
  ): ClientSession | undefined | 'unknown' {
    const id = headerOf(request, 'mcp-session-id');
    if (id === undefined || id === '' || this.#settings.stateless) return undefined;
    return this.#dispatcher.session(id, principal) ?? (initialize ? undefined : 'unknown');
  }

  #handleArray(exchange: Exchange, body: Buffer, type: string | undefined): void {
    const version = headerOf(exchange.request, 'mcp-protocol-version');
    const elements = acceptsType(type) ? (splitArray(body) ?? BROKEN_ARRAY) : WRONG_TYPE;
    if (version !== undefined && version > '2025-03-26') this.#reject(exchange, BATCH_REFUSED);
    else if ('status' in elements) this.#reject(exchange, elements);
    else if (elements.length === 0 || elements.length > this.#settings.maxBatch)
      this.#reject(exchange, this.#badSize());
    else this.#watch(this.#runArray(exchange, elements), exchange.writer);
  }

  #badSize(): Problem {
    const message = `An array must hold 1 to ${this.#settings.maxBatch} messages`;
    return { status: 400, code: INVALID_REQUEST, message };
  }

  /** Every message of an array takes the whole chain by itself; the responses come back together. */
  async #runArray(exchange: Exchange, elements: readonly Buffer[]): Promise<void> {
    const { request, writer, headers } = exchange;
    const admitted: (Buffer | { message: Message; context: HttpContext | undefined })[] = [];
    for (const element of elements) {
      const message = parse(element);
      if ('status' in message) {
        admitted.push(errorBytes(message));
        continue;
      }
      const context = this.#chain.empty ? undefined : new HttpContext(request, writer, message);
      const verdict = context === undefined ? undefined : await this.#chain.decide(context);
      if (verdict?.kind === 'refuse') {
        if (verdict.status === 401) {
          this.refuse(writer, verdict, undefined, headers);
          return;
        }
        const error = verdict.error ?? { code: INVALID_REQUEST, message: 'Refused' };
        if (message.kind === 'request') admitted.push(errorBytes(error, message.idText));
      } else {
        admitted.push({ message: verdict?.message ?? message, context });
      }
    }
    const first = admitted.find((entry) => !Buffer.isBuffer(entry));
    const session = this.#sessionOf(
      request,
      first === undefined || Buffer.isBuffer(first) ? undefined : first.context?.principal,
      false,
    );
    if (session === 'unknown') replySessionNotFound(writer, undefined, headers);
    else if (session !== undefined && session.protocolVersion > '2025-03-26')
      replyError(writer, 400, BATCH_REFUSED, { headers });
    else await this.#answerArray(exchange, admitted, session);
  }

  async #answerArray(
    { writer, headers }: Exchange,
    admitted: readonly (Buffer | { message: Message; context: HttpContext | undefined })[],
    session: ClientSession | undefined,
  ): Promise<void> {
    const answers: (Buffer | Promise<Buffer>)[] = [];
    for (const entry of admitted) {
      if (Buffer.isBuffer(entry)) answers.push(entry);
      else if (entry.message.kind === 'request')
        answers.push(this.#answerElement(entry.message, entry.context, session));
      else this.#takeOneWay(entry.message, session, entry.context);
    }
    const bodies = await Promise.all(answers);
    if (bodies.length === 0) replyEmpty(writer, 202, headers);
    else replyJson(writer, 200, joinArray(bodies), headers);
  }

  #answerElement(
    message: Message,
    context: HttpContext | undefined,
    session: ClientSession | undefined,
  ): Promise<Buffer> {
    const idText = message.idText ?? '0';
    if (message.method === 'initialize') {
      return Promise.resolve(
        errorBytes({ code: INVALID_REQUEST, message: 'initialize cannot be part of an array' }, idText),
      );
    }
    const filter = context === undefined ? undefined : this.#chain.filterFor(context);
    return new Promise((resolve) => {
      const reply = new BatchReply(idText, filter, resolve);
      this.#dispatcher.request(message, reply, { session, principal: context?.principal });
    });
  }
}

const WRONG_TYPE: Problem = {
  status: 415,
  code: INVALID_REQUEST,
  message: 'Content-Type must be application/json',
};

const BROKEN_ARRAY: Problem = { status: 400, code: INVALID_REQUEST, message: 'The array is no complete JSON' };

const UNKNOWN_METHOD: Problem = { status: 404, code: METHOD_NOT_FOUND, message: 'Method not found' };

const acceptsType = (type: string | undefined): boolean =>
  type === undefined || type === 'application/json' || /^\s*application\/json\s*(?:;|$)/i.test(type);

const requestId = (message: Message): string | undefined => (message.kind === 'request' ? message.idText : undefined);

function parse(body: Buffer): Message | Problem {
  try {
    return parseMessage(body);
  } catch (error) {
    if (!TransportError.is(error)) throw error;
    const code = error.code === 'ERR_TRANSPORT_JSON' ? PARSE_ERROR : INVALID_REQUEST;
    return { status: 400, code, message: error.message };
  }
}
