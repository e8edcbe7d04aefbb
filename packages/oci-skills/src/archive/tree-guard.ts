import { expectLimit } from '../arguments.js';
import { OciSkillsError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { printable } from '../text.js';
import type { SkillDiagnostic } from '../types.js';
import { collisionKey, isHidden, pathFault } from './path-rules.js';

/** Limits of a {@link TreeGuard}, never above {@link LIMITS}. */
export interface TreeGuardOptions {
  /** @defaultValue 1000 */
  readonly maxFiles?: number;
  /** @defaultValue 500 MiB */
  readonly maxTotalBytes?: number;
}

/**
 * Checks one tree of files, entry by entry and before anything is written: paths that escape or that some file
 * system cannot hold, names that fall together, counts and sizes. For archives and git trees alike.
 */
export interface TreeGuard {
  /**
   * The path as it may be written.
   *
   * @throws OciSkillsError `ERR_OCI_SKILLS_UNSAFE_ENTRY`, `ERR_OCI_SKILLS_LIMIT`
   */
  addFile(path: string, size: number): string;
  /** @throws OciSkillsError `ERR_OCI_SKILLS_UNSAFE_ENTRY`, `ERR_OCI_SKILLS_LIMIT` */
  addDirectory(path: string): void;
  /** @throws OciSkillsError `ERR_OCI_SKILLS_SKILL_MISSING` when no SKILL.md stood at the root */
  finish(): void;
  readonly warnings: readonly SkillDiagnostic[];
}

function unsafe(path: string, why: string): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_UNSAFE_ENTRY',
    `The entry \`${printable(path)}\` ${why}; ask the publisher for a skill without it`,
    { details: { path: printable(path, 1024) } },
  );
}

function tooMuch(what: string, most: number): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_LIMIT',
    `The skill has more than ${most} ${what}; ask the publisher for a smaller one`,
    { details: { limit: most, what } },
  );
}

class Guard implements TreeGuard {
  readonly warnings: SkillDiagnostic[] = [];
  /** Path as first written, and its kind, by collision key. */
  readonly #seen = new Map<string, { readonly path: string; readonly isFile: boolean }>();
  readonly #maxFiles: number;
  readonly #maxTotalBytes: number;
  #files = 0;
  #entries = 0;
  #total = 0;

  constructor(options: TreeGuardOptions) {
    this.#maxFiles = expectLimit(options.maxFiles, 'maxFiles', LIMITS.files);
    this.#maxTotalBytes = expectLimit(options.maxTotalBytes, 'maxTotalBytes', LIMITS.totalBytes);
  }

  addFile(written: string, size: number): string {
    this.#countEntry();
    this.#files += 1;
    if (this.#files > this.#maxFiles) throw tooMuch('files', this.#maxFiles);
    const path = this.#checked(written);
    if (!Number.isSafeInteger(size) || size < 0) throw unsafe(path, 'has no valid size');
    if (size > LIMITS.fileBytes) throw tooMuch(`bytes in \`${printable(path)}\``, LIMITS.fileBytes);
    this.#total += size;
    if (this.#total > this.#maxTotalBytes) throw tooMuch('bytes in its files', this.#maxTotalBytes);
    this.#addParents(path);
    const other = this.#seen.get(collisionKey(path));
    if (other !== undefined) throw unsafe(path, `falls together with \`${printable(other.path)}\``);
    this.#seen.set(collisionKey(path), { path, isFile: true });
    if (isHidden(path)) this.#warnHidden(path);
    return path;
  }

  addDirectory(written: string): void {
    this.#countEntry();
    const path = this.#checked(written.endsWith('/') ? written.slice(0, -1) : written, true);
    if (path === '') return;
    this.#addParents(path);
    this.#register(path);
  }

  finish(): void {
    const main = this.#seen.get(collisionKey('SKILL.md'));
    if (main?.path === 'SKILL.md' && main.isFile) return;
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_SKILL_MISSING',
      'There is no file SKILL.md at the root of the skill; ask the publisher for a complete one',
    );
  }

  #countEntry(): void {
    this.#entries += 1;
    if (this.#entries > LIMITS.entries) throw tooMuch('entries', LIMITS.entries);
  }

  #checked(written: string, isDirectory = false): string {
    const path = written.replace(/^(?:\.\/)+/, '');
    if (isDirectory && (path === '' || path === '.') && written !== '') return '';
    const fault = pathFault(path);
    if (fault !== undefined) throw unsafe(written, fault);
    return path;
  }

  #addParents(path: string): void {
    for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) this.#register(path.slice(0, at));
  }

  #register(directory: string): void {
    const key = collisionKey(directory);
    const other = this.#seen.get(key);
    if (other === undefined) {
      this.#seen.set(key, { path: directory, isFile: false });
      if (this.#seen.size > LIMITS.entries) throw tooMuch('entries', LIMITS.entries);
    } else if (other.isFile || other.path !== directory) {
      throw unsafe(directory, `falls together with \`${printable(other.path)}\``);
    }
  }

  #warnHidden(path: string): void {
    const message = `\`${printable(path)}\` is hidden; file managers and many tools do not show it`;
    this.warnings.push({ rule: 'skill/hidden-file', severity: 'warning', message, file: path });
  }
}

/** A guard for one tree. */
export function createTreeGuard(options: TreeGuardOptions = {}): TreeGuard {
  return new Guard(options);
}
