// Tests the workspace on another Node: node scripts/on-node.mjs 22 [-- vitest arguments]
// It copies the tree, fetches that Node as a package, rebuilds native add-ons against its headers, and runs the tests.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [major, ...rest] = process.argv.slice(2);
if (!/^\d+$/.test(major ?? '')) {
  process.stderr.write(`Expected a Node major version such as 22, got ${JSON.stringify(major)}\n`);
  process.exit(1);
}
const base = join(tmpdir(), `thv-node-${major}`);
const tree = join(base, 'tree');
const runtime = join(base, 'runtime');

function run(command, args, options) {
  const result = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (result.status !== 0) process.exit(result.status ?? 1);
}

mkdirSync(tree, { recursive: true });
const skipped = new Set(['node_modules', 'dist', '.git']);
for (const name of readdirSync(root)) {
  if (skipped.has(name)) continue;
  cpSync(join(root, name), join(tree, name), {
    recursive: true,
    filter: (source) => !source.split(/[\\/]/).some((part) => skipped.has(part) || part.endsWith('.tsbuildinfo')),
  });
}
const name = `node-${process.platform}-${process.arch}`;
const home = join(runtime, 'node_modules', name);
if (!existsSync(home)) {
  mkdirSync(runtime, { recursive: true });
  run('npm', [
    'install',
    '--prefix',
    runtime,
    '--no-save',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    `${name}@${major}`,
  ]);
}
const env = {
  ...process.env,
  PATH: [join(home, 'bin'), process.env.PATH].join(delimiter),
  npm_config_nodedir: home,
};
run('node', ['--version'], { env });
run(
  'npx',
  [
    '--yes',
    'pnpm@10.34.8',
    '--dir',
    tree,
    'install',
    '--frozen-lockfile',
    '--prefer-offline',
    '--reporter=append-only',
  ],
  { env, cwd: tmpdir() },
);
run(
  join(home, 'bin/node'),
  [
    join(tree, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--config',
    'vitest.workspace.ts',
    ...rest.filter((argument) => argument !== '--'),
  ],
  { env, cwd: tree },
);
