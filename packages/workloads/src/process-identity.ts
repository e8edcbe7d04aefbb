import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * A process and when it began, so that another process that got the same number later is not taken for it.
 * `startedAt` is opaque text of the system; empty where the system does not tell.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startedAt: string;
}

/** Looks at processes; a port, so that a test needs no processes. */
export interface ProcessTable {
  /** The identity of a living process; `undefined` when there is none (a zombie is not alive). */
  identify(pid: number): Promise<ProcessIdentity | undefined>;
  /** Sends a signal to a process, or to a whole group when `pid` is negative; answers `false` when there is none. */
  kill(pid: number, signal: NodeJS.Signals): boolean;
}

const run = promisify(execFile);

/** The processes of this machine. */
export const systemProcesses: ProcessTable = {
  async identify(pid) {
    if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
    const startedAt = process.platform === 'linux' ? await linuxStart(pid) : await otherStart(pid);
    return startedAt === undefined ? undefined : { pid, startedAt };
  },
  kill(pid, signal) {
    try {
      process.kill(pid, signal);
      return true;
    } catch {
      return false;
    }
  },
};

/** True while exactly that process lives. */
export async function isAlive(processes: ProcessTable, identity: ProcessIdentity): Promise<boolean> {
  const found = await processes.identify(identity.pid);
  if (found === undefined) return false;
  return identity.startedAt === '' || found.startedAt === '' || found.startedAt === identity.startedAt;
}

async function linuxStart(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in parentheses and may contain anything, so fields count from the last ")".
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    // Ticks count from boot: without the boot's id, a process before a reboot could be taken for one after it.
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
    return `${boot.trim()}:${fields[19] ?? ''}`;
  } catch {
    return undefined;
  }
}

async function otherStart(pid: number): Promise<string | undefined> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return undefined;
  }
  if (process.platform === 'win32') return '';
  try {
    const { stdout } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const text = stdout.trim();
    return text === '' || text.startsWith('Z') ? undefined : text.slice(text.indexOf(' ') + 1).trim();
  } catch {
    return undefined;
  }
}
