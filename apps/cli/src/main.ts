import { fileURLToPath } from 'node:url';
import { runCli } from './cli.js';

const controller = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // The second one is from somebody who does not want to wait for an orderly end.
    if (controller.signal.aborted) process.exit(130);
    controller.abort(Object.assign(new Error(`Interrupted by ${signal}`), { name: 'AbortError', signal }));
  });
}

// `thv list | head -1` closes the pipe early; that is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

// What was started from the sources starts its supervisors from the sources.
const entry = import.meta.url.endsWith('.ts') ? '../bin/from-source.js' : '../bin/thv.js';

process.exitCode = await runCli({
  argv: process.argv.slice(2),
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signal: controller.signal,
  self: [fileURLToPath(new URL(entry, import.meta.url))],
});
