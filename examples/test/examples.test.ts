import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const programs = readdirSync(`${root}examples/src`).filter((name) => name.endsWith('.ts'));

describe('the examples', () => {
  it.each(programs)('%s runs to its end', (name) => {
    const run = spawnSync(process.execPath, [`${root}scripts/with-source.mjs`, `examples/src/${name}`], {
      cwd: root,
      encoding: 'utf8',
      timeout: 55_000,
    });
    expect(run.status, `${run.stdout}\n${run.stderr}`).toBe(0);
  });
});
