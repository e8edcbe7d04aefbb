import type { Message } from '../message.js';
import { idKey } from '../request-id.js';

/** A request of the client that is not answered yet. */
export interface PendingRequest {
  readonly message: Message;
  abort?: (() => void) | undefined;
  isCancelled: boolean;
}

/** The requests of the client that are not answered yet; each is answered once. */
export class Pending {
  readonly #requests = new Map<string, PendingRequest>();
  #whenEmpty: (() => void) | undefined;

  get size(): number {
    return this.#requests.size;
  }

  add(message: Message): PendingRequest {
    const request: PendingRequest = { message, isCancelled: false };
    this.#requests.set(idKey(message.idText ?? '0'), request);
    return request;
  }

  /** False when the request was answered already, or never asked. */
  settle(idText: string | undefined): boolean {
    if (idText === undefined) return false;
    const found = this.#requests.delete(idKey(idText));
    if (this.#requests.size === 0) this.#whenEmpty?.();
    return found;
  }

  has(idText: string): boolean {
    return this.#requests.has(idKey(idText));
  }

  /** The request that a `notifications/cancelled` names. */
  cancelledBy(message: Message): PendingRequest | undefined {
    const params: unknown = message.json()['params'];
    if (typeof params !== 'object' || params === null || !Object.hasOwn(params, 'requestId')) return undefined;
    const { requestId } = params as { readonly requestId?: unknown };
    if (typeof requestId !== 'string' && typeof requestId !== 'number') return undefined;
    return this.#requests.get(idKey(JSON.stringify(requestId)));
  }

  all(): readonly PendingRequest[] {
    return [...this.#requests.values()];
  }

  async empty(): Promise<void> {
    if (this.#requests.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
  }
}
