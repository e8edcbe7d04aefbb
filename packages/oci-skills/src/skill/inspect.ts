import { readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { collisionKey, pathFault } from '../archive/path-rules.js';
import { LIMITS } from '../limits.js';
import { printable } from '../text.js';
import type { SkillDiagnostic, SkillFileOptions, SkillValidation } from '../types.js';
import { checkSkillFile } from './skill-file.js';
import { walkTree } from './walk.js';
import type { TreeEntry } from './walk.js';

/** A validated directory with the files that belong to the skill. */
export interface InspectedSkill {
  readonly validation: SkillValidation;
  readonly files: readonly TreeEntry[];
}

function finding(severity: SkillDiagnostic['severity'], rule: string, file: string, message: string): SkillDiagnostic {
  return { rule, severity, message, file: printable(file, 400) };
}

const faults: Readonly<Partial<Record<TreeEntry['kind'], readonly [rule: string, message: string]>>> = {
  symlink: ['skill/symlink', 'is a symbolic link; replace it by the file itself'],
  special: ['skill/special-file', 'is no regular file; remove it'],
  'invalid-name': ['skill/file-name', 'has a name that is not valid UTF-8; rename it'],
  unreadable: ['skill/unreadable', 'cannot be read; correct its permissions'],
};

function checkEntry(entry: TreeEntry, seen: Map<string, string>): SkillDiagnostic | undefined {
  const shown = printable(entry.path);
  const fault = faults[entry.kind];
  if (fault !== undefined) return finding('error', fault[0], entry.path, `\`${shown}\` ${fault[1]}`);
  if (entry.kind === 'hidden') {
    return finding(
      'warning',
      'skill/hidden-file',
      entry.path,
      `\`${shown}\` is hidden and does not become part of the skill`,
    );
  }
  const why = pathFault(entry.path);
  if (why !== undefined) return finding('error', 'skill/file-name', entry.path, `\`${shown}\` ${why}; rename it`);
  const key = collisionKey(entry.path);
  const other = seen.get(key);
  seen.set(key, entry.path);
  if (other === undefined) return undefined;
  return finding(
    'error',
    'skill/file-collision',
    entry.path,
    `\`${shown}\` and \`${printable(other)}\` are one file where case does not count; rename one`,
  );
}

function checkSizes(files: readonly TreeEntry[]): readonly SkillDiagnostic[] {
  const errors: SkillDiagnostic[] = [];
  if (files.length > LIMITS.files) {
    errors.push(
      finding(
        'error',
        'skill/file-count',
        '.',
        `the skill has ${files.length} files; at most ${LIMITS.files} are allowed`,
      ),
    );
  }
  let total = 0;
  for (const file of files) total += statSync(file.absolute, { throwIfNoEntry: false })?.size ?? 0;
  if (total > LIMITS.buildBytes) {
    errors.push(
      finding('error', 'skill/size', '.', `the skill has ${total} bytes; at most ${LIMITS.buildBytes} can be built`),
    );
  }
  return errors;
}

function checkTree(directory: string, signal: AbortSignal | undefined) {
  const entries = walkTree(directory, { enterHidden: false, signal });
  const seen = new Map<string, string>();
  const found = entries.flatMap((entry) => checkEntry(entry, seen) ?? []);
  const files = entries.filter((entry) => entry.kind === 'file');
  const errors = [...found.filter(({ severity }) => severity === 'error'), ...checkSizes(files)];
  return { files, errors, warnings: found.filter(({ severity }) => severity === 'warning') };
}

function missing(files: readonly TreeEntry[]): SkillDiagnostic {
  const other = files.find(({ path }) => path.toLowerCase() === 'skill.md');
  const advice =
    other === undefined
      ? 'create one with `name` and `description`'
      : `rename \`${printable(other.path)}\` to \`SKILL.md\``;
  return finding('error', 'skill/missing', 'SKILL.md', `there is no SKILL.md; ${advice}`);
}

/** Read and judge a skill directory, and list its files. */
export function inspectDirectory(
  directory: string,
  options: SkillFileOptions & { readonly signal?: AbortSignal | undefined },
): InspectedSkill {
  const tree = checkTree(directory, options.signal);
  const main = tree.files.find(({ path }) => path === 'SKILL.md');
  if (main === undefined) {
    const errors = [missing(tree.files), ...tree.errors];
    return { validation: { valid: false, errors, warnings: tree.warnings }, files: tree.files };
  }
  const source = readFileSync(join(directory, 'SKILL.md'));
  const { skill, errors, warnings } = checkSkillFile(source, options);
  const all = [...errors, ...tree.errors];
  const advice = [...warnings, ...tree.warnings];
  if (skill === undefined) return { validation: { valid: false, errors: all, warnings: advice }, files: tree.files };
  const expected = basename(directory);
  if (skill.name !== '' && skill.name !== expected) {
    const message = `\`name\` is \`${printable(skill.name)}\` but the directory is \`${printable(expected)}\`; give both one name`;
    all.push({ rule: 'skill/name-directory', severity: 'error', message, file: 'SKILL.md', ...placeOfName(source) });
  }
  return {
    validation: { valid: all.length === 0, skill, errors: all, warnings: advice },
    files: tree.files,
  };
}

/** Where the value of `name` stands; the rule needs the directory, which the reader of the file does not know. */
function placeOfName(source: Uint8Array): { readonly line: number; readonly column: number } {
  const lines = Buffer.from(source).toString().split(/\r?\n/);
  const index = lines.findIndex((line) => /^name\s*:/.test(line));
  if (index < 0) return { line: 1, column: 1 };
  return { line: index + 1, column: (/^name\s*:\s*/.exec(lines[index] ?? '')?.[0].length ?? 0) + 1 };
}
