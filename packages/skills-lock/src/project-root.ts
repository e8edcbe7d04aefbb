import { lstat, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';
import type { Scope } from './clients.js';
import { SkillsLockError } from './errors.js';

/** The nearest folder at or above `from` that holds a `.git` folder or file; `undefined` where there is none. */
export async function findProjectRoot(from: string): Promise<string | undefined> {
  for (let folder = await realpath(from); ; folder = dirname(folder)) {
    if (await exists(join(folder, '.git'))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}

/**
 * Checks a project root that somebody named: absolute, existing, no link on the way, with `.git` inside.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_ARGUMENT`.
 */
export async function checkProjectRoot(root: string): Promise<string> {
  const refuse = (why: string) =>
    new SkillsLockError('ERR_SKILLS_LOCK_ARGUMENT', `Project root ${JSON.stringify(root)} ${why}`);
  if (root.includes('\0')) throw refuse('contains a NUL character');
  if (!isAbsolute(root)) throw refuse('must be an absolute path');
  if (root.split(/[\\/]/).includes('..')) throw refuse('must not contain ".."');
  const clean = stripEnd(normalize(root));
  const real = await realpath(clean).catch(() => {
    throw refuse('does not exist');
  });
  if (real !== clean) throw refuse(`is reached through a symbolic link; pass ${real}`);
  if (!(await stat(real)).isDirectory()) throw refuse('is not a folder');
  if (!(await exists(join(real, '.git'))))
    throw refuse('is not the root of a git work tree; run "git init" there, or pass another folder');
  return real;
}

/**
 * Scope and root of a request: a root without a scope means project scope, user scope takes no root, and project
 * scope without a root uses the git work tree around `workingFolder`.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_ARGUMENT`.
 */
export async function resolveScope(
  scope: string | undefined,
  projectRoot: string | undefined,
  workingFolder?: string,
): Promise<{ readonly scope: Scope; readonly projectRoot?: string }> {
  const wanted = scope ?? '';
  if (!['', 'user', 'project'].includes(wanted)) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      `Scope must be "user" or "project", got ${JSON.stringify(wanted)}`,
    );
  }
  const root = projectRoot === '' ? undefined : projectRoot;
  if (wanted === 'user' || (wanted === '' && root === undefined)) {
    if (root !== undefined)
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_ARGUMENT',
        'User scope takes no project root; leave one of the two out',
      );
    return { scope: 'user' };
  }
  const found = root ?? (workingFolder === undefined ? undefined : await findProjectRoot(workingFolder));
  if (found === undefined) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      'No git work tree was found around the current folder; pass --project-root',
    );
  }
  return { scope: 'project', projectRoot: await checkProjectRoot(found) };
}

const exists = async (path: string): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined;
const stripEnd = (path: string): string => (path.length > 1 && path.endsWith(sep) ? path.slice(0, -1) : path);
