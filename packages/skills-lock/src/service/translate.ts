import { OciSkillsError } from '@thv/oci-skills';
import type { OciSkillsErrorCode } from '@thv/oci-skills';
import { SkillsLockError } from '../errors.js';
import type { FailureReason, SkillsLockErrorCode } from '../errors.js';

const codesByStatus: ReadonlyMap<number, SkillsLockErrorCode> = new Map([
  [400, 'ERR_SKILLS_LOCK_ARGUMENT'],
  [401, 'ERR_SKILLS_LOCK_UNAUTHORIZED'],
  [403, 'ERR_SKILLS_LOCK_REFUSED'],
  [404, 'ERR_SKILLS_LOCK_NOT_FOUND'],
  [409, 'ERR_SKILLS_LOCK_CONFLICT'],
  [422, 'ERR_SKILLS_LOCK_INVALID_SKILL'],
  [429, 'ERR_SKILLS_LOCK_RATE_LIMITED'],
  [500, 'ERR_SKILLS_LOCK_STORE'],
  [502, 'ERR_SKILLS_LOCK_UNREACHABLE'],
  [504, 'ERR_SKILLS_LOCK_TIMEOUT'],
]);

const reasons: Partial<Record<OciSkillsErrorCode, FailureReason>> = {
  ERR_OCI_SKILLS_SIGNATURE: 'signature-invalid',
  ERR_OCI_SKILLS_FOREIGN_SIGNATURE: 'signature-invalid',
  ERR_OCI_SKILLS_SIGNER_MISMATCH: 'signer-mismatch',
  ERR_OCI_SKILLS_PROVENANCE_MISMATCH: 'provenance-field-mismatch',
  ERR_OCI_SKILLS_CATALOGUE: 'signer-mismatch',
  ERR_OCI_SKILLS_UNSIGNED: 'unsigned-rejected',
  ERR_OCI_SKILLS_KEY_SIGNED: 'key-signed',
  ERR_OCI_SKILLS_KEYLESS_SIGNED: 'keyless-signed',
};

/** An error of the artifact library as one of this package, with its reason; anything else as it is. */
export function translate(error: unknown): unknown {
  if (!OciSkillsError.is(error)) return error;
  const reason = reasons[error.code];
  return new SkillsLockError(codesByStatus.get(error.status) ?? 'ERR_SKILLS_LOCK_STORE', error.message, {
    cause: error,
    details: { ...error.details, cause: error.code, ...(reason === undefined ? {} : { reason }) },
  });
}

/** Runs `action` and translates what it throws. */
export async function translated<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw translate(error);
  }
}

/** The reason that reports give for an error: its own, or what its status says. */
export function reasonOf(error: unknown): FailureReason {
  const known = translate(error);
  if (!SkillsLockError.is(known)) return 'unknown';
  const own = known.details.reason;
  if (typeof own === 'string') return own as FailureReason;
  switch (known.status) {
    case 502:
    case 504:
    case 429:
      return 'registry-unreachable';
    case 404:
      return 'digest-missing';
    case 400:
    case 409:
    case 422:
      return 'validation-rejected';
    default:
      return 'unknown';
  }
}
