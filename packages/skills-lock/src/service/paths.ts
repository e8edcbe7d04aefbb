import { lstat, readdir, realpath, rmdir } from 'node:fs/promises';
import { dirname, relative, sep } from 'node:path';
import { skillFolder, skillsFolder } from '../clients.js';
import type { ClientPlace, Scope } from '../clients.js';
import { SkillsLockError } from '../errors.js';
import { isSkillName } from '../skill-name.js';
import type { ServiceContext } from './context.js';

/** One folder that a skill is written to, and the clients that read it there. */
export interface SkillTarget {
  readonly folder: string;
  readonly clients: readonly string[];
}

/** Where a request's skills go. */
export interface Place {
  readonly scope: Scope;
  readonly projectRoot?: string;
}

const MIN_DEPTH = 4;

/** The place as the client table takes it. */
export function clientPlace(context: ServiceContext, place: Place): ClientPlace {
  return { ...place, home: context.home, ...(context.platform ? { platform: context.platform } : {}) };
}

/** The folders of a skill, each once: several clients share one. */
export function targetsOf(
  context: ServiceContext,
  name: string,
  clients: readonly string[],
  place: Place,
): readonly SkillTarget[] {
  const byFolder = new Map<string, string[]>();
  for (const client of clients) {
    const folder = skillFolder(client, name, clientPlace(context, place));
    byFolder.set(folder, [...(byFolder.get(folder) ?? []), client]);
  }
  return [...byFolder].map(([folder, sharing]) => ({ folder, clients: sharing }));
}

/** The folder that must not be left when a target is written or removed: home or project root. */
export const baseOf = (context: ServiceContext, place: Place): string => place.projectRoot ?? context.home;

/**
 * Checks that a folder may be removed: the folder of a skill of a known client, no link, not shallow.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_UNSAFE_PATH`.
 */
export async function checkRemovable(
  context: ServiceContext,
  folder: string,
  name: string,
  client: string,
  place: Place,
): Promise<void> {
  const refuse = (why: string) =>
    new SkillsLockError(
      'ERR_SKILLS_LOCK_UNSAFE_PATH',
      `${folder} is not removed: ${why}. Remove it by hand if you are sure`,
    );
  if (!isSkillName(name) || folder !== skillFolder(client, name, clientPlace(context, place)))
    throw refuse('it is no folder of a skill');
  const entry = await lstat(folder).catch(() => undefined);
  if (entry === undefined) return;
  if (entry.isSymbolicLink()) throw refuse('it is a symbolic link');
  const real = await realpath(folder);
  if (real.split(sep).filter(Boolean).length < MIN_DEPTH) throw refuse(`it lies less than ${MIN_DEPTH} folders deep`);
  const base = await realpath(baseOf(context, place));
  if (real === base || relative(base, real).startsWith('..')) throw refuse(`it leads out of ${base}`);
}

/** Removes folders that became empty, from the client's folder of skills up to the base, which stays. */
export async function removeEmptyParents(context: ServiceContext, client: string, place: Place): Promise<void> {
  const base = baseOf(context, place);
  for (
    let folder = skillsFolder(client, clientPlace(context, place));
    folder !== base && folder.startsWith(base);
    folder = dirname(folder)
  ) {
    const names = await readdir(folder).catch(() => undefined);
    if (names === undefined || names.length > 0) return;
    await rmdir(folder);
  }
}
