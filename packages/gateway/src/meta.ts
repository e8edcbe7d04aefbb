import { MODERN_VERSION, buildRequest, editMembers, metaOf as metaIn } from '@thv/transport';
import type { JsonObject, Message } from '@thv/transport';

/** Prefix of the keys that belong to one hop. */
export const RESERVED = 'io.modelcontextprotocol/';
export const VERSION_KEY = `${RESERVED}protocolVersion`;
export const CAPABILITIES_KEY = `${RESERVED}clientCapabilities`;
export const CLIENT_INFO_KEY = `${RESERVED}clientInfo`;
export const LOG_LEVEL_KEY = `${RESERVED}logLevel`;
export const SERVER_INFO_KEY = `${RESERVED}serverInfo`;
export const SUBSCRIPTION_KEY = `${RESERVED}subscriptionId`;

/** Reserved keys that older servers know as well. */
const SHARED_KEYS: ReadonlySet<string> = new Set([`${RESERVED}related-task`, `${RESERVED}model-immediate-response`]);

/** Whether a key of `_meta` must not travel to another hop of another era. */
export const isHopKey = (key: string): boolean => key.startsWith(RESERVED) && !SHARED_KEYS.has(key);

const ESCAPE = Buffer.from('\\u00');

/** Whether a plain word may be written with escapes in a message, so that a look at the bytes does not find it. */
export const hasEscapes = ({ bytes }: Message): boolean => bytes.includes(ESCAPE);

/** Whether a message may hold a plain word. The message is not parsed for it. */
export const mayHold = (message: Message, word: Buffer): boolean => message.bytes.includes(word) || hasEscapes(message);

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An own member of an object; `undefined` for anything else. */
export const own = (holder: unknown, key: string): unknown =>
  isObject(holder) && Object.hasOwn(holder, key) ? holder[key] : undefined;

export const paramsOf = (message: Message): JsonObject => {
  const params = own(message.json(), 'params');
  return isObject(params) ? params : {};
};

/** The `_meta` of a request. */
export const metaOf = (message: Message): JsonObject => metaIn(message) ?? {};

/** The capabilities that a client declared with this request. */
export const declaredCapabilities = (message: Message): JsonObject => {
  const declared = own(metaOf(message), CAPABILITIES_KEY);
  return isObject(declared) ? declared : {};
};

/** `_meta` members of a request of our own, as JSON text by key. */
export const ownMeta = (
  clientInfo: { readonly name: string; readonly version: string },
  capabilities: JsonObject = {},
): Record<string, string> => ({
  [VERSION_KEY]: JSON.stringify(MODERN_VERSION),
  [CLIENT_INFO_KEY]: JSON.stringify(clientInfo),
  [CAPABILITIES_KEY]: JSON.stringify(capabilities),
});

/** A request of our own to a server of 2026-07-28. */
export const modernRequest = (
  method: string,
  params: unknown,
  clientInfo: { readonly name: string; readonly version: string },
): Message => editMembers(buildRequest(method, params), { path: ['params', '_meta'], set: ownMeta(clientInfo) });
