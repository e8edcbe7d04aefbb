import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorBytes } from '../../error-body.js';
import { MODERN_VERSION, RPC_CODES } from '../../revision.js';
import { createHealthMonitor } from '../health-monitor.js';
import type { HealthMonitor } from '../health-monitor.js';
import { healthResponse } from '../health.js';
import { createOriginPolicy } from '../origin.js';
import type { OriginPolicy } from '../origin.js';
import { headerOf } from './context.js';
import { answerCors } from './cors.js';
import { ProxyCore } from './core.js';
import { ForwardExchange } from './exchange.js';
import { proxySettings } from './options.js';
import type { TransparentProxyOptions } from './options.js';
import { pingServer } from './ping.js';

/** A request listener of `node:http` in front of a server that speaks HTTP. */
export interface TransparentProxy {
  (request: IncomingMessage, response: ServerResponse): void;
  /** The server answered a client. */
  readonly isReady: boolean;
  /** Sessions that the server gave out through this proxy and that are not over. */
  readonly sessionCount: number;
  /** Ends the connections to the server, the middlewares and the sessions. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** An endpoint listens on few addresses; more than this are not remembered. */
const MAX_POLICIES = 16;

/**
 * Forwards requests to a server that speaks HTTP itself, and responses back as they come. It keeps track of sessions,
 * opens those again that the server lost, follows redirects on the same host and says clearly what is wrong with a
 * server. It reads a body as a whole only where a middleware looks at it.
 *
 * @throws TransportError `ERR_TRANSPORT_ARGUMENT`.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 * @example http.createServer(createTransparentProxy({ target: 'http://127.0.0.1:9000' })).listen(8080, '127.0.0.1')
 */
export function createTransparentProxy(options: TransparentProxyOptions): TransparentProxy {
  const settings = proxySettings(options);
  const { onReady } = settings;
  let monitor: HealthMonitor | undefined;
  const core = new ProxyCore({
    ...settings,
    onReady: () => {
      monitor?.begin();
      onReady?.();
    },
  });
  if (settings.health !== undefined) {
    monitor = createHealthMonitor((signal) => pingServer(core, signal), { ...settings.health, clock: settings.clock });
  }
  const policyFor = createPolicies(settings);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    monitor?.close();
    return (closing ??= core.close());
  };

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const { url = '/' } = request;
    const at = url.indexOf('?');
    const path = withoutPrefix(at < 0 ? url : url.slice(0, at), settings.prefix);
    const query = at < 0 ? '' : url.slice(at);
    if (path === '/health') return sendHealth(request, response, core, monitor);
    if (path === '/metrics' || path.startsWith('/.well-known/')) return sendJson(response, 404, NOT_FOUND);
    const refusal = policyFor(request).refusal(request.headers);
    if (refusal !== undefined) return sendError(request, response, 403, refusal);
    if (settings.cors === true && answerCors(request, response)) return undefined;
    if (!path.startsWith('/')) return sendError(request, response, 400, `Expected a path, got ${JSON.stringify(path)}`);
    const isModern = headerOf(request, 'mcp-protocol-version') === MODERN_VERSION;
    if ((isModern || settings.stateless === true) && /^(?:GET|HEAD|DELETE)$/.test(request.method ?? '')) {
      response.setHeader('allow', 'POST, OPTIONS');
      return sendError(request, response, 405, 'Method not allowed');
    }
    return new ForwardExchange(core, request, response, path, query).start();
  }

  const proxy = Object.assign(handle, { close, [Symbol.asyncDispose]: close });
  return Object.defineProperties(proxy, {
    isReady: { get: () => core.isReady },
    sessionCount: { get: () => core.sessions.size },
  }) as typeof proxy & { readonly isReady: boolean; readonly sessionCount: number };
}

const NOT_FOUND = Buffer.from('{"error":"not_found"}');

/** The policy depends on the address that a client reached. */
function createPolicies(settings: TransparentProxyOptions): (request: IncomingMessage) => OriginPolicy {
  const { allowedOrigins, allowedHosts } = settings;
  const policies = new Map<string, OriginPolicy>();
  const create = (host: string, port: number): OriginPolicy =>
    createOriginPolicy({
      host,
      port,
      ...(allowedOrigins === undefined ? {} : { allowedOrigins }),
      ...(allowedHosts === undefined ? {} : { allowedHosts }),
    });
  // An origin that is none is told now, not at the first request.
  create('127.0.0.1', 0);
  const ofSocket = new WeakMap<object, OriginPolicy>();
  return ({ socket }) => {
    const known = ofSocket.get(socket);
    if (known !== undefined) return known;
    const { localAddress = '127.0.0.1', localPort = 0 } = socket;
    const key = `${localAddress} ${localPort}`;
    let policy = policies.get(key);
    if (policy === undefined) {
      policy = create(localAddress, localPort);
      if (policies.size < MAX_POLICIES) policies.set(key, policy);
    }
    ofSocket.set(socket, policy);
    return policy;
  };
}

function withoutPrefix(path: string, prefix: string): string {
  if (prefix === '' || !path.startsWith(prefix)) return path;
  if (path.length === prefix.length) return '/';
  return path[prefix.length] === '/' ? path.slice(prefix.length) : path;
}

function sendHealth(
  request: IncomingMessage,
  response: ServerResponse,
  core: ProxyCore,
  monitor: HealthMonitor | undefined,
): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET');
    sendError(request, response, 405, 'Method not allowed');
    return;
  }
  const last = monitor?.last;
  const status = monitor?.hasFailed === true ? 'unhealthy' : last?.isAlive === false ? 'degraded' : 'healthy';
  const server = last && {
    available: last.isAlive,
    responseTimeMs: last.responseTimeMs,
    lastChecked: last.at,
    ...(last.error === undefined ? {} : { error: last.error }),
  };
  const health = healthResponse({ status, transport: core.settings.transport, ...(server && { server }) });
  response.setHeader('cache-control', 'no-store');
  sendJson(response, health.status, Buffer.from(request.method === 'HEAD' ? '' : health.body));
}

function sendError(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
  if (!request.complete && request.method !== 'GET') response.setHeader('connection', 'close');
  sendJson(
    response,
    status,
    request.method === 'HEAD' ? Buffer.alloc(0) : errorBytes({ code: RPC_CODES.invalidRequest, message }),
  );
}

function sendJson(response: ServerResponse, status: number, body: Buffer): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.setHeader('content-length', body.length);
  response.end(body);
}
