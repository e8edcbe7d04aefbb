import { completeArguments } from '../completion.js';
import type { Workload } from '@thv/workloads';
import type { CliContext } from '../context.js';
import { formatOption } from '../options.js';
import { formatFields } from '../output/table.js';
import { localTime, uptime } from '../output/time.js';
import { openManager, serverNames, withSuggestions } from '../workloads.js';
import type { RegisterCommand } from './index.js';

export const register: RegisterCommand = (command, context) => {
  completeArguments(command, serverNames)
    .description('Show the status of an MCP server in detail.')
    .argument('<name>', 'Name of the server')
    .addOption(formatOption())
    .action(async (name: string, { format }: { readonly format: 'text' | 'json' }) => {
      const manager = openManager(context);
      const workload = await withSuggestions(manager, name, async () => manager.get(name));
      const answered = workload.status === 'running' ? await probeHealth(workload, context) : workload;
      if (format === 'json') printJson(context, answered);
      else printText(context, answered);
    });
};

/** A supervisor that hangs is alive for the system: only its answer shows that it works. */
async function probeHealth(workload: Workload, context: CliContext): Promise<Workload> {
  const url = new URL('/health', workload.url);
  try {
    const signal = AbortSignal.any([AbortSignal.timeout(2000), context.signal]);
    const response = await fetch(url, { signal });
    await response.body?.cancel();
    if (response.ok) return workload;
    return { ...workload, status: 'unhealthy', status_context: `HTTP ${response.status} from ${url.href}` };
  } catch (error) {
    if (context.signal.aborted) throw context.signal.reason;
    const why = error instanceof Error && error.name === 'TimeoutError' ? 'within 2 s' : '';
    return { ...workload, status: 'unhealthy', status_context: `no answer from ${url.href} ${why}`.trimEnd() };
  }
}

function printJson(context: CliContext, workload: Workload): void {
  const { started_at: startedAt, status_context: health, group, process_id: pid, restarts, labels } = workload;
  context.json({
    name: workload.name,
    status: workload.status,
    ...(health === undefined ? {} : { health }),
    package: workload.package,
    url: workload.url,
    port: workload.port,
    transport: workload.transport_type,
    proxy_mode: workload.proxy_mode,
    ...(group === undefined ? {} : { group }),
    created_at: workload.created_at,
    ...(startedAt === undefined ? {} : { uptime: uptime(startedAt, Date.now()), started_at: startedAt }),
    ...(pid === undefined ? {} : { pid }),
    ...(restarts === undefined ? {} : { restarts }),
    ...(labels === undefined ? {} : { labels }),
  });
}

function printText(context: CliContext, workload: Workload): void {
  const { started_at: startedAt, status_context: health, group, process_id: pid, restarts } = workload;
  const fields: [string, string][] = [
    ['Name', workload.name],
    ['Status', workload.status],
  ];
  if (health !== undefined) fields.push(['Health', health]);
  fields.push(
    ['Package', workload.package],
    ['URL', workload.url],
    ['Port', String(workload.port)],
    ['Transport', workload.transport_type],
    ['Proxy Mode', workload.proxy_mode],
  );
  if (group !== undefined) fields.push(['Group', group]);
  fields.push(['Created', localTime(workload.created_at)]);
  if (startedAt !== undefined) fields.push(['Uptime', uptime(startedAt, Date.now())]);
  if (restarts !== undefined) fields.push(['Restarts', String(restarts)]);
  if (pid !== undefined) fields.push(['PID', String(pid)]);
  context.write(formatFields(fields));
}
