import { readFileSync, readdirSync } from 'node:fs';

/** Sends a signal to a child and everything it started; false when nothing of it is left. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    // A negative number names the process group; Windows has none, and ends a tree with its root.
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
    return true;
  } catch (error) {
    // EPERM: something is left that changed its user, which we can see but not end.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * True while a process of the group runs. One that has ended and was not waited for still has its number, and in a
 * container without an init process it keeps it for ever; it does not count.
 */
export function isGroupAlive(pid: number): boolean {
  if (!signalGroup(pid, 0)) return false;
  if (process.platform !== 'linux') return true;
  return readdirSync('/proc').some((name) => /^\d+$/.test(name) && isRunningMember(name, pid));
}

function isRunningMember(name: string, group: number): boolean {
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
    // The name in parentheses may hold anything; state, parent and group follow the last one.
    const [state, , member] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(member) === group && state !== 'Z' && state !== 'X';
  } catch {
    return false;
  }
}
