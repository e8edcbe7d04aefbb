import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expectAbsolute } from './arguments.js';
import { OciSkillsError } from './errors.js';
import { walkTree } from './skill/walk.js';
import { compareUtf8, printable } from './text.js';
import type { CallOptions } from './types.js';

/** `sha256:` and the hash of `bytes` in hexadecimal. */
export function sha256(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

function refuse(path: string, why: string): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_UNSAFE_FILE',
    `The file \`${printable(path)}\` ${why}, so no content digest can be made; rename or remove it`,
    { details: { path: printable(path, 1024) } },
  );
}

function checkedPath(written: string): string {
  const path = written.replace(/^(?:\.\/)+/, '');
  const isOutside = path === '' || path === '..' || /^(?:\.\.\/|\/)|\/\.\.(?:\/|$)/.test(path);
  if (isOutside) throw refuse(written, 'does not lie below the skill');
  if (/[\u{0}-\u{1f}\u{7f}]/u.test(path)) throw refuse(written, 'has a control character in its name');
  return path;
}

/** Collects the hashes of files whose contents need not be in memory together. */
export class ContentHasher {
  readonly #hashes = new Map<string, Buffer>();

  add(path: string, hash: Buffer): void {
    const checked = checkedPath(path);
    if (this.#hashes.has(checked)) throw refuse(path, 'is named twice');
    this.#hashes.set(checked, hash);
  }

  digest(): string {
    if (this.#hashes.size === 0) throw refuse('.', 'is empty');
    const sum = createHash('sha256');
    for (const path of [...this.#hashes.keys()].sort(compareUtf8)) {
      sum
        .update(path, 'utf8')
        .update('\0')
        .update(this.#hashes.get(path) as Buffer)
        .update('\n');
    }
    return `sha256:${sum.digest('hex')}`;
  }
}

/**
 * The digest of a set of files: their paths and contents, nothing else. SHA-256 over, for each file by path in UTF-8
 * byte order, the path, a zero byte, the 32 bytes of the content's SHA-256, and a line feed.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_UNSAFE_FILE` for a path that leaves the skill or has a control character, and
 *   for no files at all
 */
export function contentDigest(files: Iterable<{ readonly path: string; readonly bytes: Uint8Array }>): string {
  const hasher = new ContentHasher();
  for (const { path, bytes } of files) hasher.add(path, createHash('sha256').update(bytes).digest());
  return hasher.digest();
}

/**
 * The content digest of the regular files below `directory`, hidden ones included. Modes, times, directories and
 * symbolic links do not count.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_ARGUMENT`, `ERR_OCI_SKILLS_UNSAFE_FILE`
 */
export async function directoryDigest(directory: string, options: CallOptions = {}): Promise<string> {
  expectAbsolute(directory, 'directory');
  const hasher = new ContentHasher();
  for (const entry of walkTree(resolve(directory), { enterHidden: true, signal: options.signal })) {
    if (entry.kind === 'invalid-name') throw refuse(entry.path, 'has a name that is not valid UTF-8');
    if (entry.kind === 'unreadable') throw refuse(entry.path, 'cannot be read');
    if (entry.kind === 'file')
      hasher.add(entry.path, createHash('sha256').update(readFileSync(entry.absolute)).digest());
  }
  return hasher.digest();
}
