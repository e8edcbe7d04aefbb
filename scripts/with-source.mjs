// Runs a TypeScript program of this workspace from the sources of all packages: node scripts/with-source.mjs FILE ARGS…
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [file, ...args] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('Usage: node scripts/with-source.mjs FILE [ARGS…]\n');
  process.exit(1);
}
const child = spawn(process.execPath, ['--conditions=@thv/source', '--import', 'tsx', resolve(file), ...args], {
  cwd: root,
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
