import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTransparentProxy, findFreePort, openListener, parseDuration } from '@thv/transport';
import type { Listener, TransparentProxy, TransparentProxyOptions } from '@thv/transport';
import { WorkloadsError } from './errors.js';
import { healthSettings, looksAtRemotes } from './health-settings.js';
import { describeDown, startError } from './host-start.js';
import type { HostOptions, OpenHost, WorkloadHost } from './host.js';
import { messageOf } from './json-file.js';
import { portError } from './ports.js';
import type { RunConfig } from './run-config.js';
import { ServerProcess } from './server-process.js';
import { urlOf } from './workload.js';

const listenerGraceMs = 2000;
const firstPollMs = 100;
const maxPollMs = 2000;
const probeTimeoutMs = 15_000;

/** Opens a proxy in front of a server that speaks HTTP: a process of ours, or a remote one. */
export const openHttpHost: OpenHost = async (config, options) => {
  const host = new HttpHost(config, options);
  try {
    await host.open();
    return host;
  } catch (error) {
    await host.close();
    throw error;
  }
};

class HttpHost implements WorkloadHost {
  readonly #config: RunConfig;
  readonly #options: HostOptions;
  #process: ServerProcess | undefined;
  #proxy: TransparentProxy | undefined;
  #listener: Listener | undefined;
  #closing: Promise<void> | undefined;

  constructor(config: RunConfig, options: HostOptions) {
    this.#config = config;
    this.#options = options;
  }

  get port(): number {
    return this.#listener?.port ?? this.#config.port;
  }

