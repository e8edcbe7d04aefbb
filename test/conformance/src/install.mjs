import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder with package.json. */
export const root = fileURLToPath(new URL('..', import.meta.url));

const lock = `${root}package-lock.json`;
/** The lock file as it was when its packages were installed. */
const installed = `${root}node_modules/.installed-lock.json`;
const isInstalled = () => existsSync(installed) && readFileSync(installed, 'utf8') === readFileSync(lock, 'utf8');

/** Installs what package-lock.json names, once. */
export function install() {
  if (isInstalled()) return;
  process.stderr.write('Installing the conformance suite and the Node that it needs (about 250 MB)\n');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const result = spawnSync(npm, args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  if (result.status !== 0) {
    process.stderr.write('The conformance suite could not be installed; the lines above say why.\n');
    process.exit(result.status ?? 1);
  }
  copyFileSync(lock, installed);
}

/** The Node that runs the suite: this one where it is new enough, the installed one otherwise. */
export function suiteNode() {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath;
  return `${root}node_modules/node-${process.platform}-${process.arch}/bin/node`;
}
