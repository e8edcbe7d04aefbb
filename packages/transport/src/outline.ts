import type { JsonObject, Message } from './message.js';
import { ScannedMessage } from './parse-message.js';

/** `_meta` by its text: what a client says of itself is the same in all its requests. */
const known = new Map<string, JsonObject>();
const MAX_KNOWN = 256;
const MAX_LENGTH = 2048;

/** `params._meta` of a request, without parsing the rest where that can be helped. Not to be changed. */
export function metaOf(message: Message): JsonObject | undefined {
  const outline = outlineOf(message);
  if (outline === undefined) return objectAt(objectAt(message.json(), 'params'), '_meta');
  return (outline.meta ??= parsedOnce(message.bytes.toString('utf8', outline.metaStart, outline.metaEnd)));
}

function parsedOnce(text: string): JsonObject | undefined {
  let meta = known.get(text);
  if (meta !== undefined) return meta;
  meta = asObject(JSON.parse(text));
  if (meta === undefined || text.length > MAX_LENGTH) return meta;
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(text, meta);
  return meta;
}

/** `params.name` or `params.uri` of a request, where it is a string. */
export function stringParam(message: Message, key: 'name' | 'uri'): string | undefined {
  const outline = outlineOf(message);
  let value: unknown;
  if (outline === undefined) {
    const params = objectAt(message.json(), 'params');
    value = params !== undefined && Object.hasOwn(params, key) ? params[key] : undefined;
  } else {
    const [start, end] = key === 'name' ? [outline.nameStart, outline.nameEnd] : [outline.uriStart, outline.uriEnd];
    value = start === 0 ? undefined : stringIn(message.bytes.toString('utf8', start, end));
  }
  return typeof value === 'string' ? value : undefined;
}

/** Whether a request has answers or a state, of whatever form. */
export function isRetry(message: Message): boolean {
  const outline = outlineOf(message);
  if (outline !== undefined) return outline.isRetry;
  const params = objectAt(message.json(), 'params');
  return params !== undefined && (Object.hasOwn(params, 'inputResponses') || Object.hasOwn(params, 'requestState'));
}

/** A name has no escapes, as a rule. */
const stringIn = (text: string): unknown =>
  text.startsWith('"') && !text.includes('\\') ? text.slice(1, -1) : JSON.parse(text);

const outlineOf = (message: Message) => (message instanceof ScannedMessage ? message.outline : undefined);

const asObject = (value: unknown): JsonObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;

const objectAt = (holder: JsonObject | undefined, key: string): JsonObject | undefined =>
  holder !== undefined && Object.hasOwn(holder, key) ? asObject(holder[key]) : undefined;
