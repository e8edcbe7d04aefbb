import { chmod, lstat, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { directoryDigest, unpackSkill, writeSkill } from '@thv/oci-skills';
import { temporaryDirectory } from './support/skills.js';
import { layerOf, rawEntry, skillFile } from './support/tar.js';

const file = (name: string, body = 'x'): Buffer => rawEntry({ name, body });
const good = layerOf(skillFile);

async function target(): Promise<{ readonly parent: string; readonly directory: string }> {
  const parent = join(await temporaryDirectory(), 'skills');
  await mkdir(parent);
  return { parent, directory: join(parent, 'my-skill') };
}

describe('the target', () => {
  const TARGET = 'ERR_OCI_SKILLS_TARGET';

  test('a symbolic link, a file and a directory with something in it are not touched', async () => {
    const { parent, directory } = await target();
    await mkdir(join(parent, 'real'));
    await symlink(join(parent, 'real'), directory);
    await expect(unpackSkill(good, directory, { replace: true })).rejects.toMatchObject({ code: TARGET });
    expect((await lstat(directory)).isSymbolicLink()).toBe(true);
    await writeFile(join(parent, 'file'), 'x');
    await expect(unpackSkill(good, join(parent, 'file'), { replace: true })).rejects.toMatchObject({ code: TARGET });
    await writeFile(join(parent, 'real/mine.txt'), 'x');
    await expect(unpackSkill(good, join(parent, 'real'))).rejects.toMatchObject({ code: TARGET });
    expect(await readdir(join(parent, 'real'))).toEqual(['mine.txt']);
  });

  test('replacing swaps the whole directory', async () => {
    const { parent, directory } = await target();
    await unpackSkill(layerOf(skillFile, file('old.md')), directory);
    await unpackSkill(layerOf(skillFile, file('new.md')), directory, { replace: true, fsync: true });
    expect((await readdir(directory)).sort()).toEqual(['SKILL.md', 'new.md']);
    expect(await readdir(parent)).toEqual(['my-skill']);
  });

  test('a link below the trusted base is refused, one above it is followed', async () => {
    const { parent } = await target();
    await mkdir(join(parent, 'home'));
    await symlink(join(parent, 'home'), join(parent, 'linked-home'));
    await mkdir(join(parent, 'elsewhere'));
    await symlink(join(parent, 'elsewhere'), join(parent, 'home/skills'));
    const trustedBase = join(parent, 'linked-home');
    await expect(unpackSkill(good, join(trustedBase, 'skills/my-skill'), { trustedBase })).rejects.toMatchObject({
      code: TARGET,
    });
    await expect(unpackSkill(good, join(parent, 'other/my-skill'), { trustedBase })).rejects.toMatchObject({
      code: TARGET,
    });
    const { directory } = await unpackSkill(good, join(trustedBase, '.claude/skills/my-skill'), { trustedBase });
    expect(directory).toBe(join(parent, 'home/.claude/skills/my-skill'));
  });

  test.skipIf(process.getuid?.() === 0)('a parent that is not writable is named', async () => {
    const { parent, directory } = await target();
    await chmod(parent, 0o500);
    await expect(unpackSkill(good, directory)).rejects.toMatchObject({ code: TARGET });
    await chmod(parent, 0o700);
  });

  test('a relative path is refused', async () => {
    await expect(unpackSkill(good, 'my-skill')).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_ARGUMENT' });
  });
});

test('files in memory are written by the same rules', async () => {
  const { parent, directory } = await target();
  const skill = { path: 'SKILL.md', bytes: Buffer.from('x') };
  await expect(writeSkill([skill, { path: '.git/config', bytes: Buffer.from('x') }], directory)).rejects.toMatchObject({
    code: 'ERR_OCI_SKILLS_UNSAFE_ENTRY',
  });
  await expect(writeSkill([{ path: 'a', bytes: Buffer.from('x') }], directory)).rejects.toMatchObject({
    code: 'ERR_OCI_SKILLS_SKILL_MISSING',
  });
  expect(await readdir(parent)).toEqual([]);
  const written = await writeSkill([skill, { path: 'refs/guide.md', bytes: Buffer.from('guide') }], directory);
  expect(written.contentDigest).toBe(await directoryDigest(directory));
  expect(await readFile(join(directory, 'refs/guide.md'), 'utf8')).toBe('guide');
});
