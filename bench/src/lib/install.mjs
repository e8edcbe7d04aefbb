import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder with package.json. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

const lock = `${root}package-lock.json`;
/** The lock file as it was when its packages were installed. */
const installed = `${root}node_modules/.installed-lock.json`;
const isInstalled = () => existsSync(installed) && readFileSync(installed, 'utf8') === readFileSync(lock, 'utf8');

/** Installs the programs to compare with, at the versions of the lock file, once. */
export function installPeers() {
  if (isInstalled()) return;
  process.stderr.write('Installing the programs to compare with\n');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const result = spawnSync(npm, args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  if (result.status !== 0) {
    process.stderr.write('The programs to compare with could not be installed; the lines above say why.\n');
    process.exit(result.status ?? 1);
  }
  copyFileSync(lock, installed);
}
