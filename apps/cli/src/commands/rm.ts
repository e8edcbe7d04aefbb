import { completeArguments } from '../completion.js';
import { formatOption } from '../options.js';
import { checkTargets, groupOption, openManager, selectWorkloads, serverNames } from '../workloads.js';
import type { TargetOptions } from '../workloads.js';
import type { RegisterCommand } from './index.js';
import { namesOf, onTargets } from './targets.js';

interface RmFlags extends TargetOptions {
  readonly format: 'text' | 'json';
}

export const register: RegisterCommand = (command, context) => {
  completeArguments(command, serverNames)
    .description('Stop and remove one or more MCP servers, with their configuration and logs.')
    .argument('[names...]', 'Names of the servers')
    .option('-a, --all', 'Remove all MCP servers')
    .addOption(groupOption('Remove all MCP servers in a group'))
    .option('-f, --force', 'Accepted for compatibility: a running server is always stopped first')
    .addOption(formatOption())
    .action(async (names: string[], flags: RmFlags) => {
      checkTargets(names, flags, 'rm');
      const manager = openManager(context);
      const targets = names.length > 0 ? names : namesOf(await selectWorkloads(manager, flags));
      const { group } = flags;
      if (targets.length === 0) {
        if (flags.format === 'json') context.json([]);
        else context.out(group === undefined ? 'No workloads to remove' : `No workloads found in group '${group}'`);
        return;
      }
      await onTargets(context, manager, targets, flags.format, {
        verb: 'remove',
        run: async (name) => {
          await manager.remove(name, { signal: context.signal });
          return 'removed';
        },
        line: (name) => `workload ${name} removed successfully`,
      });
      if (group !== undefined && flags.format === 'text') {
        context.out(`Successfully removed ${targets.length} workload(s) from group '${group}'`);
      }
    });
};
