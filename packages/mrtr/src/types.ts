/** Any JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** A JSON object. Never index one that came from a peer with a key that came from a peer: use `Object.hasOwn`. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** What may be asked of a client within a request. */
export type InputRequestMethod = 'elicitation/create' | 'sampling/createMessage' | 'roots/list';

/** A question that a server puts to its client: a request without `jsonrpc` and without an id. */
export interface InputRequest {
  readonly method: InputRequestMethod;
  readonly params?: JsonObject;
}

/** Questions by key; a key is unique within the request. */
export type InputRequests = Readonly<Record<string, InputRequest>>;

/** Answers by the key of the question: each the bare result object, neither `{ method, result }` nor an error. */
export type InputResponses = Readonly<Record<string, JsonObject>>;

/**
 * The result that asks for input. At least one of the two members is there.
 *
 * @see https://modelcontextprotocol.io/specification — "Multi round-trip requests" of 2026-07-28
 */
export interface InputRequiredResult {
  readonly resultType: 'input_required';
  readonly inputRequests?: InputRequests;
  /** Opaque to the client, which echoes it byte for byte; `""` is a value and differs from an absent member. */
  readonly requestState?: string;
  readonly _meta?: JsonObject;
}

/** What a retry adds to the parameters of the original request. */
export interface InputResponseRequestParams {
  readonly inputResponses?: InputResponses;
  readonly requestState?: string;
}

/** Capabilities as a client declares them with every request. */
export interface ClientCapabilities extends JsonObject {
  readonly elicitation?: { readonly form?: JsonObject; readonly url?: JsonObject };
  readonly sampling?: { readonly tools?: JsonObject; readonly context?: JsonObject };
  readonly roots?: JsonObject;
}

/** The methods whose result may ask for input. */
export type InputRequiringMethod = 'tools/call' | 'prompts/get' | 'resources/read';
