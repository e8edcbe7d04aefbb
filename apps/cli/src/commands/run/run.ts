import type { RunConfig, Workload, WorkloadManager } from '@thv/workloads';
import { checkWorkloadName } from '@thv/workloads';
import type { Command } from 'commander';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { openManager } from '../../workloads.js';
import { configFromFile, configFromFlags } from './config.js';

/** Flags of `run`, as commander hands them over. */
export interface RunFlags {
  readonly name?: string;
  readonly transport?: 'stdio' | 'sse' | 'streamable-http';
  readonly proxyMode: 'streamable-http' | 'sse';
  readonly env?: readonly string[];
  readonly envFile?: string;
  readonly host?: string;
  readonly proxyPort?: number;
  readonly group?: string;
  readonly label?: readonly string[];
  readonly isolation?: RunConfig['isolation'];
  readonly backendEra?: RunConfig['backend_era'];
  readonly stateKeyFile?: string;
  readonly sessionTtl?: string;
  readonly stateless?: boolean;
  readonly strictProtocolValidation?: boolean;
  readonly allowedOrigins?: readonly string[];
  readonly targetPort?: number;
  readonly targetHost?: string;
  readonly endpointPrefix?: string;
  readonly trustProxyHeaders?: boolean;
  readonly thvCaBundle?: string;
  readonly fromConfig?: string;
  readonly foreground?: boolean;
  readonly format: 'text' | 'json';
}

/** Runs a server as the flags say, and prints its URL. */
export async function run(
  server: string | undefined,
  flags: RunFlags,
  command: Command,
  context: CliContext,
): Promise<void> {
  const manager = openManager(context);
  const taken = new Set(await manager.configs.names());
  const config =
    flags.fromConfig === undefined
      ? await configFromFlags(server, flags, taken, context)
      : await configFromFile(server, flags, command, taken, context);
  checkWorkloadName(config.name);
  if (config.isolation !== 'shared' && config.stateless) {
    throw new CliError('ERR_CLI_USAGE', `--stateless and --isolation ${config.isolation} exclude each other`, {
      hint: 'leave one of the two out',
    });
  }
  warnAboutExposure(config, context);
  if (flags.foreground === true) await runHere(manager, config, flags, context);
  else await runDetached(manager, config, flags, context);
}

function warnAboutExposure({ host, allowed_origins: origins }: RunConfig, context: CliContext): void {
  const isLocal = host === 'localhost' || host === '::1' || host.startsWith('127.');
  if (isLocal || origins.length > 0) return;
  context.warn(
    `${context.noteStyle.yellow('warning:')} ${host} is reachable from other machines, without authentication and for any origin; name those that may call with --allowed-origins`,
  );
}

async function runDetached(
  manager: WorkloadManager,
  config: RunConfig,
  flags: RunFlags,
  context: CliContext,
): Promise<void> {
  const waiting = setTimeout(() => context.note(`waiting for ${config.name} to answer…`), 3000);
  waiting.unref();
  try {
    const workload = await manager.run(config, { signal: context.signal });
    context.note(readyLine(workload, context));
    printResult(workload, flags, context);
  } finally {
    clearTimeout(waiting);
  }
}

async function runHere(
  manager: WorkloadManager,
  config: RunConfig,
  flags: RunFlags,
  context: CliContext,
): Promise<void> {
  const { runInForeground } = await import('../../foreground.js');
  const reserved = await manager.reserve(config);
  let ready: Promise<void> | undefined;
  try {
    await runInForeground(reserved.name, context, () => {
      ready = manager.get(reserved.name).then((workload) => printResult(workload, flags, context));
    });
    await ready;
  } finally {
    // A server that never answered leaves nothing behind; one that worked can be started again.
    if (ready === undefined) await manager.remove(reserved.name).catch(() => undefined);
  }
}

function printResult(workload: Workload, flags: RunFlags, context: CliContext): void {
  if (flags.format === 'json') context.json(workload);
  else context.out(workload.url);
}

function readyLine(workload: Workload, context: CliContext): string {
  const { name, url, process_id: pid, proxy_mode: mode, transport_type: transport, package: what } = workload;
  const backend = /^https?:\/\//.test(what) ? 'remote' : `${transport} backend`;
  return `${context.noteStyle.green('✔')} ${name}  ${url}  (${mode}, ${backend}, pid ${pid ?? '?'})`;
}
