import { LIMITS } from '../limits.js';
import type { SkillRequirement } from '../types.js';
import { readTexts, scalarText } from './fields.js';
import type { Field, Report } from './fields.js';

/** How a one-line list is cut. */
export type Splitting = 'parentheses' | 'plain';

/** The offsets of `text` that stand in no parentheses; everything when they do not balance. */
function outside(text: string): (index: number) => boolean {
  const depths: number[] = [];
  let depth = 0;
  for (const unit of text.split('')) {
    if (unit === '(') depth += 1;
    depths.push(depth);
    if (unit === ')') depth -= 1;
    if (depth < 0) return () => true;
  }
  return depth === 0 ? (index) => depths[index] === 0 : () => true;
}

function cut(text: string, isSeparator: (unit: string) => boolean, isOutside: (index: number) => boolean): string[] {
  const items: string[] = [];
  let item = '';
  for (let index = 0; index < text.length; index += 1) {
    const unit = text[index] as string;
    if (isSeparator(unit) && isOutside(index)) {
      items.push(item);
      item = '';
    } else {
      item += unit;
    }
  }
  return [...items, item].map((part) => part.trim()).filter((part) => part !== '');
}

/** True when a list is written with commas between its items. */
export function hasCommas(text: string, splitting: Splitting): boolean {
  const isOutside = splitting === 'plain' ? () => true : outside(text);
  return text.split('').some((unit, index) => unit === ',' && isOutside(index));
}

/** Cut a one-line list at its commas, or at white space when it has none. */
export function splitList(text: string, splitting: Splitting): readonly string[] {
  const isOutside = splitting === 'plain' ? () => true : outside(text);
  const isSeparator = hasCommas(text, splitting) ? (unit: string) => unit === ',' : (unit: string) => /\s/.test(unit);
  return cut(text, isSeparator, isOutside);
}

/** Read `allowed-tools` or `toolhive.requires`: a one-line list, or a sequence taken as it is. */
export function readList(field: Field | undefined, splitting: Splitting, report: Report): readonly string[] {
  if (field === undefined) return [];
  const text = scalarText(field.value);
  if (text !== undefined) return splitList(text, splitting);
  const texts = readTexts(field);
  if (texts === undefined) {
    report('skill/list', `\`${field.key}\` must be a text such as \`Read Grep\`, or a list of texts`, field.place);
    return [];
  }
  return texts;
}

/** Read the dependencies; the limit counts empty items too, so that a file cannot hide how many it lists. */
export function readRequirements(
  field: Field | undefined,
  metadata: string | undefined,
  splitting: Splitting,
  report: Report,
): readonly SkillRequirement[] {
  const items =
    field === undefined && metadata !== undefined ? metadata.split('\n') : readList(field, splitting, report);
  if (items.length > LIMITS.requirements) {
    const place = field?.place ?? { line: 1, column: 1 };
    report(
      'skill/requires-count',
      `\`toolhive.requires\` lists ${items.length} dependencies; at most ${LIMITS.requirements} are allowed`,
      place,
    );
    return [];
  }
  return items
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((reference) => ({ reference }));
}
