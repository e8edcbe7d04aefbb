/** The three shapes of a JSON-RPC 2.0 message. */
export type MessageKind = 'request' | 'notification' | 'response';

/** What `JSON.parse` gives for an object; never index it by a key that a peer chose without `Object.hasOwn`. */
export type JsonObject = { readonly [key: string]: unknown };

/**
 * One JSON-RPC message together with the bytes it arrived in.
 *
 * The bytes are one complete JSON object in UTF-8 without a raw line break, so they can be written to a
 * newline-delimited pipe or into one `data:` line as they are. They are shared, never changed in place.
 *
 * @see https://www.jsonrpc.org/specification
 */
export interface Message {
  readonly kind: MessageKind;
  readonly bytes: Buffer;
  /** The top-level `id` as JSON text (`1`, `"a"`), so that its type and digits survive; `undefined` for a notification. */
  readonly idText: string | undefined;
  /** The method of a request or notification; `undefined` for a response. */
  readonly method: string | undefined;
  /** `params._meta.progressToken` as JSON text, where the message carries one. */
  readonly progressTokenText: string | undefined;
  /** True for a response that carries `error`. */
  readonly isError: boolean;
  /** The parsed message; parsed on the first call and kept. Numbers above 2^53 lose digits here, never in `bytes`. */
  json(): JsonObject;
}

/** What replaces what in {@link spliceMessage}; a field that is absent keeps the original text. */
export interface Splice {
  /** JSON text of the new top-level id. */
  readonly idText?: string;
  /** JSON text of the new progress token; `null` removes the token. */
  readonly progressTokenText?: string | null;
}
