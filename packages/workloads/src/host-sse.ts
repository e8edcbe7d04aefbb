import { createDispatcher } from '@thv/dispatcher';
import type { Dispatcher } from '@thv/dispatcher';
import { createSseHandler } from '@thv/dispatcher/sse';
import type { SseHandler } from '@thv/dispatcher/sse';
import { openListener, parseDuration } from '@thv/transport';
import type { Listener } from '@thv/transport';
import { WorkloadsError } from './errors.js';
import { describeDown, startError } from './host-start.js';
import type { HostOptions, OpenHost, WorkloadHost } from './host.js';
import { portError } from './ports.js';
import type { RunConfig } from './run-config.js';
import { ServerProcess } from './server-process.js';

const listenerGraceMs = 2000;

/** Opens the deprecated SSE transport in front of a stdio server. */
export const openSseHost: OpenHost = async (config, options) => {
  if (config.isolation !== 'shared') {
    const text = `the proxy mode "sse" serves one process for all clients, not "${config.isolation}"`;
    const hint = 'use --isolation shared, or --proxy-mode streamable-http';
    throw new WorkloadsError('ERR_WORKLOADS_UNSUPPORTED', text, { details: { name: config.name, hint } });
  }
  const host = new SseHost(config, options);
  try {
    await host.open();
    return host;
  } catch (error) {
    await host.close();
    throw error;
  }
};

class SseHost implements WorkloadHost {
  readonly #config: RunConfig;
  readonly #options: HostOptions;
  readonly #process: ServerProcess;
  readonly #dispatcher: Dispatcher;
  readonly #handler: SseHandler;
  #listener: Listener | undefined;
  #closing: Promise<void> | undefined;

  constructor(config: RunConfig, options: HostOptions) {
    this.#config = config;
    this.#options = options;
    this.#process = new ServerProcess(config, options);
    const { session_ttl: ttl, allowed_origins: origins, endpoint_prefix: prefix } = config;
    const warn = (text: string): void => options.onEvent?.('warning', { text });
    this.#dispatcher = createDispatcher({
      isolation: 'shared',
      connection: this.#process.connection,
      methodTimeoutsMs: { initialize: options.startTimeoutMs ?? 300_000 },
      ...(ttl === undefined ? {} : { sessionTtlMs: Math.max(1, Math.round(parseDuration(ttl))) }),
      onDropped: ({ reason, message, suppressed }) =>
        options.onEvent?.('dropped', { reason, method: message.method, suppressed }),
      onWarning: warn,
    });
    this.#handler = createSseHandler(this.#dispatcher, {
      trustProxyHeaders: config.trust_proxy_headers === true,
      ...(prefix === undefined ? {} : { endpointPrefix: prefix }),
      ...(origins.length === 0 ? {} : { allowedOrigins: origins, cors: true }),
      onWarning: warn,
    });
  }

  get port(): number {
    return this.#listener?.port ?? this.#config.port;
  }

  async open(): Promise<void> {
    const { host, port } = this.#config;
    const { signal, startTimeoutMs = 300_000 } = this.#options;
    signal.throwIfAborted();
    try {
      this.#listener = await openListener({ handler: this.#handler, host, port });
    } catch (error) {
      throw portError(host, port, error);
    }
    const child = this.#process;
    const early = new Promise<never>((_, reject) => {
      child.onEarly = (down) => reject(new Error(describeDown(down)));
      const late = new Error(`it did not answer within ${startTimeoutMs / 1000} s`);
      const timer = setTimeout(() => reject(late), startTimeoutMs);
      timer.unref();
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    try {
      await Promise.race([early, this.#answers()]);
      child.isReady = true;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const failure = { error: child.spawnError ?? error, down: child.early, stderrTail: [...child.tail] };
      throw await startError(this.#config, failure);
    }
  }

  async #answers(): Promise<void> {
    await this.#dispatcher.start({ signal: this.#options.signal });
    await this.#dispatcher.ready();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const listening = this.#listener?.close({ graceMs: listenerGraceMs });
    await this.#handler.close();
    await this.#dispatcher.close();
    await listening;
    await this.#process.close();
  }
}
