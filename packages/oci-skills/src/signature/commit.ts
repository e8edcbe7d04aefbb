import { createPublicKey } from 'node:crypto';
import { OciSkillsError } from '../errors.js';
import type { Provenance, VerifyCommitOptions } from '../types.js';
import { signatureFault } from './bundle.js';
import { checkChain } from './chain.js';
import { coversContent, readDetached } from './cms.js';
import { matchSigner, readSigner } from './identity.js';
import { parsePem } from './pem.js';
import { readTrust } from './trust.js';

const MINUTE_MS = 60_000;
const HEADER = 'gpgsig ';

interface SignedCommit {
  /** The commit without its signature: what was signed. */
  readonly content: Buffer;
  readonly armor: string;
}

/** Cut the signature header, with its continuation lines, out of a commit object. */
function cutSignature(commit: Uint8Array): SignedCommit {
  // Latin-1 keeps every byte as it is, whatever encoding the message has.
  const text = Buffer.from(commit).toString('latin1');
  const end = text.indexOf('\n\n');
  const lines = text.slice(0, end < 0 ? text.length : end + 1).split(/(?<=\n)/);
  const kept: string[] = [];
  const armor: string[] = [];
  let isInside = false;
  for (const line of lines) {
    const isStart = line.startsWith(HEADER);
    if (isStart && armor.length > 0) throw signatureFault('the commit has two signatures');
    isInside = isStart || (isInside && line.startsWith(' '));
    if (isInside) armor.push(line.slice(isStart ? HEADER.length : 1));
    else kept.push(line);
  }
  const rest = end < 0 ? '' : text.slice(end + 1);
  return { content: Buffer.from(kept.join('') + rest, 'latin1'), armor: armor.join('') };
}

function readArmor(armor: string): Buffer {
  if (armor.trim() === '') {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_UNSIGNED',
      'The git commit is not signed; ask the publisher to sign it, or allow unsigned skills explicitly',
    );
  }
  const kind = /^-----BEGIN (PGP|SSH) /.exec(armor)?.[1];
  if (kind !== undefined) {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_FOREIGN_SIGNATURE',
      `The git commit carries a ${kind} signature, which cannot be checked against Sigstore; ask the publisher to sign with gitsign, or allow unsigned skills explicitly`,
      { details: { kind } },
    );
  }
  const block = parsePem(armor);
  if (block?.label !== 'SIGNED MESSAGE') throw signatureFault('the commit carries something that is no signature');
  return block.bytes;
}

/**
 * Verify the Sigstore signature of a git commit, as gitsign makes it. `commit` is the commit object's content without
 * git's object header. The time of signing is not proved by a log, so that the result is always `provisional`.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_UNSIGNED`, `ERR_OCI_SKILLS_FOREIGN_SIGNATURE` for PGP and SSH signatures,
 *   `ERR_OCI_SKILLS_SIGNATURE`, `ERR_OCI_SKILLS_SIGNER_MISMATCH`, `ERR_OCI_SKILLS_PROVENANCE_MISMATCH`,
 *   `ERR_OCI_SKILLS_TRUST_ROOT`, `ERR_OCI_SKILLS_ARGUMENT`
 * @see https://github.com/sigstore/gitsign#readme
 */
export async function verifyCommitSignature(
  commit: Uint8Array,
  options: VerifyCommitOptions = {},
): Promise<Provenance> {
  options.signal?.throwIfAborted();
  const trust = readTrust(options);
  const { content, armor } = cutSignature(commit);
  const detached = readDetached(readArmor(armor));
  const { certificate } = detached;
  const key = createPublicKey({ key: certificate.publicKey, format: 'der', type: 'spki' });
  if (!coversContent(detached, content, key)) throw signatureFault('it does not cover this commit');
  checkChain(certificate, trust, new Date(certificate.notBefore.getTime() + MINUTE_MS));
  const signer = readSigner(certificate);
  if (options.expected !== undefined) matchSigner(options.expected, signer);
  return { ...signer.provenance, provisional: true };
}
