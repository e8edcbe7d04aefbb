import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { cpus } from 'node:os';

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const canPin = cpus().length > 1 && spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/** A command that runs on one processor where the machine has several and knows `taskset`; otherwise as it is. */
export const pinned = (cpu, command) => (canPin ? ['taskset', '-c', String(cpu), ...command] : command);

/** A port that was free a moment ago. */
export async function freePort() {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

const isListening = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

/** Groups that run; ended with this process, however it ends. */
const groups = new Set();
process.once('exit', () => {
  for (const group of groups) signal(-group, 'SIGKILL');
});
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => process.exit(130));

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/**
 * Lets the scheduler prefer a process group over whatever else the machine does, where the kernel and the user's rights
 * allow it (sched(7), autogroups). Everything that is measured is preferred alike.
 */
export function prefer(pid) {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, '-10');
  } catch {
    // Not Linux, or no right to: the share of others is in the table.
  }
}

/** Starts a server in a process group of its own, and answers when its port takes connections. */
export async function startServer(command, port, { env = process.env, timeoutMs = 30_000 } = {}) {
  const started = performance.now();
  const child = spawn(command[0], command.slice(1), { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  groups.add(child.pid);
  prefer(child.pid);
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      said = (said + chunk).slice(-4000);
    });
  }
  const exited = once(child, 'exit');
  const stop = () => stopGroup(child, exited);
  while (!(await isListening(port))) {
    if (child.exitCode !== null || performance.now() - started > timeoutMs) {
      await stop();
      throw new Error(`${command.join(' ')}\ndid not listen on ${port} (exit code ${child.exitCode}):\n${said}`);
    }
    await sleep(2);
  }
  return { pid: child.pid, startMs: performance.now() - started, stop };
}

/** SIGTERM to the leader, and after at most five seconds SIGKILL to whatever is left of its group. */
async function stopGroup(child, exited) {
  if (child.exitCode === null && child.signalCode === null) signal(child.pid, 'SIGTERM');
  await Promise.race([exited, sleep(5000)]);
  signal(-child.pid, 'SIGKILL');
  await exited;
  groups.delete(child.pid);
}
