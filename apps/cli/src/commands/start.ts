import { completeArguments } from '../completion.js';
import { WorkloadsError } from '@thv/workloads';
import type { WorkloadManager } from '@thv/workloads';
import type { CliContext } from '../context.js';
import { CliError } from '../errors.js';
import { formatOption } from '../options.js';
import { checkTargets, groupOption, openManager, selectWorkloads, serverNames, withSuggestions } from '../workloads.js';
import type { TargetOptions } from '../workloads.js';
import type { RegisterCommand } from './index.js';
import { namesOf, onTargets } from './targets.js';

interface StartFlags extends TargetOptions {
  readonly foreground?: boolean;
  readonly format: 'text' | 'json';
}

export const register: RegisterCommand = (command, context) => {
  completeArguments(command, serverNames)
    .description('Start one or more stopped MCP servers, with the same URL. `thv restart` stops running ones first.')
    .argument('[names...]', 'Names of the servers')
    .option('-a, --all', 'Start all MCP servers')
    .addOption(groupOption('Start all MCP servers in a group'))
    .option('-f, --foreground', 'Stay in the foreground until Ctrl-C')
    .addOption(formatOption())
    .action(async (names: string[], flags: StartFlags) => {
      checkTargets(names, flags, 'start');
      const manager = openManager(context);
      // The word that was typed decides: "restart" of a running server means a new process.
      const again = context.argv.find((word) => !word.startsWith('-')) === 'restart';
      if (flags.foreground === true) {
        await startInForeground(manager, names, again, context);
        return;
      }
      const targets = names.length > 0 ? names : namesOf(await selectWorkloads(manager, flags));
      if (targets.length === 0) {
        const { group } = flags;
        if (flags.format === 'json') context.json([]);
        else
          context.out(group === undefined ? 'No MCP servers found to start' : `No workloads found in group '${group}'`);
        return;
      }
      await onTargets(context, manager, targets, flags.format, {
        verb: 'start',
        run: async (name) => startOne(manager, name, again, context),
        line: (name, result) =>
          result === 'running' ? `workload ${name} is already running` : `workload ${name} ${result} successfully`,
      });
    });
};

async function startOne(manager: WorkloadManager, name: string, again: boolean, context: CliContext): Promise<string> {
  const { signal } = context;
  const stopped = again && (await manager.stop(name, { signal }));
  try {
    const { url } = await manager.start(name, { signal });
    context.note(`${context.noteStyle.green('✔')} ${name}  ${url}`);
    return stopped ? 'restarted' : 'started';
  } catch (error) {
    if (WorkloadsError.is(error) && error.code === 'ERR_WORKLOADS_ALREADY_RUNNING') return 'running';
    throw error;
  }
}

async function startInForeground(
  manager: WorkloadManager,
  names: readonly string[],
  again: boolean,
  context: CliContext,
): Promise<void> {
  const [name] = names;
  if (name === undefined || names.length > 1) {
    throw new CliError('ERR_CLI_USAGE', '--foreground takes exactly one name', { hint: 'thv start --foreground NAME' });
  }
  const { runInForeground } = await import('../foreground.js');
  await withSuggestions(manager, name, async () => {
    await manager.get(name);
    if (again) await manager.stop(name, { signal: context.signal });
    await runInForeground(name, context);
  });
}
