import type { LookupFunction } from 'node:net';
import { requireInteger } from '../../arguments.js';
import { systemClock } from '../../clock.js';
import { TransportError } from '../../errors.js';
import type { Clock, Middleware } from '../../ports.js';
import type { SessionStore } from '../../session/store.js';
import type { HealthOptions } from '../health-monitor.js';
import { normalPrefix } from './endpoint-events.js';
import type { UpstreamFailure } from './upstream-error.js';

/** How {@link createTransparentProxy} forwards. */
export interface TransparentProxyOptions {
  /** Address of the server, such as `http://127.0.0.1:8080` or `https://host/mcp?team=a`. */
  readonly target: string;
  /** How the server speaks. @defaultValue 'streamable-http' */
  readonly transport?: 'streamable-http' | 'sse';
  /**
   * The server is somewhere else: the path of `target` takes the place of every path, its query goes in front of the
   * client's, and a redirect into a private network is refused. @defaultValue false
   */
  readonly remote?: boolean;
  /** No sessions and no standalone streams: GET, HEAD and DELETE are refused. @defaultValue false */
  readonly stateless?: boolean;
  /** What stands in front of the path where clients reach the proxy. @defaultValue none */
  readonly endpointPrefix?: string;
  /** `X-Forwarded-*` of clients is believed and passed on. Only behind a proxy of yours. @defaultValue false */
  readonly trustProxyHeaders?: boolean;
  /** Headers for the server, in place of those of clients with the same names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The value of `Authorization` for a request; `undefined` leaves that of the client. */
  readonly authorize?: () => Promise<string | undefined>;
  /** Resolves names. @defaultValue `dns.lookup` */
  readonly lookup?: LookupFunction;
  /** Certificates in PEM that are trusted besides those of the system. */
  readonly caBundle?: readonly string[];
  /** First registered is outermost. @defaultValue none */
  readonly middlewares?: readonly Middleware[];
  /** Origins of browsers that may call; see `createOriginPolicy`. */
  readonly allowedOrigins?: readonly string[];
  /** Whether browsers of an allowed origin get CORS headers, and preflights an answer. @defaultValue false */
  readonly cors?: boolean;
  /** Values of `Host` that are served; see `createOriginPolicy`. */
  readonly allowedHosts?: readonly string[];
  /** @defaultValue one in this process */
  readonly sessionStore?: SessionStore;
  /** @defaultValue 7200000 */
  readonly sessionTtlMs?: number;
  /** @defaultValue 8388608 */
  readonly maxBodyBytes?: number;
  /** As much of a body is read before it is forwarded, and kept for another try. @defaultValue 16384 */
  readonly prefixBytes?: number;
  /** Time until a connection stands; 504 after it. @defaultValue 10000 */
  readonly connectTimeoutMs?: number;
  /** Time from a request to the header of its response; 504 after it. @defaultValue none, since a tool may take long */
  readonly headersTimeoutMs?: number;
  /** @defaultValue 10 */
  readonly maxRedirects?: number;
  /** Looks at the server from time to time. @defaultValue none */
  readonly health?: HealthOptions;
  readonly clock?: Clock;
  /** The server answered a client for the first time. Called once. */
  readonly onReady?: () => void;
  /** The server refused a request with 401. Called once. */
  readonly onUnauthorized?: () => void;
  /** What went wrong towards the server. */
  readonly onFailure?: (failure: UpstreamFailure) => void;
  /** Other things worth a line in a log. */
  readonly onWarning?: (text: string) => void;
}

/** The options with the defaults filled in. */
export interface ProxySettings extends TransparentProxyOptions {
  readonly url: URL;
  readonly transport: 'streamable-http' | 'sse';
  readonly prefix: string;
  readonly set: ReadonlyMap<string, string>;
  readonly maxBodyBytes: number;
  readonly prefixBytes: number;
  readonly connectTimeoutMs: number;
  readonly headersTimeoutMs: number;
  readonly maxRedirects: number;
  readonly clock: Clock;
}

/** A value of these could cut a request in two or speak for the proxy itself. */
const REFUSED =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|keep-alive|expect|forwarded|proxy-.*|x-forwarded-.*|x-real-ip|mcp-session-id)$/i;

/** Checks the options and fills the defaults in. */
export function proxySettings(options: TransparentProxyOptions): ProxySettings {
  const set = new Map<string, string>();
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || REFUSED.test(name) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      throw argument('headers', 'headers that a client may set, with values without line breaks', name);
    }
    set.set(name.toLowerCase(), value);
  }
  return {
    ...options,
    url: targetUrl(options.target),
    transport: options.transport ?? 'streamable-http',
    prefix: normalPrefix(options.endpointPrefix),
    set,
    maxBodyBytes: requireInteger('maxBodyBytes', options.maxBodyBytes ?? 8 * 1024 * 1024, 1),
    prefixBytes: requireInteger('prefixBytes', options.prefixBytes ?? 16 * 1024, 1),
    connectTimeoutMs: requireInteger('connectTimeoutMs', options.connectTimeoutMs ?? 10_000, 1),
    headersTimeoutMs: requireInteger('headersTimeoutMs', options.headersTimeoutMs ?? 0, 0),
    maxRedirects: requireInteger('maxRedirects', options.maxRedirects ?? 10, 0),
    clock: options.clock ?? systemClock,
  };
}

function targetUrl(target: string): URL {
  const url = URL.canParse(target) ? new URL(target) : undefined;
  if (url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:')) {
    if (url.username === '' && url.password === '') return url;
    throw argument('target', 'a URL without user and password; use `headers` or `authorize`', `${url.origin}…`);
  }
  throw argument('target', 'an http or https URL such as http://127.0.0.1:8080', target);
}

const argument = (name: string, expected: string, got: string): TransportError =>
  new TransportError(
    'ERR_TRANSPORT_ARGUMENT',
    `Expected \`${name}\` to be ${expected}, got \`${got}\` (${typeof got})`,
  );
