import { createServer } from 'node:net';
import { findFreePort } from '@thv/transport';
import { WorkloadsError } from './errors.js';
import { hasCode, messageOf } from './json-file.js';

/**
 * A free port for a listener on `host`, not among `taken`.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_PORT` when there is none, or the host cannot be listened on.
 */
export async function choosePort(host: string, taken: ReadonlySet<number>): Promise<number> {
  // A wrong host would fail on each of fifty thousand ports in turn.
  await requireFreePort(host, 0);
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = await findFreePort({ host }).catch((error: unknown) => {
      throw portError(host, 0, error);
    });
    if (!taken.has(port)) return port;
  }
  throw portError(host, 0, new Error(`all free ports belong to other servers (${taken.size})`));
}

/** @throws WorkloadsError `ERR_WORKLOADS_PORT` when nobody can listen there now. */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const problem = await probe(host, port);
  if (problem !== undefined) throw portError(host, port, problem);
}

/** The error for a port that cannot be listened on. */
export function portError(host: string, port: number, cause: unknown): WorkloadsError {
  const busy = hasCode(cause, 'EADDRINUSE', 'ERR_TRANSPORT_ADDRESS_IN_USE');
  const what = port === 0 ? `host ${host}` : `port ${port} on ${host}`;
  const why = busy ? 'another program listens on it' : messageOf(cause);
  const text = `${what} is not available: ${why}`;
  return new WorkloadsError('ERR_WORKLOADS_PORT', text, {
    details: {
      host,
      port,
      hint: busy ? 'end that program, or choose another port with --proxy-port' : 'another --host or --proxy-port',
    },
    cause,
  });
}

async function probe(host: string, port: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => {
      if (hasCode(error, 'ENOTFOUND', 'EADDRNOTAVAIL', 'EAI_AGAIN')) reject(portError(host, port, error));
      else resolve(error);
    });
    // Exclusive, and without SO_REUSEADDR tricks: the supervisor listens in the same way.
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
