import { randomUUID } from 'node:crypto';
import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { OciSkillsError } from './errors.js';

/** How long {@link withProcessLock} waits and how often it looks. */
export interface ProcessLockOptions {
  /** @defaultValue 5000 */
  readonly timeoutMs?: number;
  /** @defaultValue 50 */
  readonly pollMs?: number;
  readonly signal?: AbortSignal | undefined;
}

interface Holder {
  readonly pid: number;
  readonly host: string;
  readonly nonce: string;
  /** Start time of the process where the system tells it, since process ids are used again. */
  readonly started: string;
}

const GUARD_STALE_MS = 2_000;
/** Between creating a file and writing the holder into it lies no more than this. */
const UNNAMED_MS = 1_000;

/**
 * Runs `action` while no other process that uses the same path does. The lock is a file that names its holder;
 * one whose process is gone is taken over at once, so that a killed process blocks nobody.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_STORE_BUSY` when the holder does not let go in time, `ERR_OCI_SKILLS_STORE` when
 * the file cannot be created; `details.path` is the path.
 */
export async function withProcessLock<T>(
  path: string,
  action: () => Promise<T>,
  options: ProcessLockOptions = {},
): Promise<T> {
  const { timeoutMs = 5_000, pollMs = 50, signal } = options;
  const holder: Holder = { pid: process.pid, host: hostname(), nonce: randomUUID(), started: startTimeOf(process.pid) };
  const deadline = Date.now() + timeoutMs;
  while (!tryAcquire(path, holder)) {
    signal?.throwIfAborted();
    if (Date.now() >= deadline) {
      const other = readHolder(path);
      throw new OciSkillsError(
        'ERR_OCI_SKILLS_STORE_BUSY',
        `${path} is held by ${other ? `process ${other.pid}` : 'another process'}; wait for it to finish, or remove the file if none is running`,
        { details: { path, pid: other?.pid } },
      );
    }
    await sleep(pollMs, undefined, signal ? { signal } : {});
  }
  try {
    return await action();
  } finally {
    if (readHolder(path)?.nonce === holder.nonce) unlinkSync(path);
  }
}

function tryAcquire(path: string, holder: Holder): boolean {
  if (create(path, holder)) return true;
  const other = readHolder(path);
  if (other !== undefined && isAlive(other)) return false;
  return takeOver(path, holder, other);
}

/** The content appears with the name, so that nobody reads half a holder: written aside, then linked. */
function create(path: string, holder: Holder): boolean {
  const aside = `${path}.${holder.nonce}`;
  try {
    writeFileSync(aside, JSON.stringify(holder), { flag: 'w', mode: 0o600 });
  } catch (error) {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_STORE',
      `${path} could not be created; check that the folder exists and is writable`,
      { cause: error, details: { path } },
    );
  }
  try {
    linkSync(aside, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    // A disk without links: created and written in two steps, which a reader takes for a holder without a name.
    return createDirectly(path, holder);
  } finally {
    unlinkSync(aside);
  }
}

function createDirectly(path: string, holder: Holder): boolean {
  try {
    writeFileSync(path, JSON.stringify(holder), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Two waiters may see the same dead holder; the folder makes one of them look again and remove it. */
function takeOver(path: string, holder: Holder, seen: Holder | undefined): boolean {
  const guard = `${path}.takeover`;
  try {
    mkdirSync(guard);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    const since = statSync(guard, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Date.now() - since > GUARD_STALE_MS) removeGuard(guard);
    return false;
  }
  try {
    const now = readHolder(path);
    if (now?.nonce !== seen?.nonce || (now !== undefined && isAlive(now))) return false;
    const entry = statSync(path, { throwIfNoEntry: false });
    if (entry === undefined) return create(path, holder);
    if (now === undefined && Date.now() - entry.mtimeMs < UNNAMED_MS) return false;
    unlinkSync(path);
    return create(path, holder);
  } finally {
    removeGuard(guard);
  }
}

function removeGuard(guard: string): void {
  try {
    rmdirSync(guard);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
}

function readHolder(path: string): Holder | undefined {
  try {
    const descriptor = openSync(path, 'r');
    try {
      const holder: unknown = JSON.parse(readFileSync(descriptor, 'utf8'));
      return isHolder(holder) ? holder : undefined;
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}

const isHolder = (value: unknown): value is Holder =>
  typeof value === 'object' && value !== null && 'pid' in value && 'host' in value && 'nonce' in value;

function isAlive(holder: Holder): boolean {
  // Another machine on a shared disk cannot be asked; its lock counts until it is released.
  if (holder.host !== hostname()) return true;
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
  const started = startTimeOf(holder.pid);
  return started === '' || holder.started === '' || started === holder.started;
}

/** Field 22 of `/proc/PID/stat` (clock ticks since boot); empty where there is no such file. */
function startTimeOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