  async open(): Promise<void> {
    const { remote_url: remote, host, port } = this.#config;
    this.#options.signal.throwIfAborted();
    const target = remote ?? (await this.#startProcess());
    const proxy = createTransparentProxy(await this.#proxyOptions(target));
    this.#proxy = proxy;
    try {
      this.#listener = await openListener({ handler: proxy, host, port });
    } catch (error) {
      throw portError(host, port, error);
    }
    if (remote !== undefined) await this.#probe();
  }

  async #startProcess(): Promise<string> {
    const { target_host: host = '127.0.0.1', env_vars: env } = this.#config;
    const port = await this.#targetPort(host);
    const child = new ServerProcess(this.#config, this.#options, { host, port });
    this.#process = child;
    const { signal, startTimeoutMs = 300_000 } = this.#options;
    const early = new Promise<never>((_, reject) => {
      child.onEarly = (down) => reject(new Error(describeDown(down)));
    });
    early.catch(() => undefined);
    try {
      await child.connection.start({
        // What an HTTP server prints is its log, whatever it looks like.
        onMessage: (message) => child.said(message.bytes.toString()),
        onNoise: (text) => child.said(text),
        onUp: () => undefined,
        onDown: () => undefined,
      });
      await Promise.race([early, this.#listens(host, port, startTimeoutMs)]);
      child.isReady = true;
      const shown = host.includes(':') ? `[${host}]` : host;
      return `http://${shown}:${port}`;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const told = Object.hasOwn(env, 'MCP_PORT') || Object.hasOwn(env, 'FASTMCP_PORT');
      const hint = told
        ? 'it was told another port with -e'
        : `it must listen on the port in MCP_PORT, which is ${port}`;
      if (child.early === undefined && child.spawnError === undefined) {
        throw new WorkloadsError('ERR_WORKLOADS_START', messageOf(error), {
          details: {
            name: this.#config.name,
            stderrTail: [...child.tail],
            hint: `${hint}; or name its own with --target-port`,
          },
          cause: error,
        });
      }
      throw await startError(this.#config, {
        error: child.spawnError ?? error,
        down: child.early,
        stderrTail: [...child.tail],
      });
    }
  }

  /** A port that the user gave to the server itself is the one to call. */
  async #targetPort(host: string): Promise<number> {
    const { target_port: wanted, env_vars: env } = this.#config;
    const own = Number((Object.hasOwn(env, 'MCP_PORT') ? env['MCP_PORT'] : undefined) ?? env['FASTMCP_PORT']);
    if (Number.isInteger(own) && own > 0 && own < 65_536) {
      if (wanted !== undefined && wanted !== own) {
        const text = `the environment of the server names port ${own}, --target-port ${wanted}; ${own} is used`;
        this.#options.onEvent?.('warning', { text });
      }
      return own;
    }
    return wanted ?? (await findFreePort({ host }).catch(() => findFreePort()));
  }

  async #listens(host: string, port: number, timeoutMs: number): Promise<void> {
    const { signal } = this.#options;
    const until = Date.now() + timeoutMs;
    for (let wait = firstPollMs; ; wait = Math.min(maxPollMs, wait * 1.5)) {
      signal.throwIfAborted();
      if (await accepts(host, port)) return;
      if (Date.now() > until || this.#closing !== undefined || this.#process?.early !== undefined) break;
      await sleep(wait, undefined, { signal });
    }
    throw new Error(`nothing listened on ${host}:${port} within ${timeoutMs / 1000} s`);
  }

  async #proxyOptions(target: string): Promise<TransparentProxyOptions> {
    const config = this.#config;
    const { env, onEvent, onState } = this.#options;
    const warn = (text: string): void => onEvent?.('warning', { text });
    const { thv_ca_bundle: caBundle, endpoint_prefix: prefix, session_ttl: ttl, allowed_origins: origins } = config;
    const isRemote = config.remote_url !== undefined;
    const health = {
      ...healthSettings(env, warn),
      onFailed: (reason: string) =>
        onState?.({
          kind: 'given-up',
          reason,
          restarts: this.#process?.restarts ?? 0,
          stderrTail: this.#process?.tail ?? [],
        }),
    };
    return {
      target,
      remote: isRemote,
      transport: config.transport === 'sse' ? 'sse' : 'streamable-http',
      stateless: config.stateless,
      trustProxyHeaders: config.trust_proxy_headers === true,
      ...(prefix === undefined ? {} : { endpointPrefix: prefix }),
      ...(caBundle === undefined ? {} : { caBundle: [await readBundle(caBundle)] }),
      ...(ttl === undefined ? {} : { sessionTtlMs: Math.max(1, Math.round(parseDuration(ttl))) }),
      ...(origins.length === 0 ? {} : { allowedOrigins: origins, cors: true }),
      ...(isRemote && !looksAtRemotes(env) ? {} : { health }),
      onUnauthorized: () => onEvent?.('unauthorized', { url: target, hint: 'the server wants credentials' }),
      onFailure: ({ class: reason, message }) => onEvent?.('upstream-failure', { reason, message }),
      onWarning: warn,
    };
  }

  /** One request through the proxy: what is wrong with a remote server shows now, not at the first client. */
  async #probe(): Promise<void> {
    const { transport, name } = this.#config;
    const url = urlOf({ ...this.#config, port: this.port });
    const signal = AbortSignal.any([this.#options.signal, AbortSignal.timeout(probeTimeoutMs)]);
    const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const ping = { method: 'POST', headers, body: '{"jsonrpc":"2.0","id":0,"method":"ping"}' };
    try {
      const response = await fetch(url, { signal, ...(transport === 'sse' ? { headers } : ping) });
      const isOurs = response.status >= 502 && response.status <= 504;
      const text = isOurs ? await response.text() : '';
      if (!isOurs) await response.body?.cancel();
      const failure = failureIn(text);
      if (failure === undefined) return;
      throw new WorkloadsError('ERR_WORKLOADS_START', failure, { details: { name, hint: 'check the URL' } });
    } catch (error) {
      if (WorkloadsError.is(error) || this.#options.signal.aborted) throw error;
      const text = `the server did not answer within ${probeTimeoutMs / 1000} s: ${messageOf(error)}`;
      throw new WorkloadsError('ERR_WORKLOADS_START', text, { details: { name, hint: 'check the URL' }, cause: error });
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const listening = this.#listener?.close({ graceMs: listenerGraceMs });
    await this.#proxy?.close();
    await listening;
    await this.#process?.close();
  }
}

/** The message of a failure that the proxy told, and none that the server itself did. */
function failureIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: string; data?: { reason?: string } } };
    return error?.data?.reason === undefined ? undefined : error.message;
  } catch {
    return undefined;
  }
}

async function readBundle(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw bundleError(`${path} cannot be read: ${messageOf(cause)}`, path, cause);
  });
  if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  throw bundleError(`${path} holds no certificate in PEM`, path);
}

const bundleError = (text: string, file: string, cause?: unknown): WorkloadsError =>
  new WorkloadsError('ERR_WORKLOADS_FILE', text, {
    details: { file, hint: 'name a file with certificates in PEM with --thv-ca-bundle' },
    cause,
  });

async function accepts(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const done = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  });
}
