// Everything that is no test: build, types of tests, lint, format, unused code, package checks. `--only NAME` runs one.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const packages = readdirSync(`${root}packages`).map((name) => `packages/${name}`);

/** Name, and the commands that it runs; each is a program of the workspace with its arguments. */
const checks = [
  ['build', [['tsc', '-b']]],
  ['types', [['tsc', '-p', 'tsconfig.test.json']]],
  ['lint', [['oxlint', '--deny-warnings']]],
  ['format', [['prettier', '--check', '--log-level', 'warn', '.']]],
  ['unused', [['knip', '--no-progress']]],
  ['publint', packages.map((path) => ['publint', '--strict', path])],
  ['exports', packages.map((path) => ['attw', '--pack', path, '--profile', 'esm-only', '--format', 'ascii'])],
];

const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : undefined;
const failed = [];
let passed = 0;
for (const [name, commands] of checks) {
  if (only !== undefined && only !== name) continue;
  const started = Date.now();
  const broken = commands.filter(([program, ...args]) => {
    const result = spawnSync(`${root}node_modules/.bin/${program}`, args, { cwd: root, encoding: 'utf8' });
    if (result.status !== 0) process.stdout.write(`$ ${program} ${args.join(' ')}\n${result.stdout}${result.stderr}\n`);
    return result.status !== 0;
  });
  process.stdout.write(
    `${broken.length === 0 ? 'ok    ' : 'FAILED'} ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)\n`,
  );
  if (broken.length === 0) passed += 1;
  else failed.push(name);
}
process.stdout.write(`checks: ${passed} passed, ${failed.length} failed\n`);
process.exit(failed.length === 0 ? 0 : 1);
