import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { requireInteger } from '../arguments.js';
import { TransportError } from '../errors.js';

/** How {@link openListener} listens. */
export interface ListenerOptions {
  readonly handler: RequestListener;
  /** @defaultValue '127.0.0.1' */
  readonly host?: string;
  /** 0 takes a free port. @defaultValue 0 */
  readonly port?: number;
  /** Time for the header of a request. @defaultValue 10000 */
  readonly headersTimeoutMs?: number;
  /** Time for a whole request to arrive. @defaultValue 30000 */
  readonly requestTimeoutMs?: number;
  /** Time that an idle connection is kept. @defaultValue 120000 */
  readonly keepAliveTimeoutMs?: number;
  /** What goes wrong while it listens, such as too many open files; the listener goes on. */
  readonly onError?: (error: Error) => void;
}

/** An open listener. */
export interface Listener {
  readonly host: string;
  /** The real port, also where 0 was asked for. */
  readonly port: number;
  /** `http://HOST:PORT`, with brackets around an IPv6 address. */
  readonly origin: string;
  /**
   * Stops taking connections, waits until responses are finished or `graceMs` is over, then ends what is left.
   * Idempotent. @defaultValue `graceMs` 30000
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const TCP_KEEP_ALIVE_MS = 30_000;
const CHECK_MS = 1_000;
/** A connection that becomes idle while the server closes tells nobody. */
const SWEEP_MS = 50;

/**
 * Opens an HTTP listener; the promise resolves when the port is bound. Responses may take any time, requests may
 * not.
 *
 * @throws TransportError `ERR_TRANSPORT_ADDRESS_IN_USE`, `ERR_TRANSPORT_LISTEN` or `ERR_TRANSPORT_ARGUMENT`.
 */
export async function openListener(options: ListenerOptions): Promise<Listener> {
  const {
    handler,
    host = '127.0.0.1',
    port = 0,
    headersTimeoutMs = 10_000,
    requestTimeoutMs = 30_000,
    keepAliveTimeoutMs = 120_000,
  } = options;
  if (requireInteger('port', port, 0) > 65_535) {
    throw new TransportError(
      'ERR_TRANSPORT_ARGUMENT',
      `Expected \`port\` to be at most 65535, got \`${port}\` (number)`,
    );
  }
  const server = createServer(
    {
      headersTimeout: requireInteger('headersTimeoutMs', headersTimeoutMs, 1),
      requestTimeout: requireInteger('requestTimeoutMs', requestTimeoutMs, 1),
      // Node looks every 30 s unless told otherwise, which makes a timeout of 10 s one of 40.
      connectionsCheckingInterval: Math.min(CHECK_MS, headersTimeoutMs, requestTimeoutMs),
      keepAliveTimeout: requireInteger('keepAliveTimeoutMs', keepAliveTimeoutMs, 0),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    },
    handler,
  );
  server.timeout = 0;
  await listen(server, host, port);
  // A failed accept is told here; without a receiver it would end the process.
  server.on('error', (error) => options.onError?.(error));
  const address = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = ({ graceMs = 30_000 }: { readonly graceMs?: number } = {}) =>
    (closing ??= closeServer(server, graceMs));
  return {
    host,
    port: address.port,
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new TransportError(
              'ERR_TRANSPORT_ADDRESS_IN_USE',
              `Port ${port} on ${host} is in use; choose another one, or 0 for a free one`,
              { cause: error, details: { host, port } },
            )
          : new TransportError('ERR_TRANSPORT_LISTEN', `Listening on ${host}:${port} failed: ${error.message}`, {
              cause: error,
              details: { host, port },
            }),
      );
    });
    server.listen({ host, port }, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}

async function closeServer(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A client that keeps its connection busy would otherwise keep it for the whole grace.
  server.prependListener('request', (_, response) => response.setHeader('connection', 'close'));
  server.closeIdleConnections();
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(timer);
}
