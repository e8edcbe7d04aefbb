import { printable } from '../text.js';
import { scalarText } from './fields.js';
import type { Fields, Report } from './fields.js';

const known: ReadonlySet<string> = new Set([
  'name',
  'description',
  'version',
  'allowed-tools',
  'toolhive.requires',
  'license',
  'compatibility',
  'metadata',
]);
/** Fields that this project adds to those of the Agent Skills specification. */
const additions: ReadonlySet<string> = new Set(['version', 'toolhive.requires']);

/** Length limits in characters. @see https://agentskills.io/specification */
const DESCRIPTION_LENGTH = 1024;
const COMPATIBILITY_LENGTH = 500;

/** Where errors and warnings go. */
export interface Reports {
  readonly error: Report;
  readonly warning: Report;
}

const namePattern = /^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$/;

function nameFault(name: string): readonly [rule: string, message: string] | undefined {
  const shown = printable(name);
  if (name === '') return ['skill/name-required', '`name` is missing; add `name:` with the name of the directory'];
  if (name.length < 2 || name.length > 64) {
    return ['skill/name-length', `\`name\` is \`${shown}\`, ${name.length} characters long; it must have 2 to 64`];
  }
  if (!namePattern.test(name)) {
    return [
      'skill/name-format',
      `\`name\` is \`${shown}\`; use lower-case letters, digits and hyphens, and begin and end with a letter or digit`,
    ];
  }
  if (name.includes('--'))
    return ['skill/name-hyphens', `\`name\` is \`${shown}\`; two hyphens in a row are not allowed`];
  return undefined;
}

const start = { line: 1, column: 1 };

function checkLength(fields: Fields, key: string, value: string, most: number, reports: Reports): void {
  const place = fields.get(key)?.place ?? start;
  const length = [...value].length;
  if (length > most) {
    reports.error(`skill/${key}-length`, `\`${key}\` has ${length} characters; at most ${most} are allowed`, place);
  } else if (Buffer.byteLength(value) > most) {
    reports.warning(
      `skill/${key}-bytes`,
      `\`${key}\` has ${length} characters but ${Buffer.byteLength(value)} bytes; programs that count bytes refuse more than ${most}`,
      place,
    );
  }
}

/** Read a text field; anything else is reported and read as `''`. */
export function readText(fields: Fields, key: string, reports: Reports): string {
  const field = fields.get(key);
  const text = scalarText(field?.value);
  if (text !== undefined) return text;
  reports.error(
    'skill/field-type',
    `\`${key}\` must be a text; put it in quotes or below \`>-\``,
    field?.place ?? start,
  );
  return '';
}

export function checkName(fields: Fields, name: string, reports: Reports): void {
  const fault = nameFault(name);
  if (fault !== undefined) reports.error(fault[0], fault[1], fields.get('name')?.place ?? start);
}

export function checkTexts(fields: Fields, description: string, compatibility: string, reports: Reports): void {
  if (description.trim() === '') {
    const message = '`description` is missing or empty; say what the skill does and when to use it';
    reports.error('skill/description-required', message, fields.get('description')?.place ?? start);
  }
  checkLength(fields, 'description', description, DESCRIPTION_LENGTH, reports);
  checkLength(fields, 'compatibility', compatibility, COMPATIBILITY_LENGTH, reports);
}

/** Unknown fields are left alone, since clients define their own; near misses of known ones are pointed out. */
export function checkUnknownFields(fields: Fields, isStrict: boolean, reports: Reports): void {
  for (const { key, keyPlace: place } of fields.values()) {
    const shown = printable(key, 60);
    if (isStrict && (!known.has(key) || additions.has(key))) {
      reports.error(
        'skill/unknown-field',
        `\`${shown}\` is no field of the Agent Skills specification; put it below \`metadata\``,
        place,
      );
    } else if (!known.has(key)) {
      const meant = key.toLowerCase().replaceAll('_', '-');
      if (known.has(meant))
        reports.warning('skill/unknown-field', `\`${shown}\` is ignored; did you mean \`${meant}\`?`, place);
    }
  }
}
