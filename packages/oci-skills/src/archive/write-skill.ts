import { createHash } from 'node:crypto';
import { expectAbsolute } from '../arguments.js';
import { ContentHasher } from '../content-digest.js';
import type { SkillFile, SkillFileContent, UnpackedSkill, WriteSkillOptions } from '../types.js';
import { checkExpectedName } from './layer.js';
import { Staging } from './staging.js';
import { createTreeGuard } from './tree-guard.js';

interface CheckedFile extends SkillFile {
  readonly bytes: Buffer;
}

/**
 * Write a skill's files to `directory`, by the rules and in the way of `unpackSkill`: for files that did not come in a
 * layer. `directory` is absolute.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_UNSAFE_ENTRY`, `ERR_OCI_SKILLS_LIMIT`, `ERR_OCI_SKILLS_SKILL_MISSING`,
 *   `ERR_OCI_SKILLS_INVALID_SKILL`, `ERR_OCI_SKILLS_TARGET`, `ERR_OCI_SKILLS_ARGUMENT`
 */
export async function writeSkill(
  files: Iterable<Pick<SkillFileContent, 'path' | 'bytes'>>,
  directory: string,
  options: WriteSkillOptions = {},
): Promise<UnpackedSkill> {
  options.signal?.throwIfAborted();
  expectAbsolute(directory, 'directory');
  const guard = createTreeGuard();
  const hasher = new ContentHasher();
  const checked: CheckedFile[] = [];
  for (const { path: written, bytes } of files) {
    const path = guard.addFile(written, bytes.length);
    hasher.add(path, createHash('sha256').update(bytes).digest());
    checked.push({ path, size: bytes.length, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) });
  }
  guard.finish();
  const skillFile = checked.find(({ path }) => path === 'SKILL.md')?.bytes ?? Buffer.alloc(0);
  checkExpectedName(skillFile, options.expectedName);
  const staging = new Staging(directory, options);
  try {
    for (const { path, bytes } of checked) {
      options.signal?.throwIfAborted();
      staging.open(path);
      staging.write(bytes);
      staging.close();
    }
    staging.commit();
  } finally {
    staging.discard();
  }
  return {
    directory: staging.target,
    files: checked.map(({ path, size }) => ({ path, size })),
    totalBytes: checked.reduce((sum, { size }) => sum + size, 0),
    contentDigest: hasher.digest(),
    diffId: '',
    skillFile,
    warnings: guard.warnings,
  };
}
