import { removeWithOrphans } from './graph.js';
import { compareBytes } from './text.js';
import type { LockEntry, LockFile, LockKey } from './types.js';

/** The entry of that name, or `undefined`. */
export const findEntry = (lock: LockFile, name: string, key: LockKey = 'skills'): LockEntry | undefined =>
  lock[key].find((entry) => entry.name === name);

/** The lock with `entry` in place of the one of its name, or added. */
export function putEntry(lock: LockFile, entry: LockEntry, key: LockKey = 'skills'): LockFile {
  const others = lock[key].filter(({ name }) => name !== entry.name);
  return { ...lock, [key]: [...others, entry].toSorted((a, b) => compareBytes(a.name, b.name)) };
}

/**
 * The lock without the entry of that name, and without those that were only there for it. Answers the very same
 * lock when there is no such entry, so that nothing is written.
 */
export function removeEntry(
  lock: LockFile,
  name: string,
  key: LockKey = 'skills',
): { readonly lock: LockFile; readonly gone: readonly string[] } {
  if (findEntry(lock, name, key) === undefined) return { lock, gone: [] };
  const { kept, gone } = removeWithOrphans(lock[key], name);
  return { lock: { ...lock, [key]: kept }, gone };
}

/** The entry with `parent` among those that need it. */
export function addParent(entry: LockEntry, parent: string): LockEntry {
  const parents = new Set(entry.requiredBy);
  parents.add(parent);
  return { ...entry, requiredBy: [...parents].toSorted(compareBytes) };
}
