import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Who works on runs, and whether somebody else still does. */
export interface Owner {
  /** Unique for each engine. */
  readonly id: string;
  /** False only where it is certain that this owner is gone; a lease then need not be waited for. */
  isAlive(owner: string): boolean;
}

/** Where process ids mean the same: the machine, and on Linux the namespace of process ids. */
function place(): string {
  let namespace = '';
  try {
    namespace = readlinkSync('/proc/self/ns/pid');
  } catch {
    // No such file outside of Linux.
  }
  return `${hostname()} ${namespace}`.trim();
}

/** An owner that is a process of this machine: another one there is dead when its process is. */
export function processOwner(uuid: string): Owner {
  const here = place();
  return {
    id: JSON.stringify([here, process.pid, uuid]),
    isAlive(owner) {
      const pid = pidAt(owner, here);
      if (pid === undefined || pid === process.pid) return true;
      try {
        process.kill(pid, 0);
        return true;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code !== 'ESRCH';
      }
    },
  };
}

function pidAt(owner: string, here: string): number | undefined {
  try {
    const [where, pid] = JSON.parse(owner) as readonly unknown[];
    return where === here && typeof pid === 'number' ? pid : undefined;
  } catch {
    return undefined;
  }
}
