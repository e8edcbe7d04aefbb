import { Option } from 'commander';
import type { Command } from 'commander';
import { completeArguments } from '../../completion.js';
import type { CliContext } from '../../context.js';
import { formatOption } from '../../options.js';
import { groupOption } from '../../workloads.js';
import type { RegisterCommand } from '../index.js';
import { buildSkill, initSkill, listBuilds, pushSkill, removeBuild, showContent, validateSkill } from './author.js';
import type { PushFlags } from './author.js';
import { installSkill } from './install.js';
import type { InstallFlags } from './install.js';
import { syncSkills, upgradeSkills } from './lock-commands.js';
import type { SyncFlags, UpgradeFlags } from './lock-commands.js';
import { buildTags, clientsOption, projectRootOption, scopeOption, skillNames } from './shared.js';
import { listSkills, showSkill } from './show.js';
import type { ListFlags } from './show.js';
import { uninstallSkill } from './uninstall.js';
import type { UninstallFlags } from './uninstall.js';

type Format = { readonly format: 'text' | 'json' };

export const register: RegisterCommand = (command, context) => {
  command.description('Build, publish, install and lock Agent Skills.');
  registerInstalled(command, context);
  registerAuthoring(command, context);
  registerLock(command, context);
};

function registerInstalled(command: Command, context: CliContext): void {
  command
    .command('install')
    .alias('add')
    .description(
      'Install a skill: by name, OCI reference, git://host/owner/repo@ref#path, https address or local path.',
    )
    .argument('<name>', 'Name, reference or path of the skill')
    .addOption(scopeOption('Where to install: for the user, or into a project (default: user)'))
    .addOption(projectRootOption())
    .addOption(clientsOption())
    .option('--force', 'Replace what stands in the way')
    .addOption(groupOption('Group to add the skill to', '--group <name>'))
    .option('--allow-unsigned', 'Install into a project without a signature; the lock file records it')
    .option('--public-key <path>', 'Cosign public key that the skill must be signed with; pinned in the lock file')
    .option('--version <version>', 'Version, where the name leaves it open')
    .addOption(formatOption())
    .action(async (name: string, flags: InstallFlags & { readonly version?: string }) =>
      installSkill(
        name,
        { ...flags, ...(flags.version === undefined ? {} : { skillVersion: flags.version }) },
        context,
      ),
    );
  completeArguments(command.command('uninstall'), skillNames)
    .aliases(['remove', 'rm'])
    .description('Remove an installed skill, and what was installed only because it needed it.')
    .argument('<name>', 'Name of the skill')
    .addOption(scopeOption('Where it is installed (default: user)'))
    .addOption(projectRootOption())
    .addOption(formatOption())
    .action(async (name: string, flags: UninstallFlags) => uninstallSkill(name, flags, context));
  command
    .command('list')
    .alias('ls')
    .description('List installed skills.')
    .addOption(scopeOption('Only those of this scope'))
    .addOption(projectRootOption())
    .option('--client <name>', 'Only those of this client')
    .addOption(groupOption('Only those of this group', '--group <name>'))
    .addOption(formatOption())
    .action(async (flags: ListFlags) => listSkills(flags, context));
  completeArguments(command.command('info'), skillNames)
    .description('Show what is known of an installed skill, its signer included.')
    .argument('<name>', 'Name of the skill')
    .addOption(scopeOption('Where it is installed (default: user)'))
    .addOption(projectRootOption())
    .addOption(formatOption())
    .action(async (name: string, flags: ListFlags) => showSkill(name, flags, context));
  command
    .command('content')
    .description('Print what a skill consists of, without installing it.')
    .argument('<reference>', 'Name, reference or path of the skill')
    .addOption(formatOption())
    .action(async (reference: string, flags: Format) => showContent(reference, flags, context));
}

function registerAuthoring(command: Command, context: CliContext): void {
  command
    .command('init')
    .description('Create a folder with a SKILL.md to start from.')
    .argument('<path>', 'Folder; its last part is the name of the skill')
    .addOption(formatOption())
    .action(async (path: string, flags: Format) => initSkill(path, flags, context));
  command
    .command('validate')
    .description('Check a skill, with line and column of what is wrong.')
    .argument('<path>', 'Folder with SKILL.md')
    .option('--strict', 'Refuse also what the Agent Skills specification itself does not know')
    .addOption(formatOption())
    .action(async (path: string, flags: Format & { readonly strict?: boolean }) => validateSkill(path, flags, context));
  command
    .command('build')
    .description('Pack a skill as an OCI artifact in the local store.')
    .argument('<path>', 'Folder with SKILL.md')
    .option('-t, --tag <tag>', 'Tag, or the full reference that it will be pushed to (default: name of the skill)')
    .addOption(formatOption())
    .action(async (path: string, flags: Format & { readonly tag?: string }) => buildSkill(path, flags, context));
  completeArguments(command.command('push'), buildTags)
    .description('Push a build to its registry and sign it: with a key, keylessly, or not at all.')
    .argument('<reference>', 'Reference that the skill was built with')
    .option('--key <path>', 'Cosign private key; COSIGN_PASSWORD opens an encrypted one')
    .option('--identity-token <token>', 'OpenID Connect token for keyless signing, or a file that holds one')
    .addOption(new Option('--no-sign', 'Publish without a signature'))
    .addOption(formatOption())
    .action(async (reference: string, flags: PushFlags) => pushSkill(reference, flags, context));
  const builds = command.command('builds').description('List locally built skills.').addOption(formatOption());
  builds.action(async (flags: Format) => listBuilds(flags, context));
  completeArguments(builds.command('remove'), buildTags)
    .alias('rm')
    .description('Remove a locally built skill.')
    .argument('<tag>', 'Tag of the build')
    .addOption(formatOption())
    .action(async (tag: string, flags: Format) => removeBuild(tag, flags, context));
}

function registerLock(command: Command, context: CliContext): void {
  command
    .command('sync')
    .description('Make the skills of a project fit its toolhive.lock.yaml.')
    .addOption(projectRootOption())
    .addOption(clientsOption())
    .option('--check', 'Report what differs and change nothing; exits with 2 when something does')
    .option('--prune', 'Remove managed skills that the lock file no longer names')
    .option('--adopt', 'Record skills that are installed and not in the lock file')
    .option('--allow-unsigned', 'Let --adopt record skills without a signature')
    .option('-y, --yes', 'Do not ask')
    .addOption(formatOption())
    .action(async (flags: SyncFlags) => syncSkills(flags, context));
  completeArguments(command.command('upgrade'), skillNames)
    .description('Move the locked skills of a project to what their sources stand for now.')
    .argument('[names...]', 'Names of the skills (default: all)')
    .addOption(projectRootOption())
    .addOption(clientsOption())
    .option('--preview', 'Report what would change and change nothing')
    .option('--fail-on-changes', 'As --preview, and exit with 2 when something would change')
    .option('--allow-ref-change', 'Let a skill move to another repository')
    .option('--allow-signer-change', 'Let a skill move to another signer, or to none')
    .option('-y, --yes', 'Do not ask')
    .addOption(formatOption())
    .action(async (names: string[], flags: UpgradeFlags) => upgradeSkills(names, flags, context));
}
