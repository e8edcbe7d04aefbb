import { INDEX_TYPE, MANIFEST_TYPE } from '../artifact/media-types.js';
import { artifactFault, parseJsonObject } from '../artifact/read.js';
import { sha256 } from '../content-digest.js';
import { OciSkillsError } from '../errors.js';
import { printable } from '../text.js';
import type { Blob, Descriptor, Reference } from '../types.js';
import { failure } from './failure.js';
import type { Session } from './session.js';
import { headerOf } from './transport.js';

export function digestFault(what: string, expected: string, actual: string): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_DIGEST',
    `${what} hashes to \`${printable(actual)}\`, not to \`${printable(expected)}\`; the registry or something before it changed it, so do not use it`,
    {
      details: { expected, actual },
    },
  );
}

function checkMediaType(bytes: Uint8Array, mediaType: string): void {
  const written = parseJsonObject(bytes, 'the manifest')['mediaType'];
  // Programs that disagree about what the bytes are see two different artifacts behind one digest.
  if (written !== undefined && written !== mediaType) {
    throw artifactFault(
      `its manifest calls itself \`${printable(String(written))}\` but was served as \`${printable(mediaType)}\``,
    );
  }
}

/** Fetch the manifest that a reference, or `target` in its repository, names. */
export async function fetchManifest(
  session: Session,
  reference: Reference,
  target: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Blob> {
  const headers = { accept: `${INDEX_TYPE}, ${MANIFEST_TYPE}` };
  const call = { method: 'GET', path: `manifests/${target}`, access: 'pull', headers, maxBytes, follow: true } as const;
  const answer = await session.send(reference, call, signal);
  if (answer.status !== 200) throw failure(reference, answer, 'fetching the manifest of');
  const bytes = answer.body;
  const digest = sha256(bytes);
  const stated = headerOf(answer, 'docker-content-digest');
  if (target.includes(':') && target !== digest) throw digestFault('The manifest', target, digest);
  if (stated.startsWith('sha256:') && stated !== digest) throw digestFault('The manifest', stated, digest);
  const mediaType = (headerOf(answer, 'content-type').split(';')[0] ?? '').trim();
  checkMediaType(bytes, mediaType);
  return { mediaType, digest, size: bytes.length, bytes };
}

/** Store a manifest under `target`; true when the registry has taken note of its subject. */
export async function storeManifest(
  session: Session,
  reference: Reference,
  target: string,
  manifest: Blob,
  signal: AbortSignal,
): Promise<boolean> {
  const headers = { 'content-type': manifest.mediaType };
  const call = {
    method: 'PUT',
    path: `manifests/${target}`,
    access: 'pull,push',
    headers,
    body: manifest.bytes,
    maxBytes: 64 * 1024,
  } as const;
  const answer = await session.send(reference, call, signal);
  if (answer.status !== 201 && answer.status !== 200) throw failure(reference, answer, 'storing the manifest of');
  const stated = headerOf(answer, 'docker-content-digest');
  if (stated.startsWith('sha256:') && stated !== manifest.digest)
    throw digestFault('The stored manifest', manifest.digest, stated);
  return headerOf(answer, 'oci-subject') !== '';
}

/** True when the repository has the manifest already. */
export async function hasManifest(
  session: Session,
  reference: Reference,
  digest: string,
  signal: AbortSignal,
): Promise<boolean> {
  const headers = { accept: `${INDEX_TYPE}, ${MANIFEST_TYPE}` };
  const call = {
    method: 'HEAD',
    path: `manifests/${digest}`,
    access: 'pull,push',
    headers,
    maxBytes: 0,
    follow: true,
  } as const;
  const answer = await session.send(reference, call, signal);
  return answer.status === 200;
}

/** The descriptor of a manifest that was fetched. */
export function descriptorOf({ mediaType, digest, size, artifactType, annotations }: Blob): Descriptor {
  return {
    mediaType,
    digest,
    size,
    ...(artifactType === undefined ? {} : { artifactType }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}
