import { closeSync, existsSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { checkInteger } from './arguments.js';

/** A log file that never grows without end. */
export interface LogFile {
  /** Appends bytes as they are. Once closed, or when the disk is full, they are dropped. */
  write(data: string | Uint8Array): void;
  close(): void;
}

/** Options of {@link openLogFile}. */
export interface LogFileOptions {
  /** Size from which the file is put aside. @defaultValue `10485760` (10 MiB) */
  readonly maxBytes?: number;
  /** How many files that were put aside are kept, `PATH.1` the newest. @defaultValue `3` */
  readonly keep?: number;
}

/**
 * Opens a log file for appending; the folder is created. Writing is synchronous: a server that floods its log is slowed
 * down by the disk and fills no memory.
 */
export function openLogFile(path: string, { maxBytes = 10 * 1024 * 1024, keep = 3 }: LogFileOptions = {}): LogFile {
  checkInteger('maxBytes', maxBytes, 1);
  checkInteger('keep', keep, 1);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let descriptor: number | undefined = openSync(path, 'a', 0o600);
  let size = fstatSync(descriptor).size;

  function rotate(): void {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
    rmSync(`${path}.${keep}`, { force: true });
    for (let number = keep - 1; number >= 1; number -= 1) {
      if (existsSync(`${path}.${number}`)) renameSync(`${path}.${number}`, `${path}.${number + 1}`);
    }
    renameSync(path, `${path}.1`);
    descriptor = openSync(path, 'a', 0o600);
    size = 0;
  }

  return {
    write(data) {
      if (descriptor === undefined) return;
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      try {
        if (size > 0 && size + bytes.byteLength > maxBytes) rotate();
        for (let offset = 0; offset < bytes.byteLength;) offset += writeSync(descriptor, bytes, offset);
        size += bytes.byteLength;
      } catch {
        // A log that cannot be written must not take the server down with it.
      }
    },
    close() {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}
