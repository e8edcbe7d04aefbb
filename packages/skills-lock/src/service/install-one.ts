import { lstat } from 'node:fs/promises';
import { relative } from 'node:path';
import { writeSkill } from '@thv/oci-skills';
import { resolveClients } from '../clients.js';
import { SkillsLockError } from '../errors.js';
import { addParent, findEntry, putEntry } from '../lock/edit.js';
import { readLock } from '../lock/file.js';
import type { LockEntry } from '../lock/types.js';
import { isSkillName, SKILL_NAME_RULE } from '../skill-name.js';
import type { SkillRecord } from '../store/port.js';
import { pathOf } from './candidate.js';
import type { Candidate, LoadedSkill } from './candidate.js';
import { references } from './context.js';
import type { ServiceContext } from './context.js';
import { baseOf, targetsOf } from './paths.js';
import type { Place, SkillTarget } from './paths.js';
import type { Transaction } from './transaction.js';
import { decideTrust } from './trust.js';
import type { TrustDecision } from './trust.js';

/** What one installation is to do, once its source is resolved. */
export interface InstallPlan {
  /** What the lock file is to record as the source. */
  readonly source: string;
  readonly candidate: Candidate;
  readonly place: Place;
  readonly clients?: readonly string[];
  readonly force?: boolean;
  readonly allowUnsigned?: boolean;
  readonly publicKey?: string;
  readonly group?: string;
  /** The skill that needs this one. */
  readonly parent?: string;
  /** The skills whose needs are being installed, outermost first; meeting one again is a circle. */
  readonly active?: readonly string[];
  /** Sync and upgrade: the lock decides, and everything is written anew. */
  readonly lockDriven?: {
    readonly name: string;
    readonly explicit: boolean;
    /** What the files must hash to, where the lock says so. */
    readonly contentDigest?: string;
    readonly resolvedReference?: string;
    /** The anchor was dropped on request; what is found is recorded anew. */
    readonly signerChange?: boolean;
  };
  readonly signal?: AbortSignal;
}

/** What one installation did. */
export interface Installed {
  readonly record: SkillRecord;
  readonly trust: TrustDecision;
  readonly loaded: LoadedSkill;
  readonly notices: readonly string[];
}

/** Verifies, writes, records and locks one skill inside a transaction. */
export async function installOne(
  context: ServiceContext,
  transaction: Transaction,
  plan: InstallPlan,
): Promise<Installed> {
  const { candidate, place } = plan;
  const loaded = await candidate.load();
  const { name } = loaded.skill;
  refuseCircle(plan.active ?? [], name);
  const entry =
    place.projectRoot === undefined ? undefined : findEntry(await readLock(place.projectRoot, { references }), name);
  const notices = [...candidate.notices, ...checkNames(plan, name, entry)];
  checkContent(plan, loaded);
  const trust = await trustOf(context, plan, loaded, entry);
  const existing = await context.store.get({ name, scope: place.scope, projectRoot: place.projectRoot ?? '' });
  const clients = resolveClients(plan.clients ?? undefined, context.isClientInstalled);
  const work = planFiles(context, name, plan, existing, clients);
  checkOverlap(context, plan, work.write);
  await checkUnmanaged(work.write, work.force, name);
  for (const target of work.write) {
    await transaction.replaceFolder(target.folder, () =>
      writeSkill(loaded.files, target.folder, {
        expectedName: name,
        trustedBase: baseOf(context, place),
        ...(plan.signal ? { signal: plan.signal } : {}),
      }),
    );
  }
  const record = recordOf(context, plan, loaded, trust, existing, work.clients);
  if (work.write.length > 0 || existing === undefined || place.scope === 'project') await transaction.putRecord(record);
  if (plan.group !== undefined || existing === undefined) await joinGroup(context, transaction, plan.group, name);
  if (place.projectRoot !== undefined) {
    await transaction.changeLock(place.projectRoot, (lock) =>
      putEntry(lock, entryOf(plan, loaded, trust, findEntry(lock, name))),
    );
  }
  return { record, trust, loaded, notices: [...notices, ...trust.notices] };
}

function refuseCircle(active: readonly string[], name: string): void {
  if (!active.includes(name)) return;
  throw new SkillsLockError(
    'ERR_SKILLS_LOCK_INVALID_SKILL',
    `Skills need one another in a circle: ${[...active, name].join(' -> ')}; break it in one SKILL.md`,
  );
}

