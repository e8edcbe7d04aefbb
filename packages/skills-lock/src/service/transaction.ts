import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { lstat, mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import { findEntry, putEntry } from '../lock/edit.js';
import { readLock, updateLock } from '../lock/file.js';
import { LOCK_FILE_NAME } from '../lock/types.js';
import type { LockEntry, LockFile } from '../lock/types.js';
import type { RecordKey, SkillRecord } from '../store/port.js';
import { references } from './context.js';
import type { ServiceContext } from './context.js';

/** How to undo one step. Plain data, so that another process can undo it after a crash. */
type Undo =
  | { readonly kind: 'folder'; readonly target: string; readonly backup?: string }
  | { readonly kind: 'record'; readonly key: RecordKey; readonly before?: StoredRecord }
  | {
      readonly kind: 'entry';
      readonly projectRoot: string;
      readonly name: string;
      readonly before?: LockEntry;
      /** There was no lock file before. */
      readonly created: boolean;
    }
  | { readonly kind: 'group'; readonly group: string; readonly skill: string };

/** A record with its binary members as base64. */
interface StoredRecord extends Omit<SkillRecord, 'bundle' | 'payload'> {
  readonly bundle?: string;
  readonly payload?: string;
}

/**
 * Changes that stand together or not at all: folders, records, lock entries, groups. Before each step the way back
 * is written to a journal and flushed, so that {@link recover} undoes what a killed process left half done.
 */
export class Transaction {
  readonly #context: ServiceContext;
  readonly #journal: string;
  readonly #undo: Undo[] = [];

  constructor(context: ServiceContext, lock: string) {
    this.#context = context;
    this.#journal = join(journalFolder(context), `${lock}-${randomBytes(6).toString('hex')}.json`);
  }

  /** Lets `write` create the folder `target`; what was there is kept until the commit. */
  async replaceFolder(target: string, write: () => Promise<unknown>): Promise<void> {
    await this.#setAside(target);
    await write();
  }

  async removeFolder(target: string): Promise<void> {
    if (await exists(target)) await this.#setAside(target);
  }

  async putRecord(record: SkillRecord): Promise<void> {
    const before = await this.#context.store.get(record);
    await this.#plan({ kind: 'record', key: keyOf(record), ...(before ? { before: toStored(before) } : {}) });
    await this.#context.store.put(record);
  }

  async deleteRecord(key: RecordKey): Promise<void> {
    const before = await this.#context.store.get(key);
    if (!before) return;
    await this.#plan({ kind: 'record', key: keyOf(key), before: toStored(before) });
    await this.#context.store.delete(key);
  }

  /** Changes lock entries of skills; `change` is given the lock and answers the new one. */
  async changeLock(projectRoot: string, change: (lock: LockFile) => LockFile): Promise<void> {
    const before = await readLock(projectRoot, { references });
    const after = change(before);
    if (after === before) return;
    const created = !(await exists(join(projectRoot, LOCK_FILE_NAME)));
    const names = new Set([...before.skills, ...after.skills].map(({ name }) => name));
    for (const name of names) {
      const old = findEntry(before, name);
      if (old !== findEntry(after, name))
        await this.#plan({ kind: 'entry', projectRoot, name, created, ...(old ? { before: old } : {}) });
    }
    await updateLock(projectRoot, change, { references });
  }

  async addToGroup(group: string, skill: string): Promise<void> {
    const { groups } = this.#context;
    // What is in the group already must stay there when this is undone.
    if (!groups || (await groups.skillsOf(group)).includes(skill)) return;
    await this.#plan({ kind: 'group', group, skill });
    await groups.addSkill(group, skill);
  }

  /** From here on nothing is undone. */
  async commit(): Promise<void> {
    const backups = this.#undo.flatMap((step) =>
      step.kind === 'folder' && step.backup !== undefined ? [step.backup] : [],
    );
    // The journal becomes a list of what is left to remove: one rename is the moment at which the change stands.
    if (this.#undo.length > 0) renameSync(this.#journal, `${this.#journal}.done`);
    await Promise.all(backups.map((backup) => rm(backup, { recursive: true, force: true })));
    rmSync(`${this.#journal}.done`, { force: true });
  }

  /** Undoes everything, last step first; errors of single steps are joined to the cause. */
  async rollback(cause: unknown): Promise<unknown> {
    const errors = await undoAll(this.#context, this.#undo);
    rmSync(this.#journal, { force: true });
    if (errors.length === 0) return cause;
    return new AggregateError(
      [cause, ...errors],
      `${cause instanceof Error ? cause.message : String(cause)}; undoing it failed too: ${errors.map(String).join('; ')}`,
    );
  }

  async #setAside(target: string): Promise<void> {
    const there = await exists(target);
    const backup = there
      ? join(dirname(target), `.${basename(target)}.thv-bak-${randomBytes(6).toString('hex')}`)
      : undefined;
    await this.#plan({ kind: 'folder', target, ...(backup === undefined ? {} : { backup }) });
    if (backup !== undefined) await rename(target, backup);
  }

  async #plan(step: Undo): Promise<void> {
    this.#undo.push(step);
    mkdirSync(dirname(this.#journal), { recursive: true, mode: 0o700 });
    await writeFileAtomic(this.#journal, JSON.stringify(this.#undo), { mode: 0o600 });
  }
}

/** Finishes or undoes what killed processes left of this lock's changes; call it while the lock is held. */
export async function recover(context: ServiceContext, lock: string): Promise<void> {
  const folder = journalFolder(context);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(folder).toSorted()) {
    if (!name.startsWith(`${lock}-`)) continue;
    const path = join(folder, name);
    const steps = readSteps(path);
    if (name.endsWith('.json')) await undoAll(context, steps);
    if (name.endsWith('.done')) {
      for (const step of steps)
        if (step.kind === 'folder' && step.backup !== undefined) rmSync(step.backup, { recursive: true, force: true });
    }
    removeHalfWritten(steps);
    rmSync(path, { force: true });
  }
}

/** What was being written when the process was killed lies beside its target under a name of its own. */
function removeHalfWritten(steps: readonly Undo[]): void {
  const parents = new Set(steps.flatMap((step) => (step.kind === 'folder' ? [dirname(step.target)] : [])));
  for (const parent of parents) {
    if (!existsSync(parent)) continue;
    for (const name of readdirSync(parent)) {
      if (name.startsWith('.thv-new-')) rmSync(join(parent, name), { recursive: true, force: true });
    }
  }
}

function readSteps(path: string): readonly Undo[] {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as readonly Undo[];
  } catch {
    // A journal is replaced in one step; one that does not parse is a left-over temporary file.
    return [];
  }
}

async function undoAll(context: ServiceContext, steps: readonly Undo[]): Promise<readonly unknown[]> {
  const errors: unknown[] = [];
  for (const step of steps.toReversed()) {
    try {
      await undo(context, step);
    } catch (error) {
      errors.push(error);
    }
  }
  return errors;
}

async function undo(context: ServiceContext, step: Undo): Promise<void> {
  switch (step.kind) {
    case 'folder':
      // Without its backup the step itself never happened: the folder is as it was.
      if (step.backup !== undefined && !(await exists(step.backup))) return;
      await rm(step.target, { recursive: true, force: true });
      if (step.backup !== undefined) await rename(step.backup, step.target);
      return;
    case 'record':
      if (step.before) await context.store.put(fromStored(step.before));
      else await context.store.delete(step.key);
      return;
    case 'entry': {
      const { before, name } = step;
      const lock = await updateLock(step.projectRoot, (current) => restoreEntry(current, name, before), { references });
      if (step.created && isEmpty(lock)) await rm(join(step.projectRoot, LOCK_FILE_NAME), { force: true });
      return;
    }
    case 'group':
      await context.groups?.removeSkill(step.group, step.skill);
  }
}

const isEmpty = (lock: LockFile): boolean =>
  lock.skills.length === 0 && lock.plugins.length === 0 && lock.extras.size === 0;

function restoreEntry(lock: LockFile, name: string, before: LockEntry | undefined): LockFile {
  if (before) return putEntry(lock, before);
  // Only this entry: its dependents are steps of their own.
  return findEntry(lock, name) ? { ...lock, skills: lock.skills.filter((entry) => entry.name !== name) } : lock;
}

const journalFolder = (context: ServiceContext): string => join(context.stateFolder, 'skills-journal');
const keyOf = ({ name, scope, projectRoot }: RecordKey): RecordKey => ({ name, scope, projectRoot });
const exists = async (path: string): Promise<boolean> => (await lstat(path).catch(() => undefined)) !== undefined;

function toStored({ bundle, payload, ...record }: SkillRecord): StoredRecord {
  return {
    ...record,
    ...(bundle ? { bundle: Buffer.from(bundle).toString('base64') } : {}),
    ...(payload ? { payload: Buffer.from(payload).toString('base64') } : {}),
  };
}

function fromStored({ bundle, payload, ...record }: StoredRecord): SkillRecord {
  return {
    ...record,
    ...(bundle === undefined ? {} : { bundle: Buffer.from(bundle, 'base64') }),
    ...(payload === undefined ? {} : { payload: Buffer.from(payload, 'base64') }),
  };
}
