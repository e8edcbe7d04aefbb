import { lstat } from 'node:fs/promises';
import { directoryDigest, verifyStoredSignature } from '@thv/oci-skills';
import type { Provenance } from '@thv/oci-skills';
import { resolveClients } from '../clients.js';
import { SkillsLockError } from '../errors.js';
import { findEntry, putEntry } from '../lock/edit.js';
import { readLock } from '../lock/file.js';
import { digestKind } from '../lock/rules.js';
import { compareBytes } from '../lock/text.js';
import type { LockEntry, LockFile } from '../lock/types.js';
import { checkProjectRoot } from '../project-root.js';
import type { SkillRecord } from '../store/port.js';
import type { SkillFailure, SyncRequest, SyncResult } from '../types.js';
import { resolvePinned } from './candidate.js';
import { references } from './context.js';
import type { ServiceContext } from './context.js';
import { findDrift } from './drift.js';
import { installOne } from './install-one.js';
import { exclusively, inTransaction } from './lock-session.js';
import { targetsOf } from './paths.js';
import { reasonOf, translated } from './translate.js';
import { leaveGroups, removeSkill } from './uninstall.js';

/** What the lock file and the records say about one name. */
export type SyncState = 'already_current' | 'drifted' | 'missing' | 'removed_from_lock' | 'never_managed';

/** What sync does with one name. */
export interface SyncStep {
  readonly name: string;
  readonly state: SyncState;
  readonly drift: readonly string[];
  readonly action: 'none' | 'install' | 'prune' | 'adopt';
}

/** Decides from states alone, so that check and apply cannot differ. */
export function planSync(
  states: ReadonlyMap<string, { readonly state: SyncState; readonly drift: readonly string[] }>,
  options: { readonly check?: boolean; readonly prune?: boolean; readonly adopt?: boolean },
): readonly SyncStep[] {
  const actionOf = (state: SyncState): SyncStep['action'] => {
    if (options.check) return 'none';
    if (state === 'drifted' || state === 'missing') return 'install';
    if (state === 'removed_from_lock') return options.prune ? 'prune' : 'none';
    return state === 'never_managed' && options.adopt ? 'adopt' : 'none';
  };
  return [...states]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([name, { state, drift }]) => ({ name, state, drift, action: actionOf(state) }));
}

/** Makes the installed skills of a project fit its lock file, or reports where they do not. */
export async function sync(context: ServiceContext, request: SyncRequest, signal?: AbortSignal): Promise<SyncResult> {
  return await translated(async () => {
    const projectRoot = await checkProjectRoot(request.project_root);
    const requested = request.clients?.length ? resolveClients(request.clients, context.isClientInstalled) : undefined;
    const run = async () => {
      const lock = await readLock(projectRoot, { references });
      const records = await context.store.list({ scope: 'project', projectRoot });
      const states = await statesOf(context, projectRoot, lock, records, requested);
      return await applySync(context, projectRoot, planSync(states, request), request, signal);
    };
    // A check changes nothing, not even what an interrupted change left.
    return request.check ? await run() : await exclusively(context, projectRoot, run, signal);
  });
}

async function statesOf(
  context: ServiceContext,
  projectRoot: string,
  lock: LockFile,
  records: readonly SkillRecord[],
  requested: readonly string[] | undefined,
): Promise<Map<string, { state: SyncState; drift: readonly string[] }>> {
  const states = new Map<string, { state: SyncState; drift: readonly string[] }>();
  const byName = new Map(records.map((record) => [record.name, record]));
  for (const entry of lock.skills) {
    const record = byName.get(entry.name);
    if (!record) {
      states.set(entry.name, { state: 'missing', drift: [] });
      continue;
    }
    const drift = await findDrift(context, entry, record, requested ?? record.clients, {
      scope: 'project',
      projectRoot,
    });
    states.set(entry.name, { state: drift.length === 0 ? 'already_current' : 'drifted', drift });
  }
  for (const { name, managed } of records) {
    if (!states.has(name)) states.set(name, { state: managed ? 'removed_from_lock' : 'never_managed', drift: [] });
  }
  return states;
}