/** A trust decision of another place must not leak: user scope verifies nothing, as the lock file is what records it. */
async function trustOf(
  context: ServiceContext,
  plan: InstallPlan,
  loaded: LoadedSkill,
  entry: LockEntry | undefined,
): Promise<TrustDecision> {
  if (plan.place.projectRoot === undefined) {
    if (plan.publicKey !== undefined) {
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_ARGUMENT',
        'A public key is pinned in the lock file of a project; pass --scope project with --public-key',
      );
    }
    return { notices: [] };
  }
  if (plan.candidate.kind === 'local-build' && plan.candidate.reference === '' && plan.lockDriven === undefined) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      `The local build ${JSON.stringify(plan.candidate.tag)} cannot be locked, since its tag is no full reference; build it with --tag registry/repository:version`,
    );
  }
  // An anchor that is dropped on request is verified as if it were never there.
  const anchor = plan.lockDriven?.signerChange === true && entry ? withoutAnchor(entry) : entry;
  return await decideTrust(context, {
    name: loaded.skill.name,
    entry: anchor,
    candidate: plan.candidate,
    loaded,
    allowUnsigned: plan.allowUnsigned ?? false,
    lockDriven: plan.lockDriven !== undefined,
    ...(plan.publicKey === undefined ? {} : { publicKey: plan.publicKey }),
    ...(plan.signal ? { signal: plan.signal } : {}),
  });
}

function withoutAnchor(entry: LockEntry): LockEntry {
  const { provenance: _, unsigned: __, ...rest } = entry;
  return rest;
}

function checkNames(plan: InstallPlan, name: string, entry: LockEntry | undefined): readonly string[] {
  if (!isSkillName(name)) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_INVALID_SKILL',
      `The skill is named ${JSON.stringify(name)}; a name has ${SKILL_NAME_RULE}`,
    );
  }
  const wanted = plan.lockDriven?.name;
  if (wanted !== undefined && wanted !== name) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_INVALID_SKILL',
      `The lock file expects a skill named ${JSON.stringify(wanted)}, its source now holds one named ${JSON.stringify(name)}`,
    );
  }
  const { candidate } = plan;
  if (candidate.kind !== 'git' || candidate.expectedName === name) return [];
  const differs = `${candidate.reference} holds a skill named ${JSON.stringify(name)}, not ${JSON.stringify(candidate.expectedName)}`;
  if (plan.place.scope === 'project' && entry === undefined) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_INVALID_SKILL',
      `${differs}; rename the folder or the skill so that a lock file names one thing`,
    );
  }
  return [differs];
}

/** The same pin must give the same files; anything else was changed on the way. */
function checkContent(plan: InstallPlan, loaded: LoadedSkill): void {
  const wanted = plan.lockDriven?.contentDigest;
  if (wanted === undefined || wanted === loaded.contentDigest) return;
  throw new SkillsLockError(
    'ERR_SKILLS_LOCK_INVALID_SKILL',
    `${plan.candidate.digest} holds files with the digest ${loaded.contentDigest}, the lock file expects ${wanted}; find out who changed which`,
    { details: { reason: 'validation-rejected' } },
  );
}

/** Which folders are written, whether what is there may go, and the clients of the record afterwards. */
function planFiles(
  context: ServiceContext,
  name: string,
  plan: InstallPlan,
  existing: SkillRecord | undefined,
  requested: readonly string[],
): { readonly write: readonly SkillTarget[]; readonly force: boolean; readonly clients: readonly string[] } {
  const force = plan.force ?? false;
  if (existing === undefined) {
    return {
      write: targetsOf(context, name, requested, plan.place),
      force: force || plan.lockDriven !== undefined,
      clients: requested,
    };
  }
  const clients = [...new Set([...existing.clients, ...requested])];
  if (existing.digest !== plan.candidate.digest || plan.lockDriven !== undefined || existing.status !== 'installed') {
    return { write: targetsOf(context, name, clients, plan.place), force: true, clients };
  }
  const owned = new Set(targetsOf(context, name, existing.clients, plan.place).map(({ folder }) => folder));
  const missing = targetsOf(context, name, requested, plan.place).filter(({ folder }) => !owned.has(folder));
  // Force means that the user wants the files as they were published, whatever is there.
  return { write: force ? targetsOf(context, name, clients, plan.place) : missing, force, clients };
}

