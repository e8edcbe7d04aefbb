import type { JsonObject, Message } from './message.js';
import { metaOf, stringParam } from './outline.js';
import { MODERN_VERSION, RPC_CODES, decodeHeaderValue } from './revision.js';

const { headerMismatch, invalidParams, unsupportedVersion } = RPC_CODES;

const PREFIX = 'io.modelcontextprotocol/';
const VERSION_KEY = `${PREFIX}protocolVersion`;
const SIGNALS: readonly string[] = [VERSION_KEY, `${PREFIX}clientInfo`, `${PREFIX}clientCapabilities`];

/** A refusal at the edge: HTTP 400 with this JSON-RPC error, unless `status` says otherwise. */
export interface ClassificationError {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Which era of the protocol a request speaks. */
export type Classification =
  | { readonly era: 'legacy' }
  | { readonly era: 'modern' }
  | { readonly era: 'invalid'; readonly error: ClassificationError };

const LEGACY: Classification = { era: 'legacy' };
const MODERN: Classification = { era: 'modern' };

const invalid = (code: number, message: string, data?: unknown): Classification => ({
  era: 'invalid',
  error: { status: 400, code, message, ...(data === undefined ? {} : { data }) },
});

/**
 * Tells the era of a request from its `_meta` and the `MCP-Protocol-Version` header.
 *
 * The body decides; the header alone is a signal only when it names 2026-07-28. A body that does not mention the
 * reserved prefix is never parsed for this.
 *
 * @see https://modelcontextprotocol.io/specification — "Transports", header rules of 2026-07-28
 */
export function classify(message: Message, versionHeader: string | undefined): Classification {
  const meta = mayCarryMeta(message.bytes) ? metaOf(message) : undefined;
  const signal =
    versionHeader === MODERN_VERSION || (meta !== undefined && SIGNALS.some((key) => Object.hasOwn(meta, key)));
  if (!signal) return LEGACY;
  const claimed = meta !== undefined && Object.hasOwn(meta, VERSION_KEY) ? meta[VERSION_KEY] : undefined;
  if (typeof claimed !== 'string' || claimed === '') return classifyWithoutClaim(message, versionHeader);
  if (versionHeader !== undefined && versionHeader !== claimed) {
    return invalid(headerMismatch, 'MCP-Protocol-Version header and _meta name different versions', {
      header: versionHeader,
      body: claimed,
    });
  }
  if (claimed !== MODERN_VERSION) {
    return invalid(unsupportedVersion, `Unsupported protocol version: ${claimed}`, {
      supported: [MODERN_VERSION],
      requested: claimed,
    });
  }
  if (message.method === 'initialize') return MODERN;
  const capabilities = meta?.[`${PREFIX}clientCapabilities`];
  if (typeof capabilities !== 'object' || capabilities === null || Array.isArray(capabilities)) {
    return invalid(invalidParams, `_meta["${PREFIX}clientCapabilities"] must be an object`);
  }
  return MODERN;
}

/** The version that a request claims in its `_meta`, where it does. */
export function claimedVersion(message: Message): string | undefined {
  return stringIn(metaOf(message), VERSION_KEY);
}

function classifyWithoutClaim(message: Message, versionHeader: string | undefined): Classification {
  if (message.method === 'initialize') {
    if (versionHeader !== MODERN_VERSION) return LEGACY;
    return invalid(headerMismatch, `initialize does not exist in ${MODERN_VERSION}, which the header names`, {
      header: versionHeader,
      body: null,
    });
  }
  if (versionHeader !== undefined && versionHeader !== MODERN_VERSION) return LEGACY;
  return invalid(invalidParams, `_meta["${VERSION_KEY}"] must be a non-empty string`);
}

/** Headers that a request of 2026-07-28 must carry and that must agree with its body. */
export function checkModernHeaders(
  message: Message,
  header: (name: string) => string | undefined,
): ClassificationError | undefined {
  const mismatch = (text: string, data: unknown): ClassificationError => ({
    status: 400,
    code: headerMismatch,
    message: text,
    data,
  });
  if (header('mcp-protocol-version') === undefined) {
    return mismatch('The MCP-Protocol-Version header is missing', { header: null, body: MODERN_VERSION });
  }
  const method = header('mcp-method');
  if (method !== message.method) {
    return mismatch('The Mcp-Method header must equal the method', { header: method ?? null, body: message.method });
  }
  const member = NAME_SOURCES.get(message.method ?? '');
  if (member === undefined) return undefined;
  const name = stringParam(message, member);
  const sent = header('mcp-name');
  const decoded = sent === undefined ? undefined : decodeHeaderValue(sent);
  if (name !== undefined && decoded === name) return undefined;
  return mismatch(`The Mcp-Name header must equal params.${member}`, { header: sent ?? null, body: name ?? null });
}

const NAME_SOURCES = new Map<string, 'name' | 'uri'>([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

const NEEDLE = Buffer.from('modelcontextprotocol');
const ESCAPE = Buffer.from('\\u');

/** A key may be written with `\u` escapes, so those count as a maybe. */
function mayCarryMeta(bytes: Buffer): boolean {
  return bytes.includes(NEEDLE) || bytes.includes(ESCAPE);
}

/** The member `key` of `holder` when it is a string. */
function stringIn(holder: JsonObject | undefined, key: string): string | undefined {
  if (holder === undefined || !Object.hasOwn(holder, key)) return undefined;
  const value = holder[key];
  return typeof value === 'string' ? value : undefined;
}
