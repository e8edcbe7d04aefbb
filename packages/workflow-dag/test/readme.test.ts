import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('has an example that runs as it stands', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';
  // Inside of the package, so that it finds the package by its name.
  const folder = fileURLToPath(new URL(`.readme-${process.pid}/`, import.meta.url));
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(`${folder}example.ts`, example);
    const tsx = import.meta.resolve('tsx');
    const args = ['--conditions=@thv/source', '--import', tsx, `${folder}example.ts`];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    expect(stdout).toContain("report: 'Paris 7, Oslo -3.5 C' }");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
