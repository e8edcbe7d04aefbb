import { createServer } from 'node:net';
import { WorkloadsError } from './errors.js';
import { hasCode, messageOf } from './json-file.js';

const lowest = 10_000;
const highest = 65_535;
const randomTries = 10;

/**
 * A free port for a listener on `host`, not among `taken`: some random ones first, then every one in turn.
 *
 * @throws WorkloadsError `ERR_WORKLOADS_PORT` when there is none, or the host cannot be listened on.
 */
export async function choosePort(
  host: string,
  taken: ReadonlySet<number>,
  random: () => number = Math.random,
): Promise<number> {
  const span = highest - lowest + 1;
  const start = Math.floor(random() * span);
  for (let turn = 0; turn < span; turn += 1) {
    const offset = turn < randomTries ? Math.floor(random() * span) : (start + turn) % span;
    const port = lowest + offset;
    if (!taken.has(port) && (await probe(host, port)) === undefined) return port;
  }
  throw new WorkloadsError('ERR_WORKLOADS_PORT', `No port from ${lowest} to ${highest} is free on ${host}`, {
    details: { host },
  });
}

/** @throws WorkloadsError `ERR_WORKLOADS_PORT` when nobody can listen there now. */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const problem = await probe(host, port);
  if (problem !== undefined) throw portError(host, port, problem);
}

/** The error for a port that cannot be listened on. */
export function portError(host: string, port: number, cause: unknown): WorkloadsError {
  const busy = hasCode(cause, 'EADDRINUSE', 'ERR_TRANSPORT_ADDRESS_IN_USE');
  const text = busy
    ? `port ${port} on ${host} is not available: another program listens on it`
    : `port ${port} on ${host} is not available: ${messageOf(cause)}`;
  return new WorkloadsError('ERR_WORKLOADS_PORT', text, {
    details: { host, port, hint: 'end that program, or choose another port with --proxy-port' },
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
