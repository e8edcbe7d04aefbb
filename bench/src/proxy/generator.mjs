import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { pinned, prefer } from '../lib/child.mjs';

const program = fileURLToPath(new URL('./load.mjs', import.meta.url));

/** Starts a load generator for a URL on the second processor. */
export function startGenerator(url) {
  const [command, ...args] = pinned(1, [process.execPath, program, url]);
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], detached: true });
  prefer(child.pid);
  const exited = once(child, 'exit');
  return {
    async ask(command, options = {}) {
      child.send({ command, ...options });
      const ended = exited.then(() => [{ error: 'The load generator ended' }]);
      const [{ result, error }] = await Promise.race([once(child, 'message'), ended]);
      if (error !== undefined) throw new Error(`${url}: ${error}`);
      return result;
    },
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
