import { requireInteger } from '../arguments.js';
import { systemClock } from '../clock.js';
import { TransportError } from '../errors.js';
import { errorBytes } from '../error-body.js';
import { RPC_CODES } from '../revision.js';
import { ClientSide } from './client-side.js';
import { Endpoint } from './exchange.js';
import { LegacySseSide } from './legacy-sse.js';
import type { BridgeOptions, BridgeOutcome } from './options.js';
import { StreamableSide } from './streamable.js';
import type { SideOptions } from './streamable.js';

/**
 * Joins a client that speaks over two pipes with an endpoint that speaks HTTP, message by message: nothing is
 * interpreted that need not be, so that the client sees the server's own capabilities, its requests and its progress.
 * Resolves when the client is gone or the endpoint cannot be talked to.
 *
 * @throws TransportError `ERR_TRANSPORT_ARGUMENT`.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports
 */
export async function runBridge(options: BridgeOptions): Promise<BridgeOutcome> {
  const {
    url,
    transport = 'streamable-http',
    signal = new AbortController().signal,
    onEvent = () => undefined,
  } = options;
  const clock = options.clock ?? systemClock;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new TransportError(
      'ERR_TRANSPORT_ARGUMENT',
      `Expected \`url\` to be an http or https URL, got \`${url}\` (string)`,
    );
  }
  const drainMs = requireInteger('drainMs', options.drainMs ?? 10_000, 0);
  const maxBytes = requireInteger('maxLineBytes', options.maxLineBytes ?? 64 * 1024 * 1024, 1);
  const retryDelayMs = requireInteger('retryDelayMs', options.retryDelayMs ?? 1000, 1);
  const endpoint = new Endpoint(url, options.headers ?? {}, options.caBundle ?? []);
  const client = new ClientSide(options.input, options.output, maxBytes);
  const stop = new AbortController();
  let failure: string | undefined;
  const sideOptions: SideOptions = {
    endpoint,
    client,
    clock,
    maxBytes,
    retryDelayMs,
    onEvent,
    onFailed: (message) => {
      failure ??= message;
      stop.abort();
    },
  };
  const side = transport === 'sse' ? new LegacySseSide(sideOptions) : new StreamableSide(sideOptions);
  const abort = (): void => stop.abort();
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  await client.read((message) => side.take(message), stop.signal);
  signal.removeEventListener('abort', abort);
  if (failure === undefined && !signal.aborted && !client.isGone) await drained(side, stop.signal, drainMs, clock);
  if (failure !== undefined) {
    for (const { message } of side.pending.all()) {
      await client.write(errorBytes({ code: RPC_CODES.internalError, message: failure }, message.idText));
    }
  }
  await side.close();
  endpoint.close();
  return failure === undefined ? { kind: 'ended' } : { kind: 'failed', message: failure };
}

/** The input is over, but who asked may still want to read the answers. */
async function drained(
  side: { idle(): Promise<void> },
  signal: AbortSignal,
  drainMs: number,
  clock: { setTimer(delayMs: number, callback: () => void): () => void },
): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancel = clock.setTimer(drainMs, resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    void side.idle().then(() => {
      cancel();
      resolve();
    });
  });
}
