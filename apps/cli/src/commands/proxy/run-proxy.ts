import { resolve } from 'node:path';
import { checkWorkloadName, openHttpHost, schemaVersion, urlOf } from '@thv/workloads';
import type { RunConfig } from '@thv/workloads';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { exitCodes } from '../../exit.js';

/** Flags of `proxy`, as commander hands them over. */
export interface ProxyFlags {
  readonly targetUri?: string;
  readonly remoteUrl?: string;
  readonly transport: 'streamable-http' | 'sse';
  readonly host?: string;
  readonly port?: number;
  readonly endpointPrefix?: string;
  readonly trustProxyHeaders?: boolean;
  readonly thvCaBundle?: string;
}

/** Forwards until Ctrl-C; nothing is written to disk. */
export async function runProxy(name: string | undefined, flags: ProxyFlags, context: CliContext): Promise<void> {
  const config = configOf(name, flags, context);
  const failed = new AbortController();
  let reason: string | undefined;
  const host = await openHttpHost(config, {
    env: context.env,
    signal: context.signal,
    onState: (state) => {
      if (state.kind !== 'given-up') return;
      reason = state.reason;
      failed.abort();
    },
    onEvent: (event, fields) => {
      context.debug(event, fields);
      const { message, text, hint } = fields;
      const told = message ?? text ?? hint;
      if (typeof told === 'string') context.warn(context.noteStyle.yellow(`${config.name}: ${told}`));
    },
  });
  try {
    context.out(urlOf({ ...config, port: host.port }));
    context.note(`${context.noteStyle.green('✔')} ${config.name}  ${config.remote_url ?? ''}  (Ctrl-C stops it)`);
    await aborted(AbortSignal.any([context.signal, failed.signal]));
  } finally {
    await host.close();
  }
  if (reason !== undefined)
    throw new CliError('ERR_CLI_CONNECT', reason, { hint: 'look at the server, then start again' });
  const why: unknown = context.signal.reason;
  const byTerm = why instanceof Error && 'signal' in why && why.signal === 'SIGTERM';
  context.exitCode = byTerm ? exitCodes.success : exitCodes.interrupted;
}

function configOf(name: string | undefined, flags: ProxyFlags, context: CliContext): RunConfig {
  const hint = 'thv proxy NAME --target-uri http://127.0.0.1:9000';
  if (name === undefined) throw new CliError('ERR_CLI_USAGE', 'the proxy needs a name', { hint });
  checkWorkloadName(name);
  const { targetUri, remoteUrl, endpointPrefix, thvCaBundle } = flags;
  const target = targetUri ?? remoteUrl;
  if (target === undefined) throw new CliError('ERR_CLI_USAGE', 'required flag "--target-uri" is not set', { hint });
  if (targetUri !== undefined && remoteUrl !== undefined && targetUri !== remoteUrl) {
    throw new CliError('ERR_CLI_USAGE', '--target-uri and --remote-url are the same flag', { hint });
  }
  if (!URL.canParse(target) || !/^https?:$/.test(new URL(target).protocol)) {
    throw new CliError('ERR_CLI_USAGE', `"${target}" is no http or https URL`, { hint });
  }
  return {
    schema_version: schemaVersion,
    name,
    image: '',
    command: '',
    cmd_args: [],
    transport: flags.transport,
    proxy_mode: flags.transport,
    host: flags.host ?? '127.0.0.1',
    port: flags.port ?? 0,
    group: 'default',
    env_vars: {},
    container_labels: {},
    remote_url: target,
    ...(endpointPrefix === undefined ? {} : { endpoint_prefix: endpointPrefix }),
    ...(flags.trustProxyHeaders === true ? { trust_proxy_headers: true } : {}),
    ...(thvCaBundle === undefined ? {} : { thv_ca_bundle: resolve(context.cwd, thvCaBundle) }),
    isolation: 'shared',
    backend_era: 'auto',
    stateless: false,
    strict_protocol_validation: false,
    allowed_origins: [],
  };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((done) => signal.addEventListener('abort', done, { once: true }));
}
