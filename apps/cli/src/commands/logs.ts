import { completeArguments } from '../completion.js';
import { readLog, removeLog } from '@thv/workloads';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { once } from 'node:events';
import type { CliContext } from '../context.js';
import { exitCodes } from '../exit.js';
import { formatOption } from '../options.js';
import { openManager, pathsOf, serverNames, withSuggestions } from '../workloads.js';
import type { RegisterCommand } from './index.js';

interface LogsFlags {
  readonly follow?: boolean;
  readonly proxy?: boolean;
}

export const register: RegisterCommand = (command, context) => {
  completeArguments(command, serverNames)
    .description('Print what an MCP server wrote to stderr, or the log of the proxy in front of it.')
    .usage('[options] <name>\n       thv logs prune')
    .argument('<name>', 'Name of the server')
    .option('-f, --follow', 'Go on until Ctrl-C')
    .option('-p, --proxy', 'The log of the proxy instead of the server')
    .action(async (name: string, flags: LogsFlags) => printLog(name, flags, context));
  command
    .command('prune')
    .description('Delete the log files of servers that do not exist any more.')
    .addOption(formatOption())
    .action(async ({ format }: { readonly format: 'text' | 'json' }) => prune(format, context));
};

async function printLog(
  name: string,
  { follow = false, proxy = false }: LogsFlags,
  context: CliContext,
): Promise<void> {
  const manager = openManager(context);
  await withSuggestions(manager, name, async () => {
    const known = await manager.configs.names();
    if (!known.includes(name)) await manager.get(name);
  });
  const paths = manager.logPaths(name);
  for await (const chunk of readLog(proxy ? paths.proxy : paths.server, { follow, signal: context.signal })) {
    if (!context.stdout.write(chunk)) await once(context.stdout, 'drain', { signal: context.signal });
  }
  // Ctrl-C is how one leaves a followed log; it is no failure of anything.
  if (follow && context.signal.aborted) context.exitCode = exitCodes.interrupted;
}

async function prune(format: 'text' | 'json', context: CliContext): Promise<void> {
  const { logs, serverLogs } = pathsOf(context);
  const known = new Set(await openManager(context).configs.names());
  const removed: string[] = [];
  for (const folder of [logs, serverLogs]) {
    for (const path of await logsIn(folder)) {
      if (known.has(basename(path, '.log'))) continue;
      await removeLog(path);
      removed.push(path);
    }
  }
  if (format === 'json') {
    context.json({ removed });
    return;
  }
  if (removed.length === 0) context.note('No orphaned log files found to prune');
  else context.note(`Successfully pruned ${removed.length} log file(s)`);
  for (const path of removed) context.out(`Removed: ${path}`);
}

/** The logs in a folder; one whose newest part is gone is found by an older one. */
async function logsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder).catch(() => []);
  const names = entries.map((entry) => entry.replace(/\.log\.\d+$/, '.log')).filter((entry) => entry.endsWith('.log'));
  return [...new Set(names)].sort().map((entry) => join(folder, entry));
}
