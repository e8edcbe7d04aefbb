import { OciSkillsError } from './errors.js';

function describe(value: unknown): string {
  if (typeof value === 'string') return `\`${value.slice(0, 80)}\` (string)`;
  return `\`${String(value)}\` (${value === null ? 'null' : typeof value})`;
}

/** @throws OciSkillsError `ERR_OCI_SKILLS_ARGUMENT` */
export function expectArgument(condition: boolean, name: string, expected: string, value: unknown): void {
  if (condition) return;
  throw new OciSkillsError(
    'ERR_OCI_SKILLS_ARGUMENT',
    `Expected \`${name}\` to be ${expected}, got ${describe(value)}`,
    { details: { argument: name } },
  );
}

export function expectLimit(value: number | undefined, name: string, most: number): number {
  const isValid = value === undefined || (Number.isSafeInteger(value) && value > 0 && value <= most);
  expectArgument(isValid, name, `a positive integer up to ${most}`, value);
  return value ?? most;
}

export function expectDigest(value: string, name: string): void {
  expectArgument(isDigest(value), name, '`sha256:` and 64 lower-case hexadecimal digits', value);
}

export function isDigest(value: unknown): value is string {
  return typeof value === 'string' && /^sha256:[0-9a-f]{64}$/.test(value);
}

export function expectAbsolute(value: string, name: string): void {
  const isPath = typeof value === 'string' && value.length > 0 && !value.includes('\0');
  expectArgument(isPath && /^(?:\/|[A-Za-z]:[\\/]|\\\\)/.test(value), name, 'an absolute path', value);
}
