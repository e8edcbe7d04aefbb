import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SkillsLockError } from '../errors.js';
import { locked } from '../locked.js';
import type { ProcessLockOptions } from '@thv/oci-skills';
import { emptyLock, MAX_LOCK_BYTES, parseLock } from './parse.js';
import type { ReferenceRules } from './rules.js';
import { serialiseLock } from './serialise.js';
import { LOCK_FILE_NAME } from './types.js';
import type { LockFile } from './types.js';

/** What reading and writing a lock file needs to know. */
export interface LockFileOptions {
  readonly references: ReferenceRules;
  readonly signal?: AbortSignal;
}

/**
 * Reads `toolhive.lock.yaml` of a project; a missing file is an empty lock.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_FILE` or `ERR_SKILLS_LOCK_VERSION`.
 */
export async function readLock(projectRoot: string, options: LockFileOptions): Promise<LockFile> {
  const path = join(projectRoot, LOCK_FILE_NAME);
  const text = await readText(path);
  return text === undefined ? emptyLock() : parseLock(text, { path, references: options.references });
}

/**
 * Reads the lock file, lets `change` answer a new one, checks it by all rules and replaces the file in one step,
 * while no other process does the same. When `change` answers the lock that it was given, or throws, the file
 * stays as it was.
 *
 * @throws SkillsLockError as {@link readLock}, `ERR_SKILLS_LOCK_BUSY`, or `ERR_SKILLS_LOCK_WRITE`.
 */
export async function updateLock(
  projectRoot: string,
  change: (lock: LockFile) => LockFile | Promise<LockFile>,
  options: LockFileOptions & ProcessLockOptions,
): Promise<LockFile> {
  const path = join(projectRoot, LOCK_FILE_NAME);
  return await locked(
    `${path}.lock`,
    async () => {
      const before = await readLock(projectRoot, options);
      const after = await change(before);
      if (after === before) return before;
      const text = serialiseLock(after);
      const checked = parseLock(text, { path, references: options.references });
      await replaceFile(projectRoot, path, text);
      return checked;
    },
    options,
  );
}

async function readText(path: string): Promise<string | undefined> {
  await refuseLink(path);
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new SkillsLockError('ERR_SKILLS_LOCK_FILE', `${path} could not be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  try {
    const { size } = await file.stat();
    if (size > MAX_LOCK_BYTES) {
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_FILE',
        `${path} has ${size} bytes, at most ${MAX_LOCK_BYTES} are read; restore it from version control`,
      );
    }
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** A link would let the project's file point at any file of the user. */
async function refuseLink(path: string): Promise<void> {
  const entry = await lstat(path).catch(() => undefined);
  if (entry?.isSymbolicLink()) {
    throw new SkillsLockError('ERR_SKILLS_LOCK_FILE', `${path} is a symbolic link; replace it by a regular file`);
  }
}

async function replaceFile(folder: string, path: string, text: string): Promise<void> {
  const temporary = join(folder, `.toolhive.lock.${randomBytes(8).toString('hex')}.tmp`);
  try {
    const file = await open(temporary, 'wx', 0o644);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    const directory = await open(folder, 'r');
    await directory.sync().finally(() => directory.close());
  } catch (error) {
    await rm(temporary, { force: true });
    throw new SkillsLockError('ERR_SKILLS_LOCK_WRITE', `${path} could not be written: ${messageOf(error)}`, {
      cause: error,
      details: { reason: 'lock-write-failed' },
    });
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
