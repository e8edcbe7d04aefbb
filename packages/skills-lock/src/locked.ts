import { OciSkillsError, withProcessLock } from '@thv/oci-skills';
import type { ProcessLockOptions } from '@thv/oci-skills';
import { SkillsLockError } from './errors.js';

/**
 * Runs `action` under a lock between processes.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_BUSY` when another process holds it too long, `ERR_SKILLS_LOCK_WRITE` when the
 * lock cannot be created.
 */
export async function locked<T>(path: string, action: () => Promise<T>, options: ProcessLockOptions): Promise<T> {
  try {
    return await withProcessLock(path, action, options);
  } catch (error) {
    // What the action itself throws is its own affair.
    if (!OciSkillsError.is(error) || error.details.path !== path) throw error;
    if (error.code === 'ERR_OCI_SKILLS_STORE_BUSY') {
      throw new SkillsLockError('ERR_SKILLS_LOCK_BUSY', error.message, { cause: error, details: error.details });
    }
    throw new SkillsLockError('ERR_SKILLS_LOCK_WRITE', error.message, {
      cause: error,
      details: { ...error.details, reason: 'lock-write-failed' },
    });
  }
}
