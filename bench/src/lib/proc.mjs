// What /proc says about processes: Linux alone. Elsewhere the figures that need it are missing, and say so.
import { readFileSync, readdirSync } from 'node:fs';

const read = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
};

function statOf(pid) {
  const text = read(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return text === '' ? undefined : { state: fields[0], parent: Number(fields[1]) };
}

/** A process and everything below it that lives, each with its command line. */
export function tree(pid) {
  const children = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = statOf(name);
    if (stat === undefined || stat.state === 'Z') continue;
    children.set(stat.parent, [...(children.get(stat.parent) ?? []), Number(name)]);
  }
  const below = (parent) => (children.get(parent) ?? []).flatMap((child) => [child, ...below(child)]);
  return [pid, ...below(pid)].map((found) => ({
    pid: found,
    command: read(`/proc/${found}/cmdline`).replaceAll('\0', ' ').trim(),
  }));
}

/** Nanoseconds of processor time that the live threads of a process have used. */
export function cpuNanoseconds(pid) {
  let total = 0;
  try {
    for (const task of readdirSync(`/proc/${pid}/task`)) {
      total += Number(read(`/proc/${pid}/task/${task}/schedstat`).split(' ')[0]);
    }
  } catch {
    return total;
  }
  return total;
}

/** Resident memory of a process in megabytes. */
export function rssMegabytes(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
}

/** Clock ticks that all processors together were busy, and in all. */
export function machineTicks() {
  const fields = read('/proc/stat').split('\n')[0].trim().split(/\s+/).slice(1, 9).map(Number);
  const all = fields.reduce((sum, value) => sum + value, 0);
  return { all, busy: all - fields[3] - fields[4] };
}

/** Milliseconds of processor time of this process and everything below it. */
export function ownMilliseconds() {
  return tree(process.pid).reduce((sum, { pid }) => sum + cpuNanoseconds(pid) / 1e6, 0);
}

/** Watches how much of the machine others use between two moments; answers a share from 0 to 1. */
export function watchOthers() {
  const before = { ticks: machineTicks(), own: ownMilliseconds() };
  return () => {
    const after = { ticks: machineTicks(), own: ownMilliseconds() };
    const all = (after.ticks.all - before.ticks.all) * 10;
    const busy = (after.ticks.busy - before.ticks.busy) * 10;
    return all === 0 ? 0 : Math.max(0, (busy - (after.own - before.own)) / all);
  };
}
