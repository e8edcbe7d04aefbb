import { lstatSync, readdirSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { OciSkillsError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { compareUtf8, printable } from '../text.js';

/** What stands in a directory tree. `absolute` is where it is on this machine. */
export interface TreeEntry {
  readonly path: string;
  readonly absolute: string;
  readonly kind: 'file' | 'symlink' | 'special' | 'hidden' | 'invalid-name' | 'unreadable';
}

/** Options of {@link walkTree}. */
export interface WalkOptions {
  /** Whether names that begin with a dot are walked as any other, or reported as `hidden` and not entered. */
  readonly enterHidden: boolean;
  readonly signal?: AbortSignal | undefined;
}

// Ten times what a skill may hold: enough to report everything, not enough to walk a whole disk.
const MOST_ENTRIES = LIMITS.files * 10;

function kindOf(entry: Dirent<Buffer>): TreeEntry['kind'] | 'directory' {
  if (entry.isSymbolicLink()) return 'symlink';
  if (entry.isDirectory()) return 'directory';
  return entry.isFile() ? 'file' : 'special';
}

class Walk {
  readonly entries: TreeEntry[] = [];
  readonly #options: WalkOptions;
  #count = 0;

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  visit(directory: string, prefix: string): void {
    this.#options.signal?.throwIfAborted();
    let children: Dirent<Buffer>[];
    try {
      children = readdirSync(directory, { withFileTypes: true, encoding: 'buffer' });
    } catch (error) {
      if (prefix === '') throw error;
      this.entries.push({ path: prefix.slice(0, -1), absolute: directory, kind: 'unreadable' });
      return;
    }
    for (const child of children) this.#add(directory, prefix, child);
  }

  #add(directory: string, prefix: string, child: Dirent<Buffer>): void {
    this.#count += 1;
    if (this.#count > MOST_ENTRIES) {
      throw new OciSkillsError(
        'ERR_OCI_SKILLS_LIMIT',
        `\`${printable(directory)}\` holds more than ${MOST_ENTRIES} files and directories; a skill may have ${LIMITS.files} files`,
        { details: { limit: MOST_ENTRIES } },
      );
    }
    const name = child.name.toString('utf8');
    const path = prefix + name;
    const absolute = join(directory, name);
    if (!Buffer.from(name).equals(child.name)) {
      this.entries.push({ path, absolute, kind: 'invalid-name' });
      return;
    }
    const kind = kindOf(child);
    if (kind !== 'symlink' && name.startsWith('.') && !this.#options.enterHidden) {
      this.entries.push({ path, absolute, kind: 'hidden' });
    } else if (kind === 'directory') {
      this.visit(absolute, `${path}/`);
    } else {
      this.entries.push({ path, absolute, kind });
    }
  }
}

/** Everything below `directory` but its directories, by path in UTF-8 byte order. Symbolic links are not followed. */
export function walkTree(directory: string, options: WalkOptions): readonly TreeEntry[] {
  const walk = new Walk(options);
  walk.visit(directory, '');
  return walk.entries.sort((left, right) => compareUtf8(left.path, right.path));
}

/** True for a directory that is no symbolic link. */
export function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
