import { headerOf } from './writer.js';
import type { HeaderList, Incoming } from './writer.js';

/** Options about who may talk to the endpoint from a browser. */
export interface GuardOptions {
  /**
   * Origins that may call, as `scheme://host[:port]`. Without the option: those of this machine with the endpoint's own
   * port where the endpoint is on a loopback address, and any otherwise.
   */
  readonly allowedOrigins?: readonly string[];
  /**
   * Values of the `Host` header that are served, with or without a port; `'any'` turns the check off. Without the
   * option: the names of this machine where the endpoint is on a loopback address, and any otherwise.
   */
  readonly allowedHosts?: readonly string[] | 'any';
  /** Whether browsers of an allowed origin get CORS headers. @defaultValue false */
  readonly cors?: boolean;
}

const LOOPBACK_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);
const CORS_HEADERS = [
  'accept',
  'authorization',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
].join(', ');

/**
 * Protects against pages that reach a local server through a name of their own (DNS rebinding).
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 */
export class Guard {
  readonly #origins: ReadonlySet<string> | undefined;
  readonly #hosts: ReadonlySet<string> | 'any' | undefined;
  readonly #cors: boolean;

  constructor(options: GuardOptions) {
    this.#origins = options.allowedOrigins && new Set(options.allowedOrigins.map((origin) => origin.toLowerCase()));
    this.#hosts =
      options.allowedHosts === 'any' || options.allowedHosts === undefined
        ? options.allowedHosts
        : new Set(options.allowedHosts.map((host) => host.toLowerCase()));
    this.#cors = options.cors ?? false;
  }

  /** Why a request is refused, or `undefined`. */
  refusal(request: Incoming): string | undefined {
    const { host } = request.headers;
    if (!this.#allowsHost(typeof host === 'string' ? host.toLowerCase() : '', request)) {
      return `Host ${JSON.stringify(host ?? '')} is not allowed`;
    }
    const { origin } = request.headers;
    if (origin === undefined) return undefined;
    if (typeof origin === 'string' && this.#allowsOrigin(origin.toLowerCase(), request)) return undefined;
    return `Origin ${JSON.stringify(origin)} is not allowed`;
  }

  /** CORS headers of a response to an admitted request. */
  headersFor(request: Incoming): HeaderList {
    if (!this.#cors) return [];
    const origin = headerOf(request, 'origin');
    if (origin === undefined) return [];
    return [
      'access-control-allow-origin',
      origin,
      'access-control-expose-headers',
      'Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version',
      'vary',
      'Origin',
    ];
  }

  /** Headers of the answer to a preflight of an admitted request, or `undefined` when CORS is off. */
  preflightHeaders(request: Incoming): HeaderList | undefined {
    if (!this.#cors || request.headers['origin'] === undefined) return undefined;
    return [
      ...this.headersFor(request),
      'access-control-allow-methods',
      'GET, POST, DELETE, OPTIONS',
      'access-control-allow-headers',
      CORS_HEADERS,
      'access-control-max-age',
      '600',
    ];
  }

  #allowsHost(host: string, request: Incoming): boolean {
    if (this.#hosts === 'any') return true;
    const name = host.replace(/:\d+$/, '');
    if (this.#hosts !== undefined) return this.#hosts.has(host) || this.#hosts.has(name);
    return !onLoopback(request) || LOOPBACK_NAMES.has(name);
  }

  #allowsOrigin(origin: string, request: Incoming): boolean {
    if (this.#origins !== undefined) return this.#origins.has(origin);
    if (!onLoopback(request)) return true;
    const match = /^https?:\/\/([^/]+?)(?::(\d+))?$/.exec(origin);
    if (match === null || !LOOPBACK_NAMES.has(match[1] ?? '')) return false;
    const port = Number(match[2] ?? (origin.startsWith('https') ? 443 : 80));
    return request.localPort === undefined || port === request.localPort;
  }
}

/** An address that only this machine reaches; where the server does not tell, it counts as one. */
function onLoopback({ localAddress }: Incoming): boolean {
  if (localAddress === undefined) return true;
  return localAddress === '::1' || localAddress.startsWith('127.') || localAddress.startsWith('::ffff:127.');
}
