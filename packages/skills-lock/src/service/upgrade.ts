import {
  OciSkillsError,
  matchProvenance,
  parseReference,
  verifyCommitSignature,
  verifySignature,
} from '@thv/oci-skills';
import type { Provenance } from '@thv/oci-skills';
import { SkillsLockError } from '../errors.js';
import { isCommit, looksLikeGit, parseGitReference } from '../git/reference.js';
import { findEntry } from '../lock/edit.js';
import { readLock } from '../lock/file.js';
import type { LockEntry } from '../lock/types.js';
import { checkProjectRoot } from '../project-root.js';
import type { UpgradeOutcome, UpgradeRequest } from '../types.js';
import { isLocalPath, resolveSource } from './candidate.js';
import type { Candidate } from './candidate.js';
import { references } from './context.js';
import type { ServiceContext } from './context.js';
import { installTree } from './install.js';
import { exclusively, inTransaction } from './lock-session.js';
import { dropStaleEdges } from './stale-edges.js';
import { reasonOf, translate, translated } from './translate.js';

/** Moves locked skills to what their sources stand for now, or reports what would move. */
export async function upgrade(
  context: ServiceContext,
  request: UpgradeRequest,
  signal?: AbortSignal,
): Promise<{ readonly outcomes: readonly UpgradeOutcome[] }> {
  return await translated(async () => {
    const projectRoot = await checkProjectRoot(request.project_root);
    const run = async () => {
      const lock = await readLock(projectRoot, { references });
      const names = request.names?.length ? [...new Set(request.names)] : lock.skills.map(({ name }) => name);
      for (const name of names) {
        if (!findEntry(lock, name))
          throw new SkillsLockError(
            'ERR_SKILLS_LOCK_NOT_FOUND',
            `${JSON.stringify(name)} is not in the lock file; it has ${lock.skills.map((entry) => entry.name).join(', ') || 'no skills'}`,
          );
      }
      const outcomes: UpgradeOutcome[] = [];
      for (const name of names) {
        signal?.throwIfAborted();
        outcomes.push(await upgradeOne(context, projectRoot, name, request, signal));
      }
      return { outcomes };
    };
    return request.preview || request.fail_on_changes
      ? await run()
      : await exclusively(context, projectRoot, run, signal);
  });
}

async function upgradeOne(
  context: ServiceContext,
  projectRoot: string,
  name: string,
  request: UpgradeRequest,
  signal: AbortSignal | undefined,
): Promise<UpgradeOutcome> {
  // Read anew: an upgrade before this one may have changed what this skill is needed by, or removed it.
  const entry = findEntry(await readLock(projectRoot, { references }), name);
  if (!entry) return { name, status: 'up-to-date' };
  if (isImmutable(entry.source)) return { name, status: 'not-upgradable', old_digest: entry.digest };
  try {
    const candidate = await resolveSource(context, entry.source, {
      localBuilds: false,
      base: projectRoot,
      ...(signal ? { signal } : {}),
    });
    return await decide(context, projectRoot, entry, candidate, request, signal);
  } catch (error) {
    signal?.throwIfAborted();
    const known = translate(error);
    return {
      name,
      status: 'failed',
      old_digest: entry.digest,
      reason: reasonOf(known),
      error: known instanceof Error ? known.message : String(known),
    };
  }
}

async function decide(
  context: ServiceContext,
  projectRoot: string,
  entry: LockEntry,
  candidate: Candidate,
  request: UpgradeRequest,
  signal: AbortSignal | undefined,
): Promise<UpgradeOutcome> {
  const { name } = entry;
  if (candidate.digest === entry.digest)
    return { name, status: 'up-to-date', old_digest: entry.digest, new_digest: entry.digest };
  const moved = {
    name,
    old_digest: entry.digest,
    new_digest: candidate.digest,
    ...(candidate.reference === entry.resolvedReference ? {} : { new_resolved_reference: candidate.reference }),
  };
  if (isRepositoryMove(entry, candidate) && !request.allow_ref_change)
    return { ...moved, status: 'ref-change-blocked' };
  const signer = await probeSigner(context, entry, candidate, signal);
  if (signer.changed && !request.allow_signer_change)
    return { ...moved, status: 'signer-change-blocked', new_signer_identity: signer.identity };
  const outcome: UpgradeOutcome = {
    ...moved,
    status: 'upgraded',
    ...(signer.changed ? { new_signer_identity: signer.identity } : {}),
    ...(signer.changed && signer.identity === '' ? { downgraded: true } : {}),
  };
  if (request.preview || request.fail_on_changes) return outcome;
  await apply(context, projectRoot, entry, candidate, request, signer.changed, signal);
  return outcome;
}