async function checkUnmanaged(targets: readonly SkillTarget[], force: boolean, name: string): Promise<void> {
  for (const { folder } of targets) {
    const entry = await lstat(folder).catch(() => undefined);
    if (entry?.isSymbolicLink()) {
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_UNSAFE_PATH',
        `${folder} is a symbolic link; remove it, so that ${name} can be written there`,
      );
    }
    if (entry !== undefined && !force) {
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_CONFLICT',
        `${folder} exists but is not managed; move it away, or pass --force to replace it`,
      );
    }
  }
}

/** Installing a folder onto itself would remove the source. */
function checkOverlap(context: ServiceContext, plan: InstallPlan, targets: readonly SkillTarget[]): void {
  if (plan.candidate.kind !== 'local-path') return;
  const source = pathOf(context, plan.source, plan.place.projectRoot);
  for (const { folder } of targets) {
    const inside = relative(folder, source);
    const around = relative(source, folder);
    if (!inside.startsWith('..') || !around.startsWith('..')) {
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_ARGUMENT',
        `${source} and ${folder} lie inside one another; install from a folder outside of the client's`,
      );
    }
  }
}

function recordOf(
  context: ServiceContext,
  plan: InstallPlan,
  { skill }: LoadedSkill,
  trust: TrustDecision,
  existing: SkillRecord | undefined,
  clients: readonly string[],
): SkillRecord {
  const { candidate, place } = plan;
  return {
    name: skill.name,
    scope: place.scope,
    projectRoot: place.projectRoot ?? '',
    reference:
      plan.lockDriven?.resolvedReference ??
      (candidate.reference === '' ? candidate.tag || plan.source : candidate.reference),
    tag: candidate.tag,
    digest: candidate.digest,
    version: skill.version,
    description: skill.description,
    author: skill.metadata.get('author') ?? '',
    tags: (skill.metadata.get('tags') ?? '').split(/[\s,]+/).filter(Boolean),
    clients,
    status: 'installed',
    installedAt: existing?.installedAt ?? context.now(),
    managed: place.projectRoot !== undefined,
    dependencies: skill.requires.map(({ reference }) => ({ reference })),
    ...(trust.bundle ? { bundle: trust.bundle } : {}),
    ...(trust.payload ? { payload: trust.payload } : {}),
  };
}

function entryOf(
  plan: InstallPlan,
  loaded: LoadedSkill,
  trust: TrustDecision,
  before: LockEntry | undefined,
): LockEntry {
  const { candidate, lockDriven, parent } = plan;
  const reference = lockDriven?.resolvedReference ?? candidate.reference;
  const explicit = lockDriven ? lockDriven.explicit : parent === undefined || before?.explicit === true;
  const entry: LockEntry = {
    name: loaded.skill.name,
    source: plan.source,
    digest: candidate.digest,
    contentDigest: loaded.contentDigest,
    ...(loaded.skill.version === '' ? {} : { version: loaded.skill.version }),
    ...(reference === '' ? {} : { resolvedReference: reference }),
    ...(trust.provenance ? { provenance: trust.provenance } : {}),
    ...(trust.unsigned ? { unsigned: true } : {}),
    ...(before?.requiredBy ? { requiredBy: before.requiredBy } : {}),
    ...(explicit ? { explicit: true } : {}),
  };
  // A dependency keeps the source that somebody asked for by name.
  const kept = parent !== undefined && before?.explicit === true ? { ...entry, source: before.source } : entry;
  return parent === undefined ? kept : addParent(kept, parent);
}

async function joinGroup(
  context: ServiceContext,
  transaction: Transaction,
  group: string | undefined,
  name: string,
): Promise<void> {
  if (!context.groups) return;
  const wanted = group === undefined || group === '' ? 'default' : group;
  if (!(await context.groups.exists(wanted))) {
    if (group === undefined || group === '') return;
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_NOT_FOUND',
      `Group ${JSON.stringify(wanted)} does not exist; create it with "thv group create ${wanted}"`,
    );
  }
  await transaction.addToGroup(wanted, name);
}