async function applySync(
  context: ServiceContext,
  projectRoot: string,
  steps: readonly SyncStep[],
  request: SyncRequest,
  signal: AbortSignal | undefined,
): Promise<SyncResult> {
  const done = { installed: [] as string[], pruned: [] as string[], adopted: [] as string[] };
  const failed: SkillFailure[] = [];
  for (const step of steps) {
    signal?.throwIfAborted();
    try {
      if (step.action === 'install') {
        await restore(context, projectRoot, step.name, request, signal);
        done.installed.push(step.name);
      } else if (step.action === 'prune') {
        done.pruned.push(...(await prune(context, projectRoot, step.name)));
      } else if (step.action === 'adopt') {
        await adopt(context, projectRoot, step.name, request.allow_unsigned ?? false);
        done.adopted.push(step.name);
      }
    } catch (error) {
      signal?.throwIfAborted();
      failed.push({
        name: step.name,
        reason: reasonOf(error),
        error: error instanceof Error ? error.message : String(error),
      });
    }
  }
  const named = (state: SyncState) => steps.filter((step) => step.state === state).map(({ name }) => name);
  return {
    ...done,
    already_current: named('already_current'),
    drifted: named('drifted'),
    missing: named('missing'),
    removed_from_lock: named('removed_from_lock'),
    never_managed: named('never_managed').filter((name) => !done.adopted.includes(name)),
    failed,
    drift: Object.fromEntries(steps.filter(({ drift }) => drift.length > 0).map(({ name, drift }) => [name, drift])),
  };
}

async function restore(
  context: ServiceContext,
  projectRoot: string,
  name: string,
  request: SyncRequest,
  signal: AbortSignal | undefined,
): Promise<void> {
  const entry = findEntry(await readLock(projectRoot, { references }), name);
  if (!entry) return;
  const record = await context.store.get({ name, scope: 'project', projectRoot });
  const clients = request.clients?.length ? request.clients : record?.clients;
  const candidate = await resolvePinned(context, entry, { base: projectRoot, ...(signal ? { signal } : {}) });
  await inTransaction(context, projectRoot, (transaction) =>
    installOne(context, transaction, {
      source: entry.source,
      candidate,
      place: { scope: 'project', projectRoot },
      ...(clients ? { clients } : {}),
      allowUnsigned: request.allow_unsigned ?? false,
      lockDriven: {
        name,
        explicit: entry.explicit ?? false,
        ...(entry.contentDigest === undefined ? {} : { contentDigest: entry.contentDigest }),
        ...(entry.resolvedReference === undefined ? {} : { resolvedReference: entry.resolvedReference }),
      },
      ...(signal ? { signal } : {}),
    }),
  );
}

async function prune(context: ServiceContext, projectRoot: string, name: string): Promise<readonly string[]> {
  const removed = await inTransaction(context, projectRoot, (transaction) =>
    removeSkill(context, transaction, name, { scope: 'project', projectRoot }),
  );
  await leaveGroups(context, removed);
  return removed.map((record) => record.name);
}

/** Takes an installation that was never managed into the lock, with the trust that its stored signature proves. */
async function adopt(
  context: ServiceContext,
  projectRoot: string,
  name: string,
  allowUnsigned: boolean,
): Promise<void> {
  const record = await context.store.get({ name, scope: 'project', projectRoot });
  if (!record) return;
  const [target] = targetsOf(context, name, record.clients, { scope: 'project', projectRoot });
  if (!target || (await lstat(target.folder).catch(() => undefined)) === undefined) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_INVALID_SKILL',
      `${name} has no files in this project; install it again`,
    );
  }
  const provenance = await provenanceOf(context, record);
  if (provenance === undefined && !allowUnsigned) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_REFUSED',
      `${name} has no stored signature. Pass --allow-unsigned to adopt it all the same; the lock file will say so`,
      { details: { reason: 'unsigned-rejected' } },
    );
  }
  const entry: LockEntry = {
    name,
    source: record.reference,
    resolvedReference: record.reference,
    digest: record.digest,
    contentDigest: await directoryDigest(target.folder),
    explicit: true,
    ...(record.version === '' ? {} : { version: record.version }),
    ...(provenance ? { provenance } : { unsigned: true }),
  };
  await inTransaction(context, projectRoot, async (transaction) => {
    await transaction.changeLock(projectRoot, (lock) => putEntry(lock, entry));
    await transaction.putRecord({ ...record, managed: true });
  });
}

/** The signer that the stored bundle proves. A key is not recoverable from it, so it cannot be adopted. */
async function provenanceOf(context: ServiceContext, record: SkillRecord): Promise<Provenance | undefined> {
  if (record.bundle === undefined || digestKind(record.digest) !== 'oci') return undefined;
  const bundle = Buffer.from(record.bundle).toString();
  try {
    return await verifyStoredSignature({
      ...context.trust,
      bundle,
      ...(record.payload ? { payload: record.payload } : {}),
      reference: record.reference,
      digest: record.digest,
      policy: { kind: 'keyless' },
    });
  } catch (error) {
    if (reasonOf(error) !== 'key-signed') throw error;
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_REFUSED',
      `${record.name} is signed with a key, which cannot be adopted. Install it again with --public-key`,
      { cause: error, details: { reason: 'key-signed' } },
    );
  }
}
