/** Versions of MCP with `initialize` and sessions, oldest first. */
export const LEGACY_VERSIONS: readonly string[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

/** The version of MCP without sessions, where every request carries its own metadata. */
export const MODERN_VERSION = '2026-07-28';

/** True for a version of MCP that is known here; what strict validation of `MCP-Protocol-Version` accepts. */
export const isKnownVersion = (version: string): boolean =>
  version === MODERN_VERSION || LEGACY_VERSIONS.includes(version);

/** Names of the headers of the Streamable HTTP transport, in lower case as Node gives them. */
export const MCP_HEADERS = {
  protocolVersion: 'mcp-protocol-version',
  sessionId: 'mcp-session-id',
  method: 'mcp-method',
  name: 'mcp-name',
  lastEventId: 'last-event-id',
} as const;

/** Codes of JSON-RPC errors, those of MCP included. -32000 and -32001 must not be sent to a client of 2026-07-28. */
export const RPC_CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  timeout: -32000,
  sessionNotFound: -32001,
  headerMismatch: -32020,
  capabilityRequired: -32021,
  unsupportedVersion: -32022,
} as const;

/** Lower case alone: another spelling is a plain value. */
const SENTINEL = /^=\?base64\?(.*)\?=$/s;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * A value such as a tool's name as the value of a header: as it is where a header can carry it, otherwise
 * `=?base64?…?=` around its UTF-8.
 *
 * @see https://modelcontextprotocol.io/specification — "Transports", header rules of 2026-07-28
 */
export function encodeHeaderValue(value: string): string {
  if (/^[\x21-\x7E]+$/.test(value) && !SENTINEL.test(value)) return value;
  return `=?base64?${Buffer.from(value).toString('base64')}?=`;
}

/** The value that {@link encodeHeaderValue} was given; `undefined` where the encoding is broken. */
export function decodeHeaderValue(header: string): string | undefined {
  const encoded = SENTINEL.exec(header)?.[1];
  if (encoded === undefined) return header;
  if (!BASE64.test(encoded)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(encoded, 'base64'));
  } catch {
    return undefined;
  }
}
