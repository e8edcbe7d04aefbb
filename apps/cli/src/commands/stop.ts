import { completeArguments } from '../completion.js';
import type { WorkloadManager } from '@thv/workloads';
import type { CliContext } from '../context.js';
import { formatOption, integerParser } from '../options.js';
import { didYouMean } from '../suggest.js';
import { checkTargets, groupOption, openManager, selectWorkloads, serverNames } from '../workloads.js';
import type { TargetOptions } from '../workloads.js';
import type { RegisterCommand } from './index.js';
import { namesOf, onTargets } from './targets.js';

interface StopFlags extends TargetOptions {
  readonly timeout: number;
  readonly format: 'text' | 'json';
}

export const register: RegisterCommand = (command, context) => {
  completeArguments(command, serverNames)
    .description('Stop one or more running MCP servers. Their configuration and their URL stay.')
    .argument('[names...]', 'Names of the servers')
    .option('-a, --all', 'Stop all running MCP servers')
    .addOption(groupOption('Stop all MCP servers in a group'))
    .option('--timeout <seconds>', 'Seconds before a server is stopped by force', integerParser(0, 86_400), 30)
    .addOption(formatOption())
    .action(async (names: string[], flags: StopFlags) => {
      checkTargets(names, flags, 'stop');
      const manager = openManager(context);
      const targets = names.length > 0 ? await onlyKnown(manager, names, context) : await running(manager, flags);
      if (targets.length === 0) {
        if (flags.format === 'json') context.json([]);
        else context.out(nothingToStop(names, flags));
        return;
      }
      await onTargets(context, manager, targets, flags.format, {
        verb: 'stop',
        run: async (name) => {
          const stopped = await manager.stop(name, { timeoutMs: flags.timeout * 1000, signal: context.signal });
          return stopped ? 'stopped' : 'not-running';
        },
        line: (name, result) =>
          result === 'stopped' ? `workload ${name} stopped successfully` : `workload ${name} was not running`,
      });
    });
};

async function running(manager: WorkloadManager, flags: StopFlags): Promise<string[]> {
  const workloads = await selectWorkloads(manager, flags);
  return namesOf(workloads.filter(({ status }) => status !== 'stopped' && status !== 'error'));
}

// A server that is not there is as stopped as it can be; scripts stop before they start and expect success.
async function onlyKnown(manager: WorkloadManager, names: readonly string[], context: CliContext): Promise<string[]> {
  const known = await manager.configs.names();
  return names.filter((name) => {
    if (known.includes(name)) return true;
    context.warn(`warning: there is no server "${name}"${didYouMean(name, known)}`);
    return false;
  });
}

function nothingToStop(names: readonly string[], { group }: StopFlags): string {
  if (names.length > 0) return `one or more workloads are not running: ${names.join(', ')}`;
  return group === undefined ? 'No running workloads to stop' : `No running MCP servers found in group '${group}'`;
}