/** A source that names a digest or a full commit never stands for anything else; neither does a folder of a machine. */
function isImmutable(source: string): boolean {
  if (isLocalPath(source)) return false;
  if (looksLikeGit(source)) return isCommit(parseGitReference(source).ref);
  return source.includes('@sha256:');
}

/** Another tag is what an upgrade is for; another repository needs a word of its own. */
function isRepositoryMove(entry: LockEntry, candidate: Candidate): boolean {
  const before = entry.resolvedReference;
  if (before === undefined) return candidate.reference !== '';
  if (candidate.git || before.startsWith('git://')) return before !== candidate.reference;
  const old = parseReference(before);
  return (
    candidate.oci === undefined ||
    old.registry !== candidate.oci.registry ||
    old.repository !== candidate.oci.repository
  );
}

/**
 * Whether the candidate carries the signature that the entry pins. `identity` is who signed instead, empty for
 * nobody. A candidate under another key is an error: no flag can re-anchor to a key that nobody named.
 */
async function probeSigner(
  context: ServiceContext,
  entry: LockEntry,
  candidate: Candidate,
  signal: AbortSignal | undefined,
): Promise<{ readonly changed: boolean; readonly identity: string }> {
  const pinned = entry.provenance;
  if (pinned === undefined) return { changed: false, identity: '' };
  if (candidate.kind === 'local-path') return { changed: true, identity: '' };
  try {
    if (pinned.publicKey !== undefined) {
      await verify(context, candidate, { kind: 'key', publicKey: pinned.publicKey }, signal);
      return { changed: false, identity: '' };
    }
    const observed = await observe(context, candidate, signal);
    return { changed: !matches(pinned, observed), identity: identityOf(observed) };
  } catch (error) {
    if (
      OciSkillsError.is(error) &&
      ['ERR_OCI_SKILLS_UNSIGNED', 'ERR_OCI_SKILLS_FOREIGN_SIGNATURE'].includes(error.code)
    )
      return { changed: true, identity: '' };
    if (OciSkillsError.is(error) && error.code === 'ERR_OCI_SKILLS_KEYLESS_SIGNED') {
      return { changed: true, identity: identityOf(await observe(context, candidate, signal)) };
    }
    throw error;
  }
}

const identityOf = ({ signerIdentity = '', repositoryUri = '' }: Provenance): string =>
  signerIdentity.startsWith('/') ? repositoryUri + signerIdentity : signerIdentity;

async function observe(
  context: ServiceContext,
  candidate: Candidate,
  signal: AbortSignal | undefined,
): Promise<Provenance> {
  if (candidate.kind === 'git') {
    const { commitObject } = await candidate.load();
    return await verifyCommitSignature(commitObject ?? new Uint8Array(), {
      ...context.trust,
      ...(signal ? { signal } : {}),
    });
  }
  return (await verify(context, candidate, { kind: 'keyless' }, signal)).provenance;
}

const verify = async (
  context: ServiceContext,
  candidate: Candidate,
  policy: Parameters<typeof verifySignature>[2]['policy'],
  signal: AbortSignal | undefined,
) =>
  await verifySignature(candidate.oci ?? candidate.reference, candidate.digest, {
    ...context.trust,
    registry: context.registry,
    policy,
    ...(signal ? { signal } : {}),
  });

function matches(pinned: Provenance, observed: Provenance): boolean {
  try {
    matchProvenance(pinned, observed);
    return true;
  } catch (error) {
    if (OciSkillsError.is(error)) return false;
    throw error;
  }
}

async function apply(
  context: ServiceContext,
  projectRoot: string,
  entry: LockEntry,
  candidate: Candidate,
  request: UpgradeRequest,
  signerChange: boolean,
  signal: AbortSignal | undefined,
): Promise<void> {
  const place = { scope: 'project', projectRoot } as const;
  const record = await context.store.get({ name: entry.name, scope: 'project', projectRoot });
  const clients = request.clients?.length ? request.clients : record?.clients;
  await inTransaction(context, projectRoot, async (transaction) => {
    const installed = await installTree(context, transaction, {
      source: entry.source,
      candidate,
      place,
      ...(clients ? { clients } : {}),
      lockDriven: { name: entry.name, explicit: entry.explicit ?? false, signerChange },
      ...(signal ? { signal } : {}),
    });
    await dropStaleEdges(context, transaction, place, entry.name, installed);
  });
}
