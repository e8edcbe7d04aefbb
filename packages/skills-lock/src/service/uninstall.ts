import { SkillsLockError } from '../errors.js';
import { removeEntry } from '../lock/edit.js';
import { readLock } from '../lock/file.js';
import { resolveScope } from '../project-root.js';
import { isSkillName, SKILL_NAME_RULE } from '../skill-name.js';
import type { SkillRecord } from '../store/port.js';
import type { SkillSelector } from '../types.js';
import { references } from './context.js';
import type { ServiceContext } from './context.js';
import { exclusively, inTransaction } from './lock-session.js';
import { checkRemovable, removeEmptyParents, targetsOf } from './paths.js';
import type { Place } from './paths.js';
import type { Transaction } from './transaction.js';
import { translated } from './translate.js';

/** Removes a skill, its record and its lock entry, and what was installed only because it needed it. */
export async function uninstall(context: ServiceContext, selector: SkillSelector, signal?: AbortSignal): Promise<void> {
  await translated(async () => {
    requireName(selector.name);
    const place = await resolveScope(selector.scope, selector.project_root, context.workingFolder);
    await exclusively(
      context,
      place.projectRoot,
      async () => {
        const removed = await inTransaction(context, place.projectRoot, (transaction) =>
          removeSkill(context, transaction, selector.name, place),
        );
        await leaveGroups(context, removed);
        for (const record of removed)
          for (const client of record.clients) await removeEmptyParents(context, client, place);
      },
      signal,
    );
  });
}

/** Refuses what is no skill name. */
export function requireName(name: string): void {
  if (!isSkillName(name))
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      `${JSON.stringify(name)} is no skill name: ${SKILL_NAME_RULE}`,
    );
}

/** Removes a skill and its orphans inside a transaction, and answers their records. */
export async function removeSkill(
  context: ServiceContext,
  transaction: Transaction,
  name: string,
  place: Place,
): Promise<readonly SkillRecord[]> {
  const projectRoot = place.projectRoot ?? '';
  const record = await context.store.get({ name, scope: place.scope, projectRoot });
  if (!record) {
    const where = place.scope === 'project' ? `in the project ${projectRoot}` : 'for the user';
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_NOT_FOUND',
      `No skill ${JSON.stringify(name)} is installed ${where}; "thv skill list" shows what is`,
    );
  }
  let names: readonly string[] = [name];
  if (place.projectRoot !== undefined) {
    const lock = await readLock(place.projectRoot, { references });
    names = removeEntry(lock, name).gone;
    if (!names.includes(name)) names = [name, ...names];
    // The lock goes first: a skill that is locked and missing is repaired by sync, one that is there and unlocked is not.
    await transaction.changeLock(place.projectRoot, (current) => removeEntry(current, name).lock);
  }
  const removed: SkillRecord[] = [];
  for (const gone of names) {
    const found = await context.store.get({ name: gone, scope: place.scope, projectRoot });
    if (!found) continue;
    await removeFiles(context, transaction, found, place);
    await transaction.deleteRecord(found);
    removed.push(found);
  }
  return removed;
}

async function removeFiles(
  context: ServiceContext,
  transaction: Transaction,
  record: SkillRecord,
  place: Place,
): Promise<void> {
  const targets = targetsOf(context, record.name, record.clients, place);
  const kept = await sharedFolders(context, record);
  for (const { folder, clients } of targets) {
    if (kept.has(folder)) continue;
    await checkRemovable(context, folder, record.name, clients[0] ?? '', place);
    await transaction.removeFolder(folder);
  }
}

/** Home and project may be the same folder; what another installation of the name owns stays. */
async function sharedFolders(context: ServiceContext, record: SkillRecord): Promise<ReadonlySet<string>> {
  const others = (await context.store.list({ name: record.name })).filter(
    ({ scope, projectRoot }) => scope !== record.scope || projectRoot !== record.projectRoot,
  );
  const folders = others.flatMap((other) => {
    const root = other.projectRoot === '' ? {} : { projectRoot: other.projectRoot };
    return targetsOf(context, other.name, other.clients, { scope: other.scope, ...root }).map(({ folder }) => folder);
  });
  return new Set(folders);
}

/** Groups know names without a scope, so a name stays while any installation of it is left. */
export async function leaveGroups(context: ServiceContext, removed: readonly SkillRecord[]): Promise<void> {
  for (const { name } of removed) {
    if ((await context.store.list({ name })).length === 0) await context.groups?.removeSkillFromAll(name);
  }
}
