const NAME = /^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$/;

/** True for a skill name: 2 to 64 lower-case letters, digits and single hyphens, not at the ends. */
export const isSkillName = (name: string): boolean => NAME.test(name) && !name.includes('--');

/** The rule of {@link isSkillName} in words, for messages. */
export const SKILL_NAME_RULE =
  '2 to 64 lower-case letters, digits and hyphens, no hyphen at either end and no two in a row';
