import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { OciSkillsError } from '../errors.js';
import { printable } from '../text.js';
import type { WriteSkillOptions } from '../types.js';
import type { FileSink } from './layer.js';

const WRITE_NEW = fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL | (fs.constants.O_NOFOLLOW ?? 0);

function targetFault(path: string, why: string, cause?: unknown): OciSkillsError {
  return new OciSkillsError('ERR_OCI_SKILLS_TARGET', `Cannot write the skill to \`${printable(path, 400)}\`: ${why}`, {
    cause,
    details: { path },
  });
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC') return 'the disk is full; free some space';
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return 'it is not writable; correct its permissions';
  return message;
}

/** Create what is missing of `directory`, which no symbolic link may lead out of `base`. */
function prepareParent(directory: string, base: string, created: string[]): string {
  let path = fs.realpathSync(base);
  const below = relative(base, directory);
  if (below.startsWith('..')) throw targetFault(directory, `it does not lie below \`${printable(base)}\``);
  for (const part of below.split(sep).filter((part) => part !== '')) {
    path = join(path, part);
    const status = fs.lstatSync(path, { throwIfNoEntry: false });
    if (status === undefined) {
      fs.mkdirSync(path, { mode: 0o750 });
      created.push(path);
    } else if (status.isSymbolicLink())
      throw targetFault(
        directory,
        `\`${printable(path)}\` is a symbolic link; remove it, or name the directory that it points to`,
      );
    else if (!status.isDirectory()) throw targetFault(directory, `\`${printable(path)}\` is no directory; remove it`);
  }
  return path;
}

function nearestExisting(directory: string): string {
  for (let path = directory; ; path = dirname(path)) {
    if (fs.existsSync(path) || dirname(path) === path) return path;
  }
}

function checkTarget(target: string, canReplace: boolean): void {
  const status = fs.lstatSync(target, { throwIfNoEntry: false });
  if (status === undefined) return;
  if (status.isSymbolicLink()) throw targetFault(target, 'it is a symbolic link; remove it');
  if (!status.isDirectory()) throw targetFault(target, 'it is no directory; remove it');
  const isEmpty = fs.readdirSync(target).length === 0;
  if (!isEmpty && !canReplace)
    throw targetFault(target, 'it exists and is not empty; remove it, or allow it to be replaced');
}

function syncPath(path: string): void {
  const descriptor = fs.openSync(path, 'r');
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/**
 * A directory beside the target that files are written to, and that takes the target's place in one rename when all
 * of them are there. Writes are synchronous: one file after the other costs less than the thread pool does.
 */
export class Staging implements FileSink {
  readonly target: string;
  readonly #directory: string;
  readonly #parent: string;
  readonly #options: WriteSkillOptions;
  readonly #made = new Set<string>();
  /** Parents that did not exist, outermost first. */
  readonly #created: string[] = [];
  #isCommitted = false;
  #descriptor = -1;

  constructor(directory: string, options: WriteSkillOptions) {
    this.#options = options;
    const wanted = resolve(directory);
    const base = options.trustedBase === undefined ? nearestExisting(dirname(wanted)) : resolve(options.trustedBase);
    try {
      this.#parent = prepareParent(dirname(wanted), base, this.#created);
      this.target = join(this.#parent, basename(wanted));
      checkTarget(this.target, options.replace ?? false);
      this.#directory = join(this.#parent, `.thv-new-${randomBytes(8).toString('hex')}`);
      fs.mkdirSync(this.#directory, { mode: 0o700 });
    } catch (error) {
      this.#removeCreated();
      throw OciSkillsError.is(error) ? error : targetFault(wanted, reasonOf(error), error);
    }
  }

  open(path: string): void {
    this.#guarded(() => {
      const cut = path.lastIndexOf('/');
      if (cut > 0) this.#makeDirectory(path.slice(0, cut));
      this.#descriptor = fs.openSync(`${this.#directory}/${path}`, WRITE_NEW, 0o644);
    });
  }

  write(bytes: Buffer): void {
    this.#guarded(() => {
      for (let offset = 0; offset < bytes.length;) {
        offset += fs.writeSync(this.#descriptor, bytes, offset, bytes.length - offset);
      }
    });
  }

  close(): void {
    this.#guarded(() => {
      if (this.#options.fsync === true) fs.fsyncSync(this.#descriptor);
      fs.closeSync(this.#descriptor);
      this.#descriptor = -1;
    });
  }

  /** Put the files in the target's place. */
  commit(): void {
    this.#guarded(() => {
      fs.chmodSync(this.#directory, 0o750);
      if (this.#options.fsync === true) {
        for (const path of this.#made) syncPath(`${this.#directory}/${path}`);
        syncPath(this.#directory);
      }
      checkTarget(this.target, this.#options.replace ?? false);
      this.#swap();
      this.#isCommitted = true;
      if (this.#options.fsync === true) syncPath(this.#parent);
    });
  }

  /** Remove everything that was written. */
  discard(): void {
    if (this.#descriptor >= 0) fs.closeSync(this.#descriptor);
    this.#descriptor = -1;
    fs.rmSync(this.#directory, { recursive: true, force: true, maxRetries: 3 });
    this.#removeCreated();
  }

  /** Parents that another program has put something in meanwhile stay. */
  #removeCreated(): void {
    if (this.#isCommitted) return;
    for (const path of this.#created.splice(0).reverse()) {
      try {
        fs.rmdirSync(path);
      } catch {
        return;
      }
    }
  }

  #swap(): void {
    const hasOld = fs.existsSync(this.target);
    const aside = join(this.#parent, `.thv-old-${randomBytes(8).toString('hex')}`);
    if (hasOld) fs.renameSync(this.target, aside);
    try {
      fs.renameSync(this.#directory, this.target);
    } catch (error) {
      if (hasOld) fs.renameSync(aside, this.target);
      throw error;
    }
    if (hasOld) fs.rmSync(aside, { recursive: true, force: true, maxRetries: 3 });
  }

  #makeDirectory(path: string): void {
    if (this.#made.has(path)) return;
    const cut = path.lastIndexOf('/');
    if (cut > 0) this.#makeDirectory(path.slice(0, cut));
    fs.mkdirSync(`${this.#directory}/${path}`, { mode: 0o750 });
    this.#made.add(path);
  }

  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      throw OciSkillsError.is(error) ? error : targetFault(this.target, reasonOf(error), error);
    }
  }
}
