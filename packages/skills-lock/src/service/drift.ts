import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OciSkillsError, directoryDigest, verifyStoredSignature } from '@thv/oci-skills';
import type { SignaturePolicy } from '@thv/oci-skills';
import { digestKind } from '../lock/rules.js';
import type { LockEntry } from '../lock/types.js';
import type { SkillRecord } from '../store/port.js';
import type { ServiceContext } from './context.js';
import { targetsOf } from './paths.js';
import type { Place } from './paths.js';

/** Every way in which an installed skill differs from its lock entry, in words; empty when it is as locked. */
export async function findDrift(
  context: ServiceContext,
  entry: LockEntry,
  record: SkillRecord,
  clients: readonly string[],
  place: Place,
): Promise<readonly string[]> {
  const drift: string[] = [];
  if (record.digest !== entry.digest) drift.push(`installed is ${record.digest}, locked is ${entry.digest}`);
  if (record.status !== 'installed') drift.push(`the installation is ${record.status}`);
  const signature = await checkSignature(context, entry, record);
  if (signature !== undefined) drift.push(signature);
  if (clients.length === 0) drift.push('no client that reads skills was found');
  for (const client of clients) if (!record.clients.includes(client)) drift.push(`it is not installed for ${client}`);
  for (const { folder } of targetsOf(context, entry.name, clients, place)) {
    const found = await checkFolder(folder, entry.contentDigest);
    if (found !== undefined) drift.push(found);
  }
  return drift;
}

async function checkFolder(folder: string, wanted: string | undefined): Promise<string | undefined> {
  const there = await lstat(folder).catch(() => undefined);
  if (there === undefined) return `${folder} is missing`;
  if (!there.isDirectory()) return `${folder} is no folder`;
  const odd = await findOddEntry(folder);
  if (odd !== undefined) return `${odd} is no regular file`;
  if (wanted === undefined) return 'the lock file has no contentDigest for it';
  try {
    const found = await directoryDigest(folder);
    return found === wanted ? undefined : `the files in ${folder} were changed`;
  } catch (error) {
    return `${folder} could not be read: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** The digest looks at regular files alone; a link among them would be read by a client all the same. */
async function findOddEntry(folder: string): Promise<string | undefined> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const odd = entries.find((entry) => !entry.isFile() && !entry.isDirectory());
  return odd && join(odd.parentPath, odd.name);
}

/** The stored bundle is verified again without a network, so that an edited database or lock file shows. */
async function checkSignature(
  context: ServiceContext,
  entry: LockEntry,
  record: SkillRecord,
): Promise<string | undefined> {
  const { provenance, resolvedReference } = entry;
  if (entry.unsigned === true || provenance === undefined) return undefined;
  // The signature of a commit is part of the commit, whose id is the pin.
  if (digestKind(entry.digest) === 'git') return undefined;
  if (record.bundle === undefined) return 'its signature is not stored';
  if (resolvedReference === undefined) return 'the lock file does not say what its signature covers';
  const policy: SignaturePolicy =
    provenance.publicKey === undefined
      ? { kind: 'keyless', expected: provenance }
      : { kind: 'key', publicKey: provenance.publicKey };
  try {
    await verifyStoredSignature({
      ...context.trust,
      bundle: Buffer.from(record.bundle).toString(),
      ...(record.payload ? { payload: record.payload } : {}),
      reference: resolvedReference,
      digest: entry.digest,
      policy,
    });
    return undefined;
  } catch (error) {
    if (OciSkillsError.is(error)) return `its stored signature does not verify: ${error.message}`;
    throw error;
  }
}
