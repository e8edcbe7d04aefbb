import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder with package.json. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

const modified = (path) => statSync(root + path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** Installs the programs to compare with, at the versions of the lock file, once. */
export function installPeers() {
  const installed = modified('node_modules/.package-lock.json');
  if (installed > 0 && installed >= modified('package-lock.json') && installed >= modified('package.json')) return;
  process.stderr.write('Installing the programs to compare with\n');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const result = spawnSync(npm, args, { cwd: root, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  if (result.status !== 0) {
    process.stderr.write('The programs to compare with could not be installed; the lines above say why.\n');
    process.exit(result.status ?? 1);
  }
}
