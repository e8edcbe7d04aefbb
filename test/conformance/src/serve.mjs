import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { root } from './install.mjs';

const thv = fileURLToPath(new URL('../../../apps/cli/bin/thv.js', import.meta.url));
const START_MS = 60_000;

/** Serves the fixture of a set through `thv run` in a home folder of its own. */
export async function startThv(set) {
  const home = mkdtempSync(join(tmpdir(), 'thv-conformance-'));
  const env = {
    ...process.env,
    HOME: home,
    npm_config_cache: process.env.npm_config_cache ?? join(process.env.HOME ?? home, '.npm'),
  };
  for (const kind of ['CONFIG', 'DATA', 'STATE', 'CACHE']) {
    env[`XDG_${kind}_HOME`] = join(home, kind.toLowerCase());
    mkdirSync(env[`XDG_${kind}_HOME`]);
  }
  const [program, ...rest] = set.fixture;
  const fixture = [process.execPath, `${root}fixture/${program}`, ...rest];
  const args = [thv, 'run', '--foreground', '--name', 'conformance', ...set.options, '--', ...fixture];
  return serve(args, env, () => rmSync(home, { recursive: true, force: true, maxRetries: 3 }));
}

/** Serves the fixture of a set with the SDK's own HTTP transport. */
export function startDirect(set) {
  return serve([`${root}fixture/${set.direct}`], process.env, () => {});
}

/** The command line of the client of a set; the suite adds the URL. */
export const clientCommand = (set) => `${process.execPath} ${root}client/${set.client}`;

/** Starts a program whose first line on stdout is its URL. */
async function serve(args, env, cleanUp) {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = [];
  child.stderr.on('data', (chunk) => said.push(chunk));
  const exited = once(child, 'exit');
  const close = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await exited;
    clearTimeout(timer);
    cleanUp();
  };
  try {
    return { url: await firstLine(child, exited), close };
  } catch (error) {
    await close();
    throw new Error(`${error.message}\n${Buffer.concat(said).toString('utf8').trim()}`, { cause: error });
  }
}

function firstLine(child, exited) {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(() => reject(new Error(`No URL on stdout within ${START_MS} ms`)), START_MS);
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (!text.includes('\n')) return;
      clearTimeout(timer);
      resolve(text.split('\n')[0].trim());
    });
    void exited.then(([code, signal]) => {
      clearTimeout(timer);
      reject(new Error(`The server ended before it was ready (${signal ?? `exit code ${code}`})`));
    });
  });
}
