import { describeCommand } from './names.js';
import type { RunConfig, TransportType } from './run-config.js';
import type { StatusRecord, WorkloadStatus } from './status.js';

/** One server as `list --format json` shows it; absent members say nothing. */
export interface Workload {
  readonly name: string;
  readonly package: string;
  readonly url: string;
  readonly port: number;
  readonly transport_type: TransportType;
  readonly proxy_mode: string;
  readonly tool_type: 'mcp';
  readonly status: WorkloadStatus;
  readonly status_context?: string;
  readonly created_at: string;
  readonly started_at?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly group?: string;
  /** The supervising process. */
  readonly process_id?: number;
  readonly restarts?: number;
}

/** What the address of an endpoint is made of. */
export type EndpointParts = Pick<RunConfig, 'host' | 'port'> &
  Partial<Pick<RunConfig, 'name' | 'transport' | 'proxy_mode' | 'remote_url' | 'endpoint_prefix'>>;

/**
 * The address that clients use; an address that means "all" is replaced by the loopback of its family. It ends in the
 * path of a remote server, in `/sse#NAME` for the older transport, and in `/mcp` otherwise.
 */
export function urlOf(config: EndpointParts): string {
  const { host, port, remote_url: remote, endpoint_prefix: prefix = '' } = config;
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' || host === '[::]' ? '::1' : host;
  const bracketed = reachable.includes(':') && !reachable.startsWith('[') ? `[${reachable}]` : reachable;
  const inner = prefix.replaceAll(/^\/+|\/+$/g, '');
  const base = `http://${bracketed}:${port}${inner === '' ? '' : `/${inner}`}`;
  const mode = config.transport === undefined || config.transport === 'stdio' ? config.proxy_mode : config.transport;
  const path = remote === undefined ? '/' : new URL(remote).pathname;
  if (mode === 'sse') {
    const fragment = config.name === undefined ? '' : `#${encodeURIComponent(config.name)}`;
    return `${base}${path === '/' ? '/sse' : path}${fragment}`;
  }
  return remote === undefined ? `${base}/mcp` : `${base}${path === '/' ? '' : path}`;
}

/** What is shown as the package: `npx @scope/server`, `node server.js`. */
export function packageOf(config: Pick<RunConfig, 'command' | 'cmd_args' | 'remote_url'>): string {
  if (config.remote_url !== undefined) return config.remote_url;
  return describeCommand(config.command, config.cmd_args);
}

/** Puts a configuration and what its supervisor wrote together. */
export function describeWorkload(
  config: RunConfig,
  record: StatusRecord | undefined,
  state: { readonly status: WorkloadStatus; readonly context: string; readonly createdAt: string },
): Workload {
  const labels = Object.keys(config.container_labels).length > 0 ? { labels: config.container_labels } : {};
  const lives = state.status !== 'stopped' && record?.supervisor !== undefined;
  return {
    name: config.name,
    package: packageOf(config),
    url: urlOf(config),
    port: config.port,
    transport_type: config.transport,
    proxy_mode: config.proxy_mode,
    tool_type: 'mcp',
    status: state.status,
    ...(state.context === '' ? {} : { status_context: state.context }),
    created_at: state.createdAt,
    ...(lives && record.started_at !== '' ? { started_at: record.started_at } : {}),
    ...labels,
    group: config.group,
    ...(lives ? { process_id: record.supervisor.pid } : {}),
    ...(lives && record.restarts > 0 ? { restarts: record.restarts } : {}),
  };
}

/** A workload whose files cannot be read; it is listed so that nobody looks for it in vain. */
export function describeBroken(name: string, problem: string, createdAt: string): Workload {
  return {
    name,
    package: '',
    url: '',
    port: 0,
    transport_type: 'stdio',
    proxy_mode: 'streamable-http',
    tool_type: 'mcp',
    status: 'error',
    status_context: problem,
    created_at: createdAt,
  };
}
