import { findProjectRoot } from '@thv/skills-lock';
import { Option } from 'commander';
import { completeOption } from '../../completion.js';
import type { Candidates } from '../../completion.js';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { choiceOption } from '../../options.js';
import { isAbsolute, resolve } from 'node:path';
import { skillClients } from '@thv/skills-lock';
import { withSkills } from './open-service.js';

/** Names of installed skills, for the shell's completion. */
export const skillNames: Candidates = async (context) =>
  await withSkills(context, async (service) => [
    ...new Set((await service.list()).map(({ metadata }) => metadata.name)),
  ]);

/** Tags of local builds, for the shell's completion. */
export const buildTags: Candidates = async (context) =>
  await withSkills(context, async (service) => (await service.builds()).map(({ tag }) => tag));

/** `--scope`; without a default, since a project root alone means project scope. */
export const scopeOption = (description: string): Option =>
  choiceOption('--scope <scope>', description, ['user', 'project']);

export const projectRootOption = (): Option =>
  new Option('--project-root <path>', 'Root of the project (default: found from the current folder)');

/** `--clients`, a list with commas. */
export function clientsOption(): Option {
  const option = new Option(
    '--clients <names>',
    'Clients with commas between (such as claude-code,cursor), or "all" for every one that is found',
  ).argParser((text: string) =>
    text
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  );
  return completeOption(option, () => Promise.resolve(['all', ...skillClients.map(({ id }) => id)]));
}

/** What every command about one place takes. */
export interface PlaceFlags {
  readonly scope?: 'user' | 'project';
  readonly projectRoot?: string;
}

/** The members of a request that say where; a project root that is needed and not named is found here. */
export async function placeOf(
  context: CliContext,
  { scope, projectRoot }: PlaceFlags,
): Promise<{ readonly scope?: string; readonly project_root?: string }> {
  const root = projectRoot === undefined ? undefined : absolute(context, projectRoot);
  if (root === undefined && scope === 'project')
    return { scope, project_root: await requireProjectRoot(context, undefined) };
  return { ...(scope === undefined ? {} : { scope }), ...(root === undefined ? {} : { project_root: root }) };
}

/** The project that sync and upgrade work on. */
export async function requireProjectRoot(context: CliContext, named: string | undefined): Promise<string> {
  if (named !== undefined) return absolute(context, named);
  const found = await findProjectRoot(context.cwd);
  if (found !== undefined) return found;
  throw new CliError('ERR_CLI_USAGE', `${context.cwd} is not inside a git work tree, so that no project was found`, {
    hint: 'thv skill … --project-root PATH',
  });
}

const absolute = (context: CliContext, path: string): string => (isAbsolute(path) ? path : resolve(context.cwd, path));
