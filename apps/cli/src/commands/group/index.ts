import type { WorkloadManager } from '@thv/workloads';
import { completeArguments } from '../../completion.js';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { formatOption } from '../../options.js';
import { formatTable } from '../../output/table.js';
import { confirm } from '../../prompt.js';
import { groupNames, openManager } from '../../workloads.js';
import type { RegisterCommand } from '../index.js';
import { namesOf } from '../targets.js';

type Format = 'text' | 'json';

export const register: RegisterCommand = (command, context) => {
  command.description('The group command has subcommands to manage logical groupings of MCP servers.');
  command
    .command('create')
    .description('Create a new logical group of MCP servers.')
    .argument('<name>', 'Name of the group')
    .addOption(formatOption())
    .action(async (name: string, { format }: { readonly format: Format }) => {
      const group = await openManager(context).groups.create(name);
      if (format === 'json') context.json(group);
      else context.out(`Group '${name}' created successfully.`);
    });
  command
    .command('list')
    .alias('ls')
    .description('List all logical groups of MCP servers.')
    .addOption(formatOption())
    .action(async ({ format }: { readonly format: Format }) => {
      const groups = await openManager(context).groups.list();
      if (format === 'json') context.json(groups);
      else
        context.write(
          formatTable(
            ['NAME'],
            groups.map(({ name }) => [name]),
          ),
        );
    });
  completeArguments(command.command('rm'), groupNames)
    .alias('remove')
    .description('Remove a group. Its servers move to the group "default", or are removed with --with-workloads.')
    .argument('<name>', 'Name of the group')
    .option('--with-workloads', 'Delete all workloads in the group along with the group')
    .option('-y, --yes', 'Do not ask')
    .addOption(formatOption())
    .action(async (name: string, flags: RemoveFlags) => removeGroup(name, flags, context));
};

interface RemoveFlags {
  readonly withWorkloads?: boolean;
  readonly yes?: boolean;
  readonly format: Format;
}

async function removeGroup(name: string, flags: RemoveFlags, context: CliContext): Promise<void> {
  const manager = openManager(context);
  await manager.groups.require(name);
  if (name === 'default') await manager.groups.remove(name);
  const members = namesOf(await manager.list({ all: true, group: name }));
  const withWorkloads = flags.withWorkloads === true;
  if (flags.yes !== true && !(await confirm(warning(name, members, withWorkloads), context))) {
    if (flags.format === 'json') context.json({ name, result: 'cancelled' });
    else context.out('Group deletion cancelled.');
    return;
  }
  await (withWorkloads ? removeMembers(manager, members, context) : moveMembers(manager, members));
  await manager.groups.remove(name);
  if (flags.format === 'json') {
    context.json({ name, result: 'deleted', [withWorkloads ? 'removed' : 'moved']: members });
    return;
  }
  if (members.length > 0) {
    context.out(`${withWorkloads ? 'Deleted' : 'Removed'} ${members.length} workload(s) from group '${name}'`);
  }
  context.out(`Group '${name}' deleted successfully`);
}

async function removeMembers(manager: WorkloadManager, members: readonly string[], context: CliContext): Promise<void> {
  const results = await Promise.allSettled(
    members.map(async (member) => manager.remove(member, { signal: context.signal })),
  );
  const failed = results.findIndex(({ status }) => status === 'rejected');
  const reason = results[failed];
  if (reason?.status !== 'rejected') return;
  throw new CliError('ERR_CLI_TARGETS', `"${members[failed] ?? ''}" could not be removed, the group stays`, {
    hint: `thv rm ${members[failed] ?? ''}`,
    cause: reason.reason,
    exitCode: 3,
  });
}

async function moveMembers(manager: WorkloadManager, members: readonly string[]): Promise<void> {
  for (const member of members) await manager.moveToGroup(member, 'default');
}

function warning(name: string, members: readonly string[], withWorkloads: boolean): string {
  const fate = withWorkloads ? 'will be DELETED' : "will be moved to the 'default' group";
  const lines = [`⚠️  WARNING: This will delete group '${name}'; its servers ${fate}.`];
  if (members.length > 0) {
    lines.push(`   The following ${members.length} workload(s) will be affected:`);
    lines.push(...members.map((member) => `   - ${member} (${fate})`));
  }
  lines.push('', `${withWorkloads ? 'This action cannot be undone. ' : ''}Are you sure you want to continue? [y/N]: `);
  return lines.join('\n');
}
