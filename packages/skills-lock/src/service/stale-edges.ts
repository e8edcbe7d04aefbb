import { putEntry } from '../lock/edit.js';
import { readLock } from '../lock/file.js';
import type { LockEntry } from '../lock/types.js';
import { references } from './context.js';
import type { ServiceContext } from './context.js';
import type { Installed } from './install-one.js';
import type { Place } from './paths.js';
import type { Transaction } from './transaction.js';
import { removeSkill } from './uninstall.js';

/**
 * A new version may need less than the old one: entries that name `parent` although it no longer needs them lose
 * it, and what nobody needs any more goes.
 */
export async function dropStaleEdges(
  context: ServiceContext,
  transaction: Transaction,
  place: Place & { readonly projectRoot: string },
  parent: string,
  installed: readonly Installed[],
): Promise<void> {
  const needed = new Set(installed.map(({ record }) => record.name));
  const lock = await readLock(place.projectRoot, { references });
  const stale = lock.skills.filter(({ name, requiredBy }) => requiredBy?.includes(parent) && !needed.has(name));
  if (stale.length === 0) return;
  await transaction.changeLock(place.projectRoot, (current) =>
    stale.reduce((next, entry) => putEntry(next, withoutParent(entry, parent)), current),
  );
  for (const entry of stale) {
    const left = withoutParent(entry, parent);
    if (left.requiredBy === undefined && left.explicit !== true)
      await removeSkill(context, transaction, entry.name, place);
  }
}

function withoutParent(entry: LockEntry, parent: string): LockEntry {
  const { requiredBy, ...rest } = entry;
  const left = (requiredBy ?? []).filter((name) => name !== parent);
  return left.length === 0 ? rest : { ...rest, requiredBy: left };
}
