import { TransportError } from '../errors.js';

/** Where an endpoint listens, and who may call it from a browser. */
export interface OriginPolicyOptions {
  /** The address that is bound. */
  readonly host: string;
  readonly port: number;
  /**
   * Origins that may call, as `scheme://host[:port]`. Without it: those of this machine with the endpoint's port where
   * the endpoint is on a loopback address, and any otherwise.
   */
  readonly allowedOrigins?: readonly string[];
  /** Values of `Host` that are served, port aside. Without it: the names of this machine on a loopback address, any otherwise. */
  readonly allowedHosts?: readonly string[];
}

/** What {@link createOriginPolicy} makes. */
export interface OriginPolicy {
  /** False when any origin may call: not on a loopback address, and no list was given. Worth a warning. */
  readonly checksOrigin: boolean;
  /** Why a request is refused (HTTP 403), or `undefined`. */
  refusal(headers: Readonly<Record<string, string | readonly string[] | undefined>>): string | undefined;
}

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

/** True for addresses and names that only this machine reaches. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(host) || host === '::1' || host === '[::1]';
}

/**
 * Keeps pages of strangers from a local server, also those that gave their own name its address (DNS rebinding). A
 * request without `Origin` comes from no page and passes.
 *
 * @throws TransportError `ERR_TRANSPORT_ARGUMENT` for an origin that is none.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
 */
export function createOriginPolicy(options: OriginPolicyOptions): OriginPolicy {
  const { host, port } = options;
  const local = isLoopback(host);
  const own = local ? [...LOOPBACK_NAMES, host.includes(':') && !host.startsWith('[') ? `[${host}]` : host] : undefined;
  const origins =
    options.allowedOrigins?.map(normalOrigin) ?? own?.map((name) => normalOrigin(`http://${name}:${port}`));
  const hosts =
    options.allowedHosts?.map((name) => withoutPort(name.toLowerCase())) ?? own?.map((name) => name.toLowerCase());
  return {
    checksOrigin: origins !== undefined,
    refusal(headers) {
      const given = headers['host'];
      if (hosts !== undefined && !(typeof given === 'string' && hosts.includes(withoutPort(given.toLowerCase())))) {
        return `Host ${JSON.stringify(given ?? '')} is not served here; use the address of the endpoint, or allow this one`;
      }
      const { origin } = headers;
      if (origin === undefined || origins === undefined) return undefined;
      if (typeof origin === 'string' && origins.includes(parseOrigin(origin) ?? '')) return undefined;
      return `Origin ${JSON.stringify(origin)} is not allowed; add it to the allowed origins`;
    },
  };
}

const withoutPort = (host: string): string => host.replace(/:\d+$/, '');

function normalOrigin(text: string): string {
  const origin = parseOrigin(text);
  if (origin !== undefined) return origin;
  throw new TransportError(
    'ERR_TRANSPORT_ARGUMENT',
    `Expected \`allowedOrigins\` to hold origins such as http://localhost:3000, got \`${text}\` (${typeof text})`,
  );
}

/** Scheme, host and port in lower case, a default port left out; `undefined` for anything with more or less to it. */
function parseOrigin(text: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s,]+$/i.test(text) || !URL.canParse(text)) return undefined;
  const { protocol, host } = new URL(text);
  return `${protocol}//${host.toLowerCase()}`;
}
