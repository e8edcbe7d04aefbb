import { OciSkillsError } from '../errors.js';
import type { Skill, SkillDiagnostic, SkillFileOptions, SkillFileReport } from '../types.js';
import { readFields, readTextMap, scalarText } from './fields.js';
import type { Fields, Report } from './fields.js';
import { splitFrontMatter } from './front-matter.js';
import { hasCommas, readList, readRequirements } from './lists.js';
import { checkName, checkTexts, checkUnknownFields, readText } from './rules.js';
import type { Reports } from './rules.js';

/** Lines after which a SKILL.md should be split into files that are read on demand. */
const ADVISED_LINES = 500;
const FILE = 'SKILL.md';

function collect(list: SkillDiagnostic[], severity: 'error' | 'warning'): Report {
  return (rule, message, { line, column }) => list.push({ rule, severity, message, file: FILE, line, column });
}

function readSkillFields(fields: Fields, body: string, options: SkillFileOptions, reports: Reports): Skill {
  const splitting = options.toolSplitting ?? 'parentheses';
  const name = readText(fields, 'name', reports);
  const description = readText(fields, 'description', reports);
  const compatibility = readText(fields, 'compatibility', reports);
  checkName(fields, name, reports);
  checkTexts(fields, description, compatibility, reports);
  checkUnknownFields(fields, options.strict ?? false, reports);
  const metadataField = fields.get('metadata');
  const metadata = metadataField === undefined ? new Map<string, string>() : readTextMap(metadataField, reports.error);
  const tools = fields.get('allowed-tools');
  const toolsText = scalarText(tools?.value);
  if (tools !== undefined && toolsText !== undefined && hasCommas(toolsText, splitting)) {
    reports.warning(
      'skill/allowed-tools-commas',
      '`allowed-tools` is separated by commas; the Agent Skills specification separates by spaces',
      tools.place,
    );
  }
  return {
    name,
    description,
    version: readText(fields, 'version', reports),
    license: readText(fields, 'license', reports),
    compatibility,
    allowedTools: readList(tools, splitting, reports.error),
    requires: readRequirements(
      fields.get('toolhive.requires'),
      metadata.get('toolhive.requires'),
      splitting,
      reports.error,
    ),
    metadata,
    body,
  };
}

/**
 * Read a SKILL.md and say what is wrong with it, with line and column. Never throws for what the file contains.
 *
 * @see https://agentskills.io/specification
 */
export function checkSkillFile(source: Uint8Array | string, options: SkillFileOptions = {}): SkillFileReport {
  const errors: SkillDiagnostic[] = [];
  const warnings: SkillDiagnostic[] = [];
  const reports: Reports = { error: collect(errors, 'error'), warning: collect(warnings, 'warning') };
  const split = splitFrontMatter(source);
  if ('rule' in split) {
    reports.error(split.rule, split.message, split);
    return { errors, warnings: [] };
  }
  const fields = readFields(split.yaml, split.linesBefore, reports.error);
  if (fields === undefined) return { errors, warnings: [] };
  if (split.hasByteOrderMark) {
    reports.warning(
      'skill/byte-order-mark',
      'the file starts with a byte order mark, which some clients take for text; save it without',
      { line: 1, column: 1 },
    );
  }
  const skill = readSkillFields(fields, split.body, options, reports);
  if (split.lineCount > ADVISED_LINES) {
    const message = `SKILL.md has ${split.lineCount} lines; keep it below ${ADVISED_LINES} and move details into files that it points to`;
    reports.warning('skill/length', message, { line: ADVISED_LINES + 1, column: 1 });
  }
  return { skill, errors, warnings };
}

/** One line a finding: `SKILL.md:3:5: message`. */
export function formatDiagnostic({ file, line, column, message }: SkillDiagnostic): string {
  return line === undefined ? `${file}: ${message}` : `${file}:${line}:${column ?? 1}: ${message}`;
}

/**
 * Read a SKILL.md that must be valid.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_INVALID_SKILL`, with every finding in `details.diagnostics`
 */
export function parseSkill(source: Uint8Array | string, options: SkillFileOptions = {}): Skill {
  const { skill, errors } = checkSkillFile(source, options);
  if (skill !== undefined && errors.length === 0) return skill;
  throw invalidSkill(errors);
}

/** The error that lists all findings of an invalid skill. */
export function invalidSkill(errors: readonly SkillDiagnostic[], where = ''): OciSkillsError {
  const lines = errors.map(formatDiagnostic).join('\n');
  return new OciSkillsError('ERR_OCI_SKILLS_INVALID_SKILL', `The skill${where} is not valid:\n${lines}`, {
    details: { diagnostics: errors },
  });
}
