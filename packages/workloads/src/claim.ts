import { mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from './json-file.js';
import type { Paths } from './paths.js';
import { isAlive } from './process-identity.js';
import type { ProcessIdentity, ProcessTable } from './process-identity.js';

/** The file that says which process supervises a workload; at most one at a time. */
export interface Claims {
  /** The living supervisor, if there is one. */
  holder(name: string): Promise<ProcessIdentity | undefined>;
  /** Takes the claim for this process; answers the holder when somebody alive has it. */
  take(name: string, self: ProcessIdentity): Promise<ProcessIdentity | undefined>;
  /** Gives the claim back, if `self` has it. */
  release(name: string, self: ProcessIdentity): Promise<void>;
  /** Removes the file of a supervisor that is gone. */
  clear(name: string): Promise<void>;
}

/** Opens the folder of pid files. A file holds the process id and, in the second line, when that process began. */
export function createClaims(paths: Pick<Paths, 'pids'>, processes: ProcessTable): Claims {
  const pathOf = (name: string): string => join(paths.pids, `toolhive-${name}.pid`);

  async function read(name: string): Promise<ProcessIdentity | undefined> {
    const text = await readFile(pathOf(name), 'utf8').catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return '';
      throw error;
    });
    const [first = '', startedAt = ''] = text.split('\n');
    const pid = Number(first);
    return /^\d+$/.test(first) && Number.isSafeInteger(pid) && pid > 1 ? { pid, startedAt } : undefined;
  }

  async function holder(name: string): Promise<ProcessIdentity | undefined> {
    const found = await read(name);
    return found !== undefined && (await isAlive(processes, found)) ? found : undefined;
  }

  return {
    holder,
    async take(name, self) {
      await mkdir(paths.pids, { recursive: true, mode: 0o700 });
      for (let attempt = 0; ; attempt += 1) {
        try {
          const file = await open(pathOf(name), 'wx', 0o600);
          try {
            await file.writeFile(`${self.pid}\n${self.startedAt}\n`);
          } finally {
            await file.close();
          }
          return undefined;
        } catch (error) {
          if (!hasCode(error, 'EEXIST') || attempt >= 3) throw error;
          const other = await holder(name);
          if (other !== undefined) return other;
          // Two that clear the file of a dead one at the same time still meet at the port: only one can listen on it.
          await rm(pathOf(name), { force: true });
        }
      }
    },
    async release(name, self) {
      const found = await read(name);
      if (found?.pid === self.pid && found.startedAt === self.startedAt) await rm(pathOf(name), { force: true });
    },
    clear: async (name) => rm(pathOf(name), { force: true }),
  };
}
