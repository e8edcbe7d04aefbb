import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('the first example runs as it stands', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  // Inside of the package, so that it finds the package by its name.
  const folder = fileURLToPath(new URL(`.readme-${process.pid}/`, import.meta.url));
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(`${folder}example.mts`, example);
    const args = ['--conditions=@thv/source', '--import', import.meta.resolve('tsx'), `${folder}example.mts`];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    expect(stderr).toBe('');
    expect(stdout).toContain('true ---\nname: code-review\n');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
