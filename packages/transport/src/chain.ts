import type { Message } from './message.js';
import type { Middleware, RequestContext, Verdict } from './ports.js';

/** Sees a message before it leaves; `undefined` drops it. */
export type FrameFilter = (message: Message) => Message | undefined;

const PASS: Verdict = { kind: 'pass' };

/** The registered middlewares as one: requests from the outside in, frames from the inside out. */
export class MiddlewareChain {
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

  /** Whether one may look at the message of a request, so that its body must be read as a whole. */
  get readsBody(): boolean {
    return this.#deciding.some(({ readsBody }) => readsBody !== false);
  }

  /** Whether one looks at the messages that leave. */
  get filters(): boolean {
    return this.#framing.length > 0;
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
