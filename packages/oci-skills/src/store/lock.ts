import { randomBytes } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { systemClock } from '../clock.js';
import { OciSkillsError } from '../errors.js';

const POLL_MS = 20;
/** Between creating the file and writing its process id into it lies no more than this. */
const UNNAMED_MS = 1000;

/** How a lock is waited for. */
export interface LockOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function isAbandoned(path: string): Promise<boolean> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
    const pid = Number.parseInt(text, 10);
    return Number.isNaN(pid) ? Date.now() - mtimeMs > UNNAMED_MS : !isRunning(pid);
  } catch {
    return false;
  }
}

/** Moved away under a name of its own first, so that two processes cannot both remove a lock and then each other's. */
async function removeAbandoned(path: string): Promise<void> {
  const aside = `${path}.${randomBytes(8).toString('hex')}`;
  try {
    await rename(path, aside);
    await rm(aside, { force: true });
  } catch {
    // Another process was faster.
  }
}

async function tryAcquire(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Run `action` while no other process runs one under the same lock file. */
export async function withFileLock<T>(path: string, options: LockOptions, action: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + options.timeoutMs;
  while (!(await tryAcquire(path))) {
    if (await isAbandoned(path)) await removeAbandoned(path);
    else if (Date.now() > deadline) {
      throw new OciSkillsError(
        'ERR_OCI_SKILLS_STORE_BUSY',
        `Another process has been changing the skill store for ${options.timeoutMs} ms; try again, or remove \`${path}\` if none is running`,
        { details: { path } },
      );
    } else await systemClock.sleep(POLL_MS, options.signal);
  }
  try {
    return await action();
  } finally {
    await rm(path, { force: true });
  }
}
