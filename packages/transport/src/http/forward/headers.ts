/** Headers as Node gives and takes them: names and values in turn. */
export type RawHeaders = readonly string[];

/** Headers that end at the next hop. @see https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1 */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const isForwarded = (lower: string): boolean =>
  lower.startsWith('x-forwarded-') || lower === 'forwarded' || lower === 'x-real-ip';

/** What the headers towards the server depend on. */
export interface OutgoingHeaders {
  readonly host: string;
  readonly contentLength: number | undefined;
  /** The body is sent in chunks, since its length is not known. */
  readonly isChunked: boolean;
  /** `undefined` sends none. */
  readonly sessionId: string | undefined;
  readonly forwarded: RawHeaders;
  /** Headers that replace those of the client; lower-case names. */
  readonly set: ReadonlyMap<string, string>;
  /** What comes back is changed on the way, so it must not be compressed. */
  readonly identity: boolean;
}

/** The headers of a client as they go to the server. */
export function outgoingHeaders(raw: RawHeaders, options: OutgoingHeaders): string[] {
  const { host, contentLength, isChunked, sessionId, forwarded, set, identity } = options;
  const named = connectionNames(raw);
  const result: string[] = ['Host', host];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] as string;
    const lower = name.toLowerCase();
    if (lower === 'host' || lower === 'content-length' || lower === 'mcp-session-id' || lower === 'expect') continue;
    if (HOP_BY_HOP.has(lower) || isForwarded(lower) || set.has(lower) || named?.has(lower) === true) continue;
    if (identity && lower === 'accept-encoding') continue;
    result.push(name, raw[index + 1] as string);
  }
  if (sessionId !== undefined) result.push('Mcp-Session-Id', sessionId);
  if (identity) result.push('Accept-Encoding', 'identity');
  for (const [name, value] of set) result.push(name, value);
  result.push(...forwarded);
  if (isChunked) result.push('Transfer-Encoding', 'chunked');
  else if (contentLength !== undefined) result.push('Content-Length', String(contentLength));
  return result;
}

/** The headers of a server as they go to the client. `drop` has lower-case names. */
export function incomingHeaders(raw: RawHeaders, drop: ReadonlySet<string>, sessionId: string | undefined): string[] {
  const named = connectionNames(raw);
  const result: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] as string;
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || drop.has(lower) || named?.has(lower) === true) continue;
    const value = raw[index + 1] as string;
    result.push(name, lower === 'mcp-session-id' && sessionId !== undefined ? sessionId : value);
  }
  return result;
}

/** Names that `Connection` makes hop-by-hop; the common values name none. */
function connectionNames(raw: RawHeaders): ReadonlySet<string> | undefined {
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] as string;
    if (name.length !== 10 || name.toLowerCase() !== 'connection') continue;
    const value = (raw[index + 1] as string).toLowerCase();
    if (value === 'keep-alive' || value === 'close') continue;
    return new Set(value.split(',').map((name) => name.trim()));
  }
  return undefined;
}
