import type { JsonValue, StateBinding, StateCodec } from '@thv/mrtr';
import { INVALID_STATE } from '@thv/mrtr';
import { editMembers } from '@thv/transport';
import type { Message, Principal } from '@thv/transport';
import { own, paramsOf } from '../meta.js';

/** What became of the state in a request. */
export type Unwrapped =
  | { readonly kind: 'request'; readonly message: Message; readonly position: Position | undefined }
  | { readonly kind: 'refused'; readonly error: typeof INVALID_STATE; readonly reason: string };

/** Where a flow stands, for the next sealing. */
export interface Position {
  readonly flow: string;
  readonly round: number;
  readonly flowExpiresAt: number;
}

/**
 * Puts a server's own request state into one of ours, so that it returns only from the caller and the request that it
 * was made for, although the server sees one caller alone. A state that is empty and one that is absent stay apart.
 */
export class StateWrap {
  readonly #codec: StateCodec;
  readonly #audience: string;

  constructor(codec: StateCodec, audience: string) {
    this.#codec = codec;
    this.#audience = audience;
  }

  /** The request with the server's own state in the place of ours. */
  async unwrap(message: Message, principal: Principal | undefined): Promise<Unwrapped> {
    const token = own(paramsOf(message), 'requestState');
    if (token === undefined) return { kind: 'request', message, position: undefined };
    const opened = await this.#codec.open(token, this.#binding(message, principal));
    if (opened.kind === 'rejected') return { kind: 'refused', error: INVALID_STATE, reason: opened.reason };
    const inner = opened.payload;
    const edited =
      typeof inner === 'string'
        ? editMembers(message, { path: ['params'], set: { requestState: JSON.stringify(inner) } })
        : editMembers(message, { path: ['params'], remove: (key) => key === 'requestState' });
    const { flow, round, flowExpiresAt } = opened;
    return { kind: 'request', message: edited, position: { flow, round: round + 1, flowExpiresAt } };
  }

  /** The answer with our state around the server's. */
  async wrap(
    request: Message,
    answer: Message,
    principal: Principal | undefined,
    position: Position | undefined,
  ): Promise<Message> {
    const state = own(answer.json()['result'], 'requestState');
    const payload: JsonValue = typeof state === 'string' ? state : null;
    const token = await this.#codec.seal(payload, this.#binding(request, principal), position);
    return editMembers(answer, { path: ['result'], set: { requestState: JSON.stringify(token) } });
  }

  #binding(message: Message, principal: Principal | undefined): StateBinding {
    return {
      principal,
      method: message.method ?? '',
      params: paramsOf(message) as StateBinding['params'],
      audience: this.#audience,
    };
  }
}
