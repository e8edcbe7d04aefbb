/** Every code that this package throws with; the table in `docs/errors.md` explains each. */
export type OciSkillsErrorCode =
  | 'ERR_OCI_SKILLS_ARGUMENT'
  | 'ERR_OCI_SKILLS_REFERENCE'
  | 'ERR_OCI_SKILLS_INVALID_SKILL'
  | 'ERR_OCI_SKILLS_SKILL_MISSING'
  | 'ERR_OCI_SKILLS_UNSAFE_FILE'
  | 'ERR_OCI_SKILLS_LIMIT'
  | 'ERR_OCI_SKILLS_ARCHIVE'
  | 'ERR_OCI_SKILLS_UNSAFE_ENTRY'
  | 'ERR_OCI_SKILLS_TARGET'
  | 'ERR_OCI_SKILLS_DIGEST'
  | 'ERR_OCI_SKILLS_ARTIFACT'
  | 'ERR_OCI_SKILLS_NOT_FOUND'
  | 'ERR_OCI_SKILLS_UNAUTHORIZED'
  | 'ERR_OCI_SKILLS_RATE_LIMITED'
  | 'ERR_OCI_SKILLS_REGISTRY'
  | 'ERR_OCI_SKILLS_TIMEOUT'
  | 'ERR_OCI_SKILLS_HOST'
  | 'ERR_OCI_SKILLS_CREDENTIALS'
  | 'ERR_OCI_SKILLS_STORE'
  | 'ERR_OCI_SKILLS_STORE_BUSY'
  | 'ERR_OCI_SKILLS_KEY'
  | 'ERR_OCI_SKILLS_SIGNING'
  | 'ERR_OCI_SKILLS_UNSIGNED'
  | 'ERR_OCI_SKILLS_SIGNATURE'
  | 'ERR_OCI_SKILLS_SIGNER_MISMATCH'
  | 'ERR_OCI_SKILLS_PROVENANCE_MISMATCH'
  | 'ERR_OCI_SKILLS_KEY_SIGNED'
  | 'ERR_OCI_SKILLS_KEYLESS_SIGNED'
  | 'ERR_OCI_SKILLS_FOREIGN_SIGNATURE'
  | 'ERR_OCI_SKILLS_CATALOGUE'
  | 'ERR_OCI_SKILLS_TRUST_ROOT';

const statuses: Readonly<Record<OciSkillsErrorCode, number>> = {
  ERR_OCI_SKILLS_ARGUMENT: 400,
  ERR_OCI_SKILLS_REFERENCE: 400,
  ERR_OCI_SKILLS_INVALID_SKILL: 400,
  ERR_OCI_SKILLS_SKILL_MISSING: 400,
  ERR_OCI_SKILLS_UNSAFE_FILE: 400,
  ERR_OCI_SKILLS_LIMIT: 422,
  ERR_OCI_SKILLS_ARCHIVE: 422,
  ERR_OCI_SKILLS_UNSAFE_ENTRY: 422,
  ERR_OCI_SKILLS_TARGET: 409,
  ERR_OCI_SKILLS_DIGEST: 502,
  ERR_OCI_SKILLS_ARTIFACT: 422,
  ERR_OCI_SKILLS_NOT_FOUND: 404,
  ERR_OCI_SKILLS_UNAUTHORIZED: 401,
  ERR_OCI_SKILLS_RATE_LIMITED: 429,
  ERR_OCI_SKILLS_REGISTRY: 502,
  ERR_OCI_SKILLS_TIMEOUT: 504,
  ERR_OCI_SKILLS_HOST: 400,
  ERR_OCI_SKILLS_CREDENTIALS: 400,
  ERR_OCI_SKILLS_STORE: 500,
  ERR_OCI_SKILLS_STORE_BUSY: 500,
  ERR_OCI_SKILLS_KEY: 400,
  ERR_OCI_SKILLS_SIGNING: 502,
  ERR_OCI_SKILLS_UNSIGNED: 403,
  ERR_OCI_SKILLS_SIGNATURE: 403,
  ERR_OCI_SKILLS_SIGNER_MISMATCH: 403,
  ERR_OCI_SKILLS_PROVENANCE_MISMATCH: 403,
  ERR_OCI_SKILLS_KEY_SIGNED: 403,
  ERR_OCI_SKILLS_KEYLESS_SIGNED: 403,
  ERR_OCI_SKILLS_FOREIGN_SIGNATURE: 403,
  ERR_OCI_SKILLS_CATALOGUE: 403,
  ERR_OCI_SKILLS_TRUST_ROOT: 500,
};

/** What an {@link OciSkillsError} carries beside its message. */
export interface OciSkillsErrorOptions {
  /** Names and values that a program needs to react; never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** The one error class of this package: what happened, with the value, then what to do about it. */
export class OciSkillsError extends Error {
  readonly code: OciSkillsErrorCode;
  /** The HTTP status that an API would answer with. */
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: OciSkillsErrorCode, message: string, options: OciSkillsErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'OciSkillsError';
    this.code = code;
    this.status = statuses[code];
    this.details = options.details ?? {};
  }

  /** True for an error of this class, also across two copies of the package. */
  static is(error: unknown): error is OciSkillsError {
    return error instanceof Error && error.name === 'OciSkillsError' && 'code' in error;
  }
}
