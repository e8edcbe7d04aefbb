import type { LockEntry } from './types.js';

/** The first cycle of `requiredBy` edges as a path (`a`, `b`, `a`), or `undefined`. */
export function findCycle(entries: readonly LockEntry[]): readonly string[] | undefined {
  const parents = new Map(entries.map((entry) => [entry.name, entry.requiredBy ?? []]));
  const done = new Set<string>();
  for (const { name } of entries) {
    const cycle = walk(name, parents, done);
    if (cycle) return cycle;
  }
  return undefined;
}

/** Depth first without recursion: a hostile file may chain thousands of entries. */
function walk(
  start: string,
  parents: ReadonlyMap<string, readonly string[]>,
  done: Set<string>,
): readonly string[] | undefined {
  const path: string[] = [];
  const onPath = new Set<string>();
  const pending: { readonly name: string; readonly leave: boolean }[] = [{ name: start, leave: false }];
  for (let step = pending.pop(); step; step = pending.pop()) {
    if (step.leave) {
      onPath.delete(step.name);
      path.pop();
      done.add(step.name);
      continue;
    }
    if (onPath.has(step.name)) return [...path.slice(path.indexOf(step.name)), step.name];
    if (done.has(step.name)) continue;
    onPath.add(step.name);
    path.push(step.name);
    pending.push({ name: step.name, leave: true });
    for (const parent of parents.get(step.name) ?? []) pending.push({ name: parent, leave: false });
  }
  return undefined;
}

/**
 * What remains when `removed` goes: entries that lose their last parent and that nobody installed by name go
 * with it, and theirs in turn.
 */
export function removeWithOrphans(
  entries: readonly LockEntry[],
  removed: string,
): { readonly kept: readonly LockEntry[]; readonly gone: readonly string[] } {
  const gone = new Set<string>([removed]);
  let kept = entries.filter((entry) => entry.name !== removed);
  for (const name of gone) {
    kept = kept.flatMap((entry) => {
      const parents = entry.requiredBy ?? [];
      if (!parents.includes(name)) return [entry];
      const left = parents.filter((parent) => parent !== name);
      if (left.length > 0) return [{ ...entry, requiredBy: left }];
      if (entry.explicit === true) return [withoutParents(entry)];
      gone.add(entry.name);
      return [];
    });
  }
  return { kept, gone: [...gone] };
}

function withoutParents(entry: LockEntry): LockEntry {
  const { requiredBy: _, ...rest } = entry;
  return rest;
}
