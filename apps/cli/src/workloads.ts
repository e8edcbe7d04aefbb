import { createLauncher, createWorkloadManager, resolvePaths } from '@thv/workloads';
import type { Paths, Workload, WorkloadManager } from '@thv/workloads';
import { Option } from 'commander';
import { completeOption } from './completion.js';
import type { Candidates } from './completion.js';
import type { CliContext } from './context.js';
import { CliError } from './errors.js';
import { didYouMean } from './suggest.js';

/** The servers of this user, started again through this very program. */
export function openManager(context: CliContext): WorkloadManager {
  const { env, self } = context;
  const launch = createLauncher({ command: process.execPath, args: [...self, superviseCommand], env });
  return createWorkloadManager({ paths: pathsOf(context), launch });
}

/** The hidden command that a detached supervisor runs. */
export const superviseCommand = '__supervise';

export function pathsOf({ env }: CliContext): Paths {
  return resolvePaths({ env });
}

/** The names of all servers, for the shell's completion. */
export const serverNames: Candidates = async (context) => openManager(context).configs.names();

/** The names of all groups, for the shell's completion. */
export const groupNames: Candidates = async (context) => {
  const groups = await openManager(context).groups.list();
  return groups.map(({ name }) => name);
};

/** `-g/--group`, with the names of the groups for the shell. */
export function groupOption(description: string, flags = '-g, --group <name>'): Option {
  return completeOption(new Option(flags, description), groupNames);
}

/** Adds the close names to "not found", so that the last line of the error helps. */
export async function withSuggestions<T>(manager: WorkloadManager, name: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_WORKLOADS_NOT_FOUND';
    if (!isMissing) throw error;
    const near = didYouMean(name, await manager.configs.names());
    throw Object.assign(error, { message: `${error.message}${near}` });
  }
}

/** What `start`, `stop` and `rm` work on: names, all, or a group. */
export interface TargetOptions {
  readonly all?: boolean;
  readonly group?: string;
}

/** Refuses names together with `--all` or `--group`, and nothing at all. */
export function checkTargets(names: readonly string[], { all = false, group }: TargetOptions, command: string): void {
  const hint = `thv ${command} NAME, thv ${command} --all or thv ${command} --group GROUP`;
  if (all && group !== undefined) throw new CliError('ERR_CLI_USAGE', '--all and --group exclude each other', { hint });
  if ((all || group !== undefined) && names.length > 0) {
    throw new CliError('ERR_CLI_USAGE', 'no arguments should be provided when --all or --group flag is set', { hint });
  }
  if (!all && group === undefined && names.length === 0) {
    throw new CliError(
      'ERR_CLI_USAGE',
      'at least one workload name must be provided: a workload name is required when not using --group flag or --all',
      { hint },
    );
  }
}

/** The workloads that `--all` or `--group` mean. */
export async function selectWorkloads(manager: WorkloadManager, { group }: TargetOptions): Promise<Workload[]> {
  if (group !== undefined) await manager.groups.require(group);
  return manager.list({ all: true, ...(group === undefined ? {} : { group }) });
}
