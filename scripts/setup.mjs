// Installs the workspace with Node and npm alone, and only when something changed since the last install.
// `--update` lets the lock file change; without it the install is frozen.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const update = process.argv.includes('--update');

const modified = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;

function manifests() {
  const inside = ['packages', 'apps'].flatMap((parent) =>
    readdirSync(join(root, parent)).map((name) => `${parent}/${name}/package.json`),
  );
  return [
    'package.json',
    'pnpm-workspace.yaml',
    'pnpm-lock.yaml',
    'examples/package.json',
    'test/doubles/package.json',
    ...inside,
  ];
}

function isInstalled() {
  const stamp = modified('node_modules/.modules.yaml');
  return stamp > 0 && manifests().every((path) => modified(path) <= stamp);
}

function install() {
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  process.stderr.write(`Installing the workspace with ${packageManager}\n`);
  const args = [
    '--yes',
    packageManager,
    '--dir',
    root,
    'install',
    update ? '--no-frozen-lockfile' : '--frozen-lockfile',
  ];
  // An install that is interrupted leaves a broken local pnpm, which npx would prefer when started inside the workspace.
  const run = spawnSync('npx', [...args, '--prefer-offline', '--reporter=append-only'], {
    cwd: tmpdir(),
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (run.status !== 0) {
    process.stderr.write(
      `The workspace ${root} could not be installed: pnpm ended with ${run.status ?? run.signal ?? run.error?.message}; its lines above say why. Correct that and run the command again.\n`,
    );
    process.exit(run.status ?? 1);
  }
}

/** Two installs of one tree at once would break it: the second waits for the first. */
function withLock(action) {
  const lock = join(root, '.setup.lock');
  const deadline = Date.now() + 900_000;
  for (;;) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0);
      if (age > 900_000) rmdirSync(lock);
      if (Date.now() > deadline) {
        throw new Error(`Another set-up holds ${lock}; remove the folder if none is running`, { cause: error });
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    }
  }
  const release = () => rmdirSync(lock);
  process.once('exit', release);
  action();
}

if (update || !isInstalled()) {
  withLock(() => {
    if (update || !isInstalled()) install();
  });
}
