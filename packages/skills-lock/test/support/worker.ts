// Changes skills of one project again and again, until it is killed or has done its rounds.
// node worker.mjs ROOT MODE ROUNDS SEED
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBench, skillFile } from './bench.js';

const [root = '', mode = 'all', rounds = '1', seed = '1'] = process.argv.slice(2);
const bench = await openBench({ root });
const project = { scope: 'project', project_root: bench.project };
let state = Number(seed);

/** A small generator, so that a seed tells the whole story. */
function random(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

/** Each worker has sources of its own, whose content says which version it is. */
function source(name: string, version: number): string {
  const folder = join(root, 'sources', `${mode}-${name}`, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'SKILL.md'), skillFile(name, `${version}.0.0`));
  for (let index = 0; index < 12; index += 1)
    writeFileSync(join(folder, `file-${index}.txt`), `${name} ${version} ${index}\n`.repeat(50));
  return folder;
}

const install = (name: string, version: number) =>
  bench.service.install({
    name: source(name, version),
    ...project,
    allow_unsigned: true,
    clients: ['claude-code', 'cursor'],
  });

const actions: readonly (() => Promise<unknown>)[] = [
  () => install('alpha', 1 + random(3)),
  () => install('beta', 1 + random(3)),
  () => bench.service.uninstall({ name: 'alpha', ...project }),
  () => bench.service.sync({ project_root: bench.project }),
  async () => {
    source('beta', 1 + random(9));
    return await bench.service.upgrade({ project_root: bench.project });
  },
];

process.stdout.write('ready\n');
for (let round = 0; round < Number(rounds); round += 1) {
  if (mode === 'all') {
    await actions[random(actions.length)]?.().catch((error: { status?: number }) => {
      // Uninstalling what is not there is what random choices do.
      if (error.status !== 404) throw error;
    });
  } else {
    await install(`${mode}-${round % 5}`, round);
    await bench.service.sync({ project_root: bench.project });
  }
}
await bench[Symbol.asyncDispose]();
process.stdout.write('done\n');
