import { runBridge } from '@thv/transport';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { openManager, withSuggestions } from '../../workloads.js';

/** Joins a client on stdin and stdout with a running server. Everything else goes to stderr. */
export async function runStdio(name: string, context: CliContext): Promise<void> {
  const manager = openManager(context);
  const workload = await withSuggestions(manager, name, async () => manager.get(name));
  if (workload.status !== 'running' && workload.status !== 'unhealthy') {
    throw new CliError('ERR_CLI_NOT_RUNNING', `server "${name}" is not running (status: ${workload.status})`, {
      hint: `thv start ${name}`,
    });
  }
  const outcome = await runBridge({
    url: workload.url,
    transport: workload.proxy_mode === 'sse' ? 'sse' : 'streamable-http',
    input: context.stdin,
    output: context.stdout,
    signal: context.signal,
    onEvent: (text) => context.warn(`${name}: ${text}`),
  });
  if (outcome.kind === 'failed') {
    throw new CliError('ERR_CLI_CONNECT', outcome.message, { hint: `thv status ${name}, thv logs ${name}` });
  }
}
