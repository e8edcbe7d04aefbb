// A skill of 1,000 files and 50 MB: six of ten hold text, the others bytes that do not compress.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const FILES = 1_000;
const FILE_BYTES = 50_000;

/** Writes the skill below `folder` and answers its files, sorted: path below the skill, absolute path. */
export function writeCorpus(folder) {
  let seed = 1;
  const random = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7f_ff_ff_ff;
    return seed / 0x7f_ff_ff_ff;
  };
  const words = Array.from({ length: 2_000 }, () => Math.floor(random() * 36 ** 6).toString(36));
  const text = () => {
    const parts = [];
    for (let size = 0; size < FILE_BYTES; size += 7) parts.push(words[Math.floor(random() * words.length)]);
    return Buffer.from(parts.join(' ').slice(0, FILE_BYTES));
  };
  const noise = (index) => createHash('shake256', { outputLength: FILE_BYTES }).update(String(index)).digest();
  const files = [['SKILL.md', Buffer.from('---\nname: my-skill\ndescription: Is measured.\n---\n# My skill\n')]];
  for (let index = 1; index < FILES; index += 1) {
    const isText = index % 10 < 6;
    files.push([
      `part-${index % 20}/${index % 5}/file-${index}.${isText ? 'md' : 'bin'}`,
      isText ? text() : noise(index),
    ]);
  }
  for (const [path, bytes] of files) {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, bytes);
  }
  return files.map(([path]) => ({ path, absolute: join(folder, path) })).sort((a, b) => (a.path < b.path ? -1 : 1));
}
