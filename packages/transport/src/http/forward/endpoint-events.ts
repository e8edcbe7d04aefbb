import { Transform } from 'node:stream';
import type { TransformCallback } from 'node:stream';

/** What {@link createEndpointRewriter} puts in front of and into the address of an `endpoint` event. */
export interface EndpointRewrite {
  /** `/x`, without a slash at the end; empty for none. */
  readonly prefix: string;
  /** Replaces the host; only from a trusted proxy. */
  readonly host?: string | undefined;
  /** Replaces the scheme, and only together with `host`. */
  readonly scheme?: string | undefined;
  /** The host of the server; an address there becomes a path, since the client is to come back to us. */
  readonly serverHost?: string;
  /** Takes the session id that the address names. */
  readonly onSession?: (id: string) => void;
}

/** `/x` for `x`, `/x/` and `/x`; empty for nothing and for `/`. */
export function normalPrefix(prefix: string | undefined): string {
  const inner = (prefix ?? '').trim().replace(/^\/+|\/+$/g, '');
  return inner === '' ? '' : `/${inner}`;
}

/** The address of an `endpoint` event with prefix, host and scheme; text that is no address stays. */
export function rewriteEndpoint(address: string, { prefix, host, scheme, serverHost }: EndpointRewrite): string {
  const found = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/i.exec(address);
  const absolute = found !== null && found[2]?.toLowerCase() === serverHost?.toLowerCase() ? null : found;
  const path = found === null ? address : (found[3] ?? '');
  const withPrefix = prefix === '' ? path : prefix + (path.startsWith('/') ? path : `/${path}`);
  if (absolute === null && host === undefined) return withPrefix;
  const oldScheme = absolute?.[1] ?? 'http';
  if (host === undefined) return `${oldScheme}://${absolute?.[2] ?? ''}${withPrefix}`;
  const rooted = withPrefix.startsWith('/') ? withPrefix : `/${withPrefix}`;
  return `${scheme ?? oldScheme}://${host}${rooted}`;
}

/** The session id that an address or a message names, where it does. */
export const sessionIdIn = (text: string): string | undefined =>
  /[?&]session_?id=([0-9A-Za-z._~-]{1,256})/i.exec(text)?.[1] ?? /"sessionId":"([^"\\]{1,256})"/.exec(text)?.[1];

/** The longest address that is looked at; a longer line is no address. */
const MAX_ADDRESS_BYTES = 64 * 1024;
const LF = 0x0a;
const CR = 0x0d;

/**
 * Changes the address of the first `endpoint` event of an event stream. Only lines before and in that event are kept
 * until they are complete; behind it every byte passes as it comes, so that no line is too long.
 *
 * @see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports
 */
export function createEndpointRewriter(rewrite: EndpointRewrite): Transform {
  let pending: Buffer = Buffer.alloc(0);
  let isEndpoint = false;
  let isDone = false;

  function line(text: string): string {
    if (text === '') {
      isDone = isEndpoint;
      isEndpoint = false;
      return text;
    }
    const [, field, value = ''] = /^(event|data):? ?(.*)$/s.exec(text) ?? [];
    if (field === 'event') isEndpoint = value === 'endpoint';
    if (field !== 'data' || !isEndpoint) return text;
    const id = sessionIdIn(value);
    if (id !== undefined) rewrite.onSession?.(id);
    return `data: ${rewriteEndpoint(value, rewrite)}`;
  }

  function take(): Buffer {
    const out: Buffer[] = [];
    let start = 0;
    while (!isDone) {
      const end = lineEnd(pending, start);
      if (end === undefined) break;
      const text = pending.toString('latin1', start, end.at);
      out.push(Buffer.from(line(text), 'latin1'), pending.subarray(end.at, end.next));
      start = end.next;
    }
    if (isDone || pending.length - start > MAX_ADDRESS_BYTES) {
      isDone = true;
      out.push(pending.subarray(start));
      start = pending.length;
    }
    pending = pending.subarray(start);
    return Buffer.concat(out);
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, callback: TransformCallback) {
      if (isDone) return callback(null, chunk);
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      return callback(null, take());
    },
    flush(callback: TransformCallback) {
      callback(null, pending);
    },
  });
}

/** Where a line ends and the next one begins; a CR at the end of what is there may be half of a CRLF. */
function lineEnd(bytes: Buffer, start: number): { readonly at: number; readonly next: number } | undefined {
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === LF) return { at, next: at + 1 };
    if (byte !== CR) continue;
    if (at + 1 === bytes.length) return undefined;
    return { at, next: bytes[at + 1] === LF ? at + 2 : at + 1 };
  }
  return undefined;
}
