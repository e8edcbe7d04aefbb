import { readFileSync, readdirSync } from 'node:fs';

/** One row of `/proc`. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** `R`, `S`, `Z`, … as in proc(5). */
  readonly state: string;
  readonly command: string;
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

function row(pid: number): ProcessRow | undefined {
  const text = read(`/proc/${pid}/stat`);
  const end = text.lastIndexOf(')');
  if (end === -1) return undefined;
  const [state = '', parent, group] = text.slice(end + 2).split(' ');
  return {
    pid,
    state,
    parent: Number(parent),
    group: Number(group),
    command: read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim(),
  };
}

/** Every process that lives (zombies have ended and are left out). */
export function processes(): ProcessRow[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => row(Number(name)))
    .filter((found): found is ProcessRow => found !== undefined && found.state !== 'Z' && found.state !== 'X');
}

/** The processes of a group. */
export function processGroup(group: number): ProcessRow[] {
  return processes().filter((found) => found.group === group);
}

/** The processes below one, at any depth, without itself. A process whose parent has ended is not found this way. */
export function descendants(pid: number): ProcessRow[] {
  const all = processes();
  const below = (parent: number): ProcessRow[] =>
    all.flatMap((found) => (found.parent === parent ? [found, ...below(found.pid)] : []));
  return below(pid);
}

/** The processes whose command line contains a text; use a text that only one test writes. */
export function processesNaming(text: string): ProcessRow[] {
  return processes().filter((found) => found.pid !== process.pid && found.command.includes(text));
}

/** True while a process lives; a zombie does not. */
export function isAlive(pid: number): boolean {
  const found = row(pid);
  return found !== undefined && found.state !== 'Z' && found.state !== 'X';
}

/** Resident memory in bytes; 0 for a process that has ended. */
export function rssBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) * 1024;
}

/** Nanoseconds of processor time of all live threads. */
export function cpuNanoseconds(pid: number): number {
  let total = 0;
  try {
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      total += Number(read(`/proc/${pid}/task/${task}/schedstat`).split(' ')[0] ?? 0);
    }
  } catch {
    return total;
  }
  return total;
}
