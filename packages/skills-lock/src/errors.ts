/** Every code that this package throws with; the table in `docs/errors.md` explains each. */
export type SkillsLockErrorCode =
  | 'ERR_SKILLS_LOCK_ARGUMENT'
  | 'ERR_SKILLS_LOCK_NOT_FOUND'
  | 'ERR_SKILLS_LOCK_CONFLICT'
  | 'ERR_SKILLS_LOCK_INVALID_SKILL'
  | 'ERR_SKILLS_LOCK_UNAUTHORIZED'
  | 'ERR_SKILLS_LOCK_REFUSED'
  | 'ERR_SKILLS_LOCK_RATE_LIMITED'
  | 'ERR_SKILLS_LOCK_UNREACHABLE'
  | 'ERR_SKILLS_LOCK_TIMEOUT'
  | 'ERR_SKILLS_LOCK_FILE'
  | 'ERR_SKILLS_LOCK_VERSION'
  | 'ERR_SKILLS_LOCK_BUSY'
  | 'ERR_SKILLS_LOCK_WRITE'
  | 'ERR_SKILLS_LOCK_STORE'
  | 'ERR_SKILLS_LOCK_UNSAFE_PATH';

/**
 * Why a trust decision refused, or what made an operation on one skill fail; `details.reason` of an error.
 * The names are those that `sync` and `upgrade` report.
 */
export type FailureReason =
  | 'registry-unreachable'
  | 'digest-missing'
  | 'validation-rejected'
  | 'lock-write-failed'
  | 'signature-invalid'
  | 'signer-mismatch'
  | 'provenance-field-mismatch'
  | 'unsigned-rejected'
  | 'key-signed'
  | 'keyless-signed'
  | 'unknown';

const statuses: Readonly<Record<SkillsLockErrorCode, number>> = {
  ERR_SKILLS_LOCK_ARGUMENT: 400,
  ERR_SKILLS_LOCK_NOT_FOUND: 404,
  ERR_SKILLS_LOCK_CONFLICT: 409,
  ERR_SKILLS_LOCK_INVALID_SKILL: 422,
  ERR_SKILLS_LOCK_UNAUTHORIZED: 401,
  ERR_SKILLS_LOCK_REFUSED: 403,
  ERR_SKILLS_LOCK_RATE_LIMITED: 429,
  ERR_SKILLS_LOCK_UNREACHABLE: 502,
  ERR_SKILLS_LOCK_TIMEOUT: 504,
  ERR_SKILLS_LOCK_FILE: 500,
  ERR_SKILLS_LOCK_VERSION: 500,
  ERR_SKILLS_LOCK_BUSY: 500,
  ERR_SKILLS_LOCK_WRITE: 500,
  ERR_SKILLS_LOCK_STORE: 500,
  ERR_SKILLS_LOCK_UNSAFE_PATH: 400,
};

/** True for one of the codes above. */
export const isSkillsLockErrorCode = (text: string): text is SkillsLockErrorCode => Object.hasOwn(statuses, text);

/** The one error class of this package. */
export class SkillsLockError extends Error {
  readonly code: SkillsLockErrorCode;
  /** The HTTP status that an API answers with. */
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: SkillsLockErrorCode,
    message: string,
    options: { readonly details?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SkillsLockError';
    this.code = code;
    this.status = statuses[code];
    this.details = options.details ?? {};
  }

  /** True for an error of this class, also across two copies of the package. */
  static is(error: unknown): error is SkillsLockError {
    return error instanceof Error && error.name === 'SkillsLockError' && 'code' in error;
  }
}
