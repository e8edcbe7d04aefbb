import { sha256 } from '../content-digest.js';
import { OciSkillsError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { printable } from '../text.js';
import type { Blob, Descriptor, Reference } from '../types.js';
import { failure } from './failure.js';
import { digestFault } from './manifests.js';
import type { Session } from './session.js';
import { headerOf } from './transport.js';

/** Fetch a blob and verify it. */
export async function fetchBlob(
  session: Session,
  reference: Reference,
  descriptor: Pick<Descriptor, 'digest'> & Partial<Descriptor>,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { digest, size } = descriptor;
  const most = Math.min(maxBytes, size ?? LIMITS.blobBytes);
  if (size !== undefined && size > maxBytes) {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_LIMIT',
      `The blob \`${digest}\` has ${size} bytes, more than ${maxBytes}; it cannot be used`,
      { details: { digest, size, limit: maxBytes } },
    );
  }
  const call = { method: 'GET', path: `blobs/${digest}`, access: 'pull', maxBytes: most, follow: true } as const;
  const answer = await session.send(reference, call, signal);
  if (answer.status !== 200) throw failure(reference, answer, `fetching the blob \`${digest}\` of`);
  const actual = sha256(answer.body);
  if (actual !== digest || (size !== undefined && answer.body.length !== size))
    throw digestFault('The blob', digest, actual);
  return answer.body;
}

function uploadUrl(session: Session, reference: Reference, location: string, digest: string): string {
  const base = session.url(reference, 'blobs/uploads/');
  if (location === '' || !URL.canParse(location, base)) {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_REGISTRY',
      `The registry \`${reference.registry}\` names no address for the upload; report it to its operator`,
    );
  }
  const url = new URL(location, base);
  if (url.origin !== new URL(base).origin) {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_REGISTRY',
      `The registry \`${reference.registry}\` sends the upload to \`${printable(url.origin)}\`, which would be given its authorization; report it to its operator`,
      { details: { registry: reference.registry, location: url.origin } },
    );
  }
  url.searchParams.set('digest', digest);
  return url.href;
}

/** Send a blob; false when the repository has it already. */
export async function storeBlob(
  session: Session,
  reference: Reference,
  blob: Blob,
  signal: AbortSignal,
): Promise<boolean> {
  const access = 'pull,push';
  const head = await session.send(
    reference,
    { method: 'HEAD', path: `blobs/${blob.digest}`, access, maxBytes: 0, follow: true },
    signal,
  );
  if (head.status === 200) return false;
  if (head.status !== 404) throw failure(reference, head, `looking for the blob \`${blob.digest}\` of`);
  const begun = await session.send(
    reference,
    { method: 'POST', path: 'blobs/uploads/', access, maxBytes: 64 * 1024, body: Buffer.alloc(0) },
    signal,
  );
  if (begun.status !== 202) throw failure(reference, begun, 'starting an upload to');
  const path = uploadUrl(session, reference, headerOf(begun, 'location'), blob.digest);
  const headers = { 'content-type': 'application/octet-stream' };
  const done = await session.send(
    reference,
    { method: 'PUT', path, access, headers, body: blob.bytes, maxBytes: 64 * 1024 },
    signal,
  );
  if (done.status !== 201) throw failure(reference, done, `uploading the blob \`${blob.digest}\` to`);
  return true;
}
