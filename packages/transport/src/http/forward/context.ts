import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Message } from '../../message.js';
import type { Principal, RequestContext } from '../../ports.js';

/** What the middlewares know of a request of `node:http`; the signal exists only once somebody asks for it. */
export class ForwardContext implements RequestContext {
  principal: Principal | undefined = undefined;
  readonly message: Message | undefined;
  readonly path: string;
  readonly values = new Map<symbol, unknown>();
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #controller: AbortController | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, path: string, message: Message | undefined) {
    this.#request = request;
    this.#response = response;
    this.path = path;
    this.message = message;
  }

  get sessionId(): string | undefined {
    return headerOf(this.#request, 'mcp-session-id');
  }

  get headers(): IncomingMessage['headers'] {
    return this.#request.headers;
  }

  get httpMethod(): string {
    return this.#request.method ?? 'GET';
  }

  get remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      const gone = (): void => {
        if (!this.#response.writableFinished) controller.abort();
      };
      if (this.#response.destroyed) gone();
      else this.#response.once('close', gone);
    }
    return this.#controller.signal;
  }
}

/** The value of a header; of several the first. Empty counts as absent. */
export function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  const first = Array.isArray(value) ? value[0] : value;
  return first === '' ? undefined : first;
}
