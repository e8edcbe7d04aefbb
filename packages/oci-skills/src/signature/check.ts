import { createHash } from 'node:crypto';
import { X509Certificate, dsse } from '@sigstore/core';
import { isBundleWithDsseEnvelope, isBundleWithMessageSignature } from '@sigstore/bundle';
import type { Bundle } from '@sigstore/bundle';
import { Verifier, toSignedEntity } from '@sigstore/verify';
import { isObject } from '../artifact/read.js';
import { OciSkillsError } from '../errors.js';
import type { Provenance, Reference, SignaturePolicy, VerifiedSignature } from '../types.js';
import { signatureFault, statedDigest } from './bundle.js';
import type { Candidate } from './discover.js';
import { checkCatalogue, matchCatalogue, matchSigner, readSigner } from './identity.js';
import type { Signer } from './identity.js';
import { publicKeyText, readPublicKey, verifyBytes } from './key.js';
import { bindsArtifact } from './payload.js';
import type { Trust } from './trust.js';

export const IN_TOTO = 'application/vnd.in-toto+json';
export const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
export const PREDICATE_TYPE = 'https://sigstore.dev/cosign/sign/v1';

/** What a signature has to fit. */
export interface CheckContext {
  readonly reference: Reference;
  readonly digest: string;
  readonly policy: SignaturePolicy;
  readonly trust: Trust;
  readonly strictPayload: boolean;
}

/** True when an in-toto statement says that the artifact was signed. */
function statementBinds(payload: Uint8Array, payloadType: string, digest: string): boolean {
  let statement: unknown;
  try {
    statement = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
  } catch {
    return false;
  }
  if (!isObject(statement) || payloadType !== IN_TOTO || statement['predicateType'] !== PREDICATE_TYPE) return false;
  const { subject } = statement;
  const hash = digest.slice('sha256:'.length);
  return (
    Array.isArray(subject) &&
    subject.some((item) => isObject(item) && isObject(item['digest']) && item['digest']['sha256'] === hash)
  );
}

function checkBinding({ bundle, payload, kind }: Candidate, { reference, digest, strictPayload }: CheckContext): void {
  const isBound = isBundleWithDsseEnvelope(bundle)
    ? statementBinds(payload, bundle.content.dsseEnvelope.payloadType, digest)
    : bindsArtifact(payload, reference, digest, kind === 'key' && strictPayload);
  if (!isBound) throw signatureFault('it was made for another artifact');
  const stated = statedDigest(bundle);
  const actual = createHash('sha256').update(payload).digest();
  if (stated !== undefined && !stated.equals(actual)) throw signatureFault('its bundle states the hash of other bytes');
}

function isSignedBy(bundle: Bundle, payload: Uint8Array, publicKey: string): boolean {
  const key = readPublicKey(publicKey);
  if (isBundleWithMessageSignature(bundle)) return verifyBytes(payload, key, bundle.content.messageSignature.signature);
  const { payloadType, signatures } =
    bundle.content.$case === 'dsseEnvelope' ? bundle.content.dsseEnvelope : { payloadType: '', signatures: [] };
  const encoded = dsse.preAuthEncoding(payloadType, Buffer.from(payload));
  return signatures.length === 1 && signatures.every(({ sig }) => verifyBytes(encoded, key, sig));
}

function leafOf(bundle: Bundle): X509Certificate {
  const { content } = bundle.verificationMaterial;
  const raw =
    content.$case === 'certificate'
      ? content.certificate.rawBytes
      : content.$case === 'x509CertificateChain'
        ? content.x509CertificateChain.certificates[0]?.rawBytes
        : undefined;
  if (raw === undefined) throw signatureFault('its bundle has no certificate');
  return X509Certificate.parse(Buffer.from(raw));
}

/** Chain, certificate log, transparency log, time and signature; who signed comes back. */
export function verifyKeyless({ bundle, payload }: Pick<Candidate, 'bundle' | 'payload'>, trust: Trust): Signer {
  try {
    const entity = toSignedEntity(bundle, Buffer.from(payload));
    new Verifier(trust.material, {
      ctlogThreshold: trust.certificateLogThreshold,
      tlogThreshold: 1,
      timestampThreshold: 1,
    }).verify(entity);
    return readSigner(leafOf(bundle));
  } catch (error) {
    throw OciSkillsError.is(error) ? error : signatureFault((error as Error).message, error);
  }
}

function checkKey(candidate: Candidate, publicKey: string, context: CheckContext): Provenance {
  if (candidate.kind !== 'key') {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_KEYLESS_SIGNED',
      'The artifact is signed keylessly, not with a key; install it without a public key, or ask the publisher to sign with the key',
      { details: { digest: context.digest } },
    );
  }
  checkBinding(candidate, context);
  if (!isSignedBy(candidate.bundle, candidate.payload, publicKey)) {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_SIGNER_MISMATCH',
      'The artifact is signed with another key than the one given; check the key, or ask the publisher',
      { details: { digest: context.digest } },
    );
  }
  return { publicKey: publicKeyText(readPublicKey(publicKey)) };
}

function checkKeyless(
  candidate: Candidate,
  policy: Extract<SignaturePolicy, { kind: 'keyless' }>,
  context: CheckContext,
): Provenance {
  if (candidate.kind !== 'keyless') {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_KEY_SIGNED',
      "The artifact is signed with a key, which is not in the artifact; give the publisher's public key to verify it",
      { details: { digest: context.digest } },
    );
  }
  checkBinding(candidate, context);
  const signer = verifyKeyless(candidate, context.trust);
  if (policy.expected !== undefined) matchSigner(policy.expected, signer);
  else if (policy.catalogue !== undefined) matchCatalogue(policy.catalogue, signer);
  return signer.provenance;
}

/** Refuse a policy that contradicts itself or that nothing could satisfy, before any signature is looked at. */
export function checkPolicy(policy: SignaturePolicy): void {
  if (policy.kind === 'key') return void readPublicKey(policy.publicKey);
  if (policy.expected?.publicKey !== undefined) {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_ARGUMENT',
      'Expected `policy.expected` to be a certificate identity, got a public key; use a policy of the kind `key`',
    );
  }
  if (policy.expected === undefined && policy.catalogue !== undefined) checkCatalogue(policy.catalogue);
}

/** Verify one signature against the policy. */
export function checkCandidate(candidate: Candidate, context: CheckContext): VerifiedSignature {
  const { policy } = context;
  const provenance =
    policy.kind === 'key' ? checkKey(candidate, policy.publicKey, context) : checkKeyless(candidate, policy, context);
  return {
    kind: policy.kind,
    provenance,
    bundle: candidate.text,
    payload: candidate.payload,
    layout: candidate.layout,
  };
}
