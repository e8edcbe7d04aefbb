import { open, readdir, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkInteger } from './arguments.js';
import { hasCode } from './json-file.js';

/** Options of {@link readLog}. */
export interface ReadLogOptions {
  /** Waits for more until `signal` is aborted, also over rotation. @defaultValue `false` */
  readonly follow?: boolean;
  /** How often a followed file is looked at. @defaultValue `200` */
  readonly pollMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * Reads a log from its oldest kept part to its end, in chunks. A log that does not exist is empty; followed, it is
 * waited for. Ends without an error when `signal` is aborted.
 */
export async function* readLog(path: string, options: ReadLogOptions = {}): AsyncGenerator<Buffer, void, undefined> {
  const { follow = false, pollMs = 200, signal } = options;
  checkInteger('pollMs', pollMs, 0);
  let handle: FileHandle | undefined;
  try {
    for (;;) {
      const next = await partAfter(path, handle);
      if (handle !== undefined) yield* drain(handle, signal);
      if (signal?.aborted === true) return;
      if (next !== undefined) {
        await handle?.close();
        handle = await open(next, 'r').catch(() => undefined);
        continue;
      }
      if (!follow) return;
      await sleep(pollMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    }
  } finally {
    await handle?.close();
  }
}

/**
 * The part that comes after the open one; `undefined` when that is the newest. A file keeps its inode when it is put
 * aside, and while it is open no other file gets that number.
 */
async function partAfter(path: string, handle: FileHandle | undefined): Promise<string | undefined> {
  for (;;) {
    const files = await parts(path);
    if (handle === undefined) return files[0]?.path;
    const own = await handle.stat();
    const current = files.findIndex((file) => file.inode === own.ino);
    if (current >= 0) return files[current + 1]?.path;
    // Removed while it was read: all that is left is newer. Otherwise the list is from the middle of a rotation.
    if (own.nlink === 0) return files[0]?.path;
  }
}

/** The last `count` lines of a log; empty when there is none. Reads at most the last 64 KiB. */
export async function tailLog(path: string, count: number): Promise<string[]> {
  const handle = await open(path, 'r').catch(() => undefined);
  if (handle === undefined) return [];
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, 64 * 1024);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    const lines = buffer.toString('utf8', 0, bytesRead).split(/\r?\n/);
    return lines.filter((line) => line.trim() !== '').slice(-count);
  } finally {
    await handle.close();
  }
}

/** Removes a log and the parts that were put aside. Answers whether there was one. */
export async function removeLog(path: string): Promise<boolean> {
  const files = await parts(path);
  for (const file of files) await rm(file.path, { force: true });
  return files.length > 0;
}

interface Part {
  readonly path: string;
  readonly inode: number;
}

/** The parts of a log that exist, oldest first; looked at until two looks agree, since a rotation renames several files. */
async function parts(path: string): Promise<readonly Part[]> {
  let before = await look(path);
  for (;;) {
    const now = await look(path);
    const isSame = now.length === before.length && now.every(({ inode }, index) => inode === before[index]?.inode);
    if (isSame) return now;
    before = now;
  }
}

async function look(path: string): Promise<readonly Part[]> {
  const name = basename(path);
  const folder = dirname(path);
  const entries = await readdir(folder).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  });
  const numbered = entries
    .map((entry) => ({ entry, number: numberOf(entry, name) }))
    .filter(({ number }) => number !== undefined)
    .sort((a, b) => (b.number ?? 0) - (a.number ?? 0));
  const found: Part[] = [];
  for (const { entry } of numbered) {
    const info = await stat(join(folder, entry)).catch(() => undefined);
    if (info?.isFile() === true) found.push({ path: join(folder, entry), inode: info.ino });
  }
  return found;
}

function numberOf(entry: string, name: string): number | undefined {
  if (entry === name) return 0;
  const rest = entry.startsWith(`${name}.`) ? entry.slice(name.length + 1) : '';
  return /^[1-9]\d?$/.test(rest) ? Number(rest) : undefined;
}

async function* drain(handle: FileHandle, signal: AbortSignal | undefined): AsyncGenerator<Buffer, void, undefined> {
  for (;;) {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, null);
    if (bytesRead === 0 || signal?.aborted === true) return;
    yield buffer.subarray(0, bytesRead);
  }
}
