import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A directory that is removed when the test ends. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'oci-skills-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** The SKILL.md of the skill whose digests are known. */
export const helloFile =
  '---\nname: hello-skill\ndescription: Says hello.\nversion: 1.0.0\nallowed-tools: Read Grep\nlicense: Apache-2.0\n---\n# Hello\n';

/** Write a skill directory named `name`; files default to those of `hello-skill`. */
export async function writeSkillDirectory(
  name = 'hello-skill',
  files: Readonly<Record<string, string | Uint8Array>> = { 'SKILL.md': helloFile, 'refs/guide.md': 'guide\n' },
): Promise<string> {
  const directory = join(await temporaryDirectory(), name);
  await mkdir(directory);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), content);
  }
  return directory;
}
