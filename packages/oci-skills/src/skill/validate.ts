import { resolve } from 'node:path';
import { expectAbsolute } from '../arguments.js';
import { OciSkillsError } from '../errors.js';
import { printable } from '../text.js';
import type { SkillValidation, ValidateSkillOptions } from '../types.js';
import { inspectDirectory } from './inspect.js';
import type { InspectedSkill } from './inspect.js';
import { isDirectory } from './walk.js';

/** Like {@link validateSkill}, with the files that belong to the skill. */
export function inspectSkill(directory: string, options: ValidateSkillOptions): InspectedSkill {
  options.signal?.throwIfAborted();
  expectAbsolute(directory, 'directory');
  const path = resolve(directory);
  if (!isDirectory(path)) {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_SKILL_MISSING',
      `\`${printable(path)}\` is no directory; name the directory that holds SKILL.md`,
      { details: { directory: path } },
    );
  }
  try {
    return inspectDirectory(path, options);
  } catch (error) {
    if (OciSkillsError.is(error) || options.signal?.aborted === true) throw error;
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_UNSAFE_FILE',
      `The skill in \`${printable(path)}\` cannot be read: ${(error as Error).message}; correct its permissions`,
      { cause: error, details: { directory: path } },
    );
  }
}

/**
 * Judge a skill directory: its SKILL.md by the rules of the Agent Skills specification, and its files by what can be
 * packed and installed everywhere. `directory` is absolute. An invalid skill is a result, not an exception.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_ARGUMENT`, `ERR_OCI_SKILLS_SKILL_MISSING` when there is no such directory,
 *   `ERR_OCI_SKILLS_LIMIT` when it holds far too much, `ERR_OCI_SKILLS_UNSAFE_FILE` when it cannot be read
 * @see https://agentskills.io/specification
 */
export async function validateSkill(directory: string, options: ValidateSkillOptions = {}): Promise<SkillValidation> {
  return inspectSkill(directory, options).validation;
}
