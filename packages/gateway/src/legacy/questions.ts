import type { AskOutcome } from '@thv/mrtr/bridge';
import type { InputRequest } from '@thv/mrtr';
import { buildNotification, buildRequest, idKey, spliceMessage } from '@thv/transport';
import type { JsonObject, Message } from '@thv/transport';
import { isObject, own } from '../meta.js';

interface Pending {
  readonly idText: string;
  readonly origin: string;
  readonly resolve: (outcome: AskOutcome) => void;
}

/** The requests that a virtual server has put to its client. */
export class Questions {
  readonly #send: (message: Message, origin: string) => void;
  readonly #pending = new Map<string, Pending>();
  #count = 0;

  constructor(send: (message: Message, origin: string) => void) {
    this.#send = send;
  }

  /** Puts a question on behalf of the request `origin` (its id as JSON text). */
  ask(question: InputRequest, origin: string, signal: AbortSignal): Promise<AskOutcome> {
    this.#count += 1;
    const idText = JSON.stringify(`q${this.#count}`);
    return new Promise((resolve) => {
      const pending = { idText, origin, resolve };
      this.#pending.set(idKey(idText), pending);
      signal.addEventListener('abort', () => this.#withdraw(pending), { once: true });
      this.#send(spliceMessage(buildRequest(question.method, question.params ?? {}), { idText }), origin);
    });
  }

  /** Takes an answer of the client. */
  answer(message: Message): void {
    const key = idKey(message.idText ?? '');
    const pending = this.#pending.get(key);
    if (pending === undefined) return;
    this.#pending.delete(key);
    const json = message.json();
    const result = json['result'];
    if (isObject(result)) {
      pending.resolve({ kind: 'result', result: result as JsonObject as never });
      return;
    }
    const text = own(json['error'], 'message');
    pending.resolve({ kind: 'error', message: typeof text === 'string' ? text : 'no result' });
  }

  /** Nobody answers any more. */
  close(): void {
    for (const pending of this.#pending.values()) pending.resolve({ kind: 'error', message: 'The session is over' });
    this.#pending.clear();
  }

  #withdraw(pending: Pending): void {
    if (!this.#pending.delete(idKey(pending.idText))) return;
    const params = { requestId: JSON.parse(pending.idText) as unknown, reason: 'No longer needed' };
    this.#send(buildNotification('notifications/cancelled', params), pending.origin);
    pending.resolve({ kind: 'error', message: 'withdrawn' });
  }
}
