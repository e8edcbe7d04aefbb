import type { Message, Principal, RequestContext } from '@thv/transport';
import { headerOf } from './writer.js';
import type { Incoming, ResponseWriter } from './writer.js';

/** What the chain knows of one request; the signal exists only once somebody asks for it. */
export class HttpContext implements RequestContext {
  principal: Principal | undefined = undefined;
  readonly message: Message | undefined;
  readonly #request: Incoming;
  readonly #writer: Pick<ResponseWriter, 'whenGone'>;
  #controller: AbortController | undefined;
  #values: Map<symbol, unknown> | undefined;

  constructor(request: Incoming, writer: Pick<ResponseWriter, 'whenGone'>, message: Message | undefined) {
    this.#request = request;
    this.#writer = writer;
    this.message = message;
  }

  get sessionId(): string | undefined {
    return headerOf(this.#request, 'mcp-session-id');
  }

  get values(): Map<symbol, unknown> {
    return (this.#values ??= new Map());
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
