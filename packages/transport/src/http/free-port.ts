import { createServer } from 'node:net';
import { TransportError } from '../errors.js';

const LOWEST = 10_000;
const HIGHEST = 65_535;
const RANDOM_TRIES = 10;

/**
 * Whether a port of the host can be bound now.
 *
 * @throws TransportError `ERR_TRANSPORT_LISTEN` when the host is none of this machine.
 */
export async function isPortFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return await new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') return resolve(false);
      const text = `Port ${port} of ${host} cannot be bound: ${error.message}; choose an address of this machine`;
      return reject(new TransportError('ERR_TRANSPORT_LISTEN', text, { cause: error, details: { host, port } }));
    });
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * A port between 10000 and 65535 that is free now: random ones first, so that two searches seldom meet, then one
 * after the other.
 *
 * @throws TransportError `ERR_TRANSPORT_LISTEN` when all are taken, or the host is none of this machine.
 */
export async function findFreePort(
  options: { readonly host?: string; readonly random?: () => number } = {},
): Promise<number> {
  const { host = '127.0.0.1', random = Math.random } = options;
  for (let attempt = 0; attempt < RANDOM_TRIES; attempt += 1) {
    const port = LOWEST + Math.floor(random() * (HIGHEST - LOWEST + 1));
    if (await isPortFree(port, host)) return port;
  }
  for (let port = LOWEST; port <= HIGHEST; port += 1) {
    if (await isPortFree(port, host)) return port;
  }
  throw new TransportError(
    'ERR_TRANSPORT_LISTEN',
    `No port between ${LOWEST} and ${HIGHEST} is free on ${host}; end a program that listens there`,
  );
}
