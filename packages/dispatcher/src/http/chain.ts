import type { Message, Middleware, Principal, RequestContext, Verdict } from '@thv/transport';
import { headerOf } from './writer.js';
import type { FrameFilter, Incoming, ResponseWriter } from './writer.js';

const PASS: Verdict = { kind: 'pass' };

/** What the chain knows of one request; the signal exists only once somebody asks for it. */
export class HttpContext implements RequestContext {
  principal: Principal | undefined = undefined;
  readonly message: Message | undefined;
  readonly values = new Map<symbol, unknown>();
  readonly #request: Incoming;
  readonly #writer: ResponseWriter;
  #controller: AbortController | undefined;

  constructor(request: Incoming, writer: ResponseWriter, message: Message | undefined) {
    this.#request = request;
    this.#writer = writer;
    this.message = message;
  }

  get sessionId(): string | undefined {
    return headerOf(this.#request, 'mcp-session-id');
  }

  get headers() {
    return this.#request.headers;
  }

  get httpMethod(): string {
    return this.#request.method;
  }

  get path(): string {
    return this.#request.path;
  }

  get remoteAddress(): string | undefined {
    return this.#request.remoteAddress;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      this.#writer.whenGone(() => controller.abort());
    }
    return this.#controller.signal;
  }
}

/** The registered middlewares as one: requests from the outside in, frames from the inside out. */
export class Chain {
  readonly #deciding: readonly Middleware[];
  readonly #framing: readonly Middleware[];
  readonly #answering: readonly Middleware[];
  readonly #all: readonly Middleware[];
  readonly #onError: (name: string, error: unknown) => void;

  constructor(middlewares: readonly Middleware[], onError: (name: string, error: unknown) => void) {
    this.#all = middlewares;
    this.#deciding = middlewares.filter(({ handle }) => handle !== undefined);
    this.#framing = middlewares.filter(({ onFrame }) => onFrame !== undefined).reverse();
    this.#answering = middlewares.filter(({ onClientResponse }) => onClientResponse !== undefined);
    this.#onError = onError;
  }

  /** Whether nothing is registered, so that a request need not be wrapped. */
  get empty(): boolean {
    return this.#all.length === 0;
  }

  /** Asks the middlewares; one that throws refuses the request. */
  async decide(context: RequestContext): Promise<Verdict> {
    try {
      return await this.#decideFrom(0, context);
    } catch (error) {
      this.#onError('chain', error);
      return { kind: 'refuse', status: 500, error: { code: -32603, message: 'Internal error' } };
    }
  }

  /** The filter of the messages that leave for a request, or `undefined` when nobody looks. */
  filterFor(context: RequestContext): FrameFilter | undefined {
    if (this.#framing.length === 0) return undefined;
    return (message) => {
      let frame: Message | undefined = message;
      for (const middleware of this.#framing) {
        try {
          frame = middleware.onFrame?.(frame, context);
        } catch (error) {
          // What should have been filtered must not leave unfiltered.
          this.#onError(middleware.name, error);
          return undefined;
        }
        if (frame === undefined) return undefined;
      }
      return frame;
    };
  }

  clientResponded(message: Message, context: RequestContext): void {
    for (const middleware of this.#answering) {
      try {
        middleware.onClientResponse?.(message, context);
      } catch (error) {
        this.#onError(middleware.name, error);
      }
    }
  }

  /** Closes the middlewares, innermost first. */
  async close(): Promise<void> {
    for (const middleware of [...this.#all].reverse()) await middleware.close?.();
  }

  async #decideFrom(index: number, context: RequestContext): Promise<Verdict> {
    const middleware = this.#deciding[index];
    if (middleware?.handle === undefined) return PASS;
    return middleware.handle(context, () => this.#decideFrom(index + 1, context));
  }
}
