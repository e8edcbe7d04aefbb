import { OciSkillsError } from '../errors.js';

/** An archive that is damaged or that this package refuses to interpret. */
export function archiveFault(why: string, cause?: unknown): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_ARCHIVE',
    `The layer is no valid skill archive: ${why}; pull it again, or ask the publisher for a new build`,
    { cause, details: { reason: why } },
  );
}

export function limitFault(what: string, limit: number): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_LIMIT',
    `The layer ${what}, and the limit is ${limit}; ask the publisher for a smaller skill`,
    { details: { limit, what } },
  );
}
