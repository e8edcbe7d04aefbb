import type { Workload } from '@thv/workloads';
import type { CliContext } from '../context.js';
import { parseLabels } from '../labels.js';
import { choiceOption, collect } from '../options.js';
import { formatTable } from '../output/table.js';
import { timeAgo } from '../output/time.js';
import { groupOption, openManager } from '../workloads.js';
import type { RegisterCommand } from './index.js';

interface ListFlags {
  readonly all?: boolean;
  readonly format: 'text' | 'json' | 'mcpservers';
  readonly group?: string;
  readonly label?: readonly string[];
}

export const register: RegisterCommand = (command, context) => {
  command
    .description('List all MCP servers, including their status and configuration.')
    .option('-a, --all', 'Show all workloads (default shows those that are not stopped)')
    .addOption(choiceOption('--format <format>', 'Output format', ['text', 'json', 'mcpservers'], 'text'))
    .addOption(groupOption('Filter workloads by group'))
    .option('-l, --label <key=value>', 'Filter workloads by labels (repeatable)', collect)
    .action(async (flags: ListFlags) => {
      const manager = openManager(context);
      const { group } = flags;
      if (group !== undefined && group !== '') await manager.groups.require(group);
      const workloads = await manager.list({
        all: flags.all === true,
        ...(group === undefined ? {} : { group }),
        labels: parseLabels(flags.label ?? []),
      });
      if (flags.format === 'json') context.json(workloads);
      else if (flags.format === 'mcpservers') printMcpServers(context, workloads);
      else printTable(context, workloads, group);
    });
};

function printMcpServers(context: CliContext, workloads: readonly Workload[]): void {
  const entries = workloads
    .filter(({ url }) => url !== '')
    .map(({ name, url, proxy_mode }) => [name, { type: proxy_mode, url }] as const);
  context.json({ mcpServers: Object.fromEntries(entries) });
}

function printTable(context: CliContext, workloads: readonly Workload[], group: string | undefined): void {
  if (workloads.length === 0) {
    context.out(group === undefined ? 'No MCP servers found' : `No MCP servers found in group '${group}'`);
    return;
  }
  const now = Date.now();
  const rows = workloads.map((workload) => [
    workload.name,
    workload.package,
    statusText(workload),
    workload.url,
    String(workload.port),
    workload.group ?? '',
    timeAgo(workload.created_at, now),
  ]);
  const { style } = context;
  const colours = { running: style.green, error: style.red, unhealthy: style.yellow } as const;
  context.write(
    formatTable(['NAME', 'PACKAGE', 'STATUS', 'URL', 'PORT', 'GROUP', 'CREATED'], rows, (cell, column, row) => {
      const status = workloads[row]?.status;
      if (column !== 2 || (status !== 'running' && status !== 'error' && status !== 'unhealthy')) return cell;
      return colours[status](cell);
    }),
  );
}

function statusText({ status, status_context: why }: Workload): string {
  return why === undefined ? status : `${status} (${why})`;
}
