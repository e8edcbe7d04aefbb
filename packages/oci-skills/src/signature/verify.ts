import { expectArgument, expectDigest } from '../arguments.js';
import { OciSkillsError } from '../errors.js';
import type { OciSkillsErrorCode } from '../errors.js';
import { formatReference, toReference } from '../reference.js';
import type {
  Provenance,
  Reference,
  VerifiedSignature,
  VerifySignatureOptions,
  VerifyStoredSignatureOptions,
} from '../types.js';
import { carriedPayload, readBundle, signatureFault } from './bundle.js';
import { checkCandidate, checkPolicy } from './check.js';
import type { CheckContext } from './check.js';
import { discoverSignatures } from './discover.js';
import { signaturePayload } from './payload.js';
import { readTrust } from './trust.js';

/** What is reported when several signatures fail, the most telling first. */
const telling: readonly OciSkillsErrorCode[] = [
  'ERR_OCI_SKILLS_PROVENANCE_MISMATCH',
  'ERR_OCI_SKILLS_CATALOGUE',
  'ERR_OCI_SKILLS_SIGNER_MISMATCH',
  'ERR_OCI_SKILLS_SIGNATURE',
  'ERR_OCI_SKILLS_KEY_SIGNED',
  'ERR_OCI_SKILLS_KEYLESS_SIGNED',
];

function mostTelling(errors: readonly OciSkillsError[]): OciSkillsError | undefined {
  const rank = ({ code }: OciSkillsError): number => (telling.includes(code) ? telling.indexOf(code) : telling.length);
  return [...errors].sort((left, right) => rank(left) - rank(right))[0];
}

function contextOf(
  reference: string | Reference,
  digest: string,
  options: Pick<VerifySignatureOptions, 'policy' | 'strictPayload' | 'trustedRoot' | 'certificateLogThreshold'>,
): CheckContext {
  expectDigest(digest, 'digest');
  const parsed = toReference(reference);
  expectArgument(
    parsed.digest === '' || parsed.digest === digest,
    'digest',
    `the digest of the reference \`${formatReference(parsed)}\``,
    digest,
  );
  checkPolicy(options.policy);
  return {
    reference: parsed,
    digest,
    policy: options.policy,
    trust: readTrust(options),
    strictPayload: options.strictPayload ?? true,
  };
}

/**
 * Find the signatures of an artifact, under its signature tag and among its referrers, and verify that one of them
 * satisfies the policy. A signature counts only when what it signs names this artifact. `digest` is that of the
 * artifact's root.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_UNSIGNED`, `ERR_OCI_SKILLS_SIGNATURE`, `ERR_OCI_SKILLS_SIGNER_MISMATCH`,
 *   `ERR_OCI_SKILLS_PROVENANCE_MISMATCH`, `ERR_OCI_SKILLS_KEY_SIGNED`, `ERR_OCI_SKILLS_KEYLESS_SIGNED`,
 *   `ERR_OCI_SKILLS_CATALOGUE`, `ERR_OCI_SKILLS_KEY`, `ERR_OCI_SKILLS_TRUST_ROOT`, `ERR_OCI_SKILLS_ARGUMENT`, and
 *   what a registry throws
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
 */
export async function verifySignature(
  reference: string | Reference,
  digest: string,
  options: VerifySignatureOptions,
): Promise<VerifiedSignature> {
  options.signal?.throwIfAborted();
  const context = contextOf(reference, digest, options);
  const errors: OciSkillsError[] = [];
  for await (const candidate of discoverSignatures(options.registry, context.reference, digest, options.signal)) {
    if ('error' in candidate) {
      errors.push(
        OciSkillsError.is(candidate.error) && candidate.error.code === 'ERR_OCI_SKILLS_SIGNATURE'
          ? candidate.error
          : signatureFault(candidate.error.message, candidate.error),
      );
      continue;
    }
    try {
      return checkCandidate(candidate, context);
    } catch (error) {
      if (!OciSkillsError.is(error)) throw error;
      errors.push(error);
    }
  }
  const failed = mostTelling(errors);
  if (failed !== undefined) throw failed;
  throw new OciSkillsError(
    'ERR_OCI_SKILLS_UNSIGNED',
    `\`${formatReference(context.reference, { digest })}\` is not signed; ask the publisher to sign it, or allow unsigned skills explicitly`,
    { details: { digest } },
  );
}

/**
 * Verify a stored signature again, without any network.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_SIGNATURE`, `ERR_OCI_SKILLS_SIGNER_MISMATCH`,
 *   `ERR_OCI_SKILLS_PROVENANCE_MISMATCH`, `ERR_OCI_SKILLS_KEY_SIGNED`, `ERR_OCI_SKILLS_KEYLESS_SIGNED`,
 *   `ERR_OCI_SKILLS_CATALOGUE`, `ERR_OCI_SKILLS_KEY`, `ERR_OCI_SKILLS_TRUST_ROOT`, `ERR_OCI_SKILLS_ARGUMENT`
 */
export async function verifyStoredSignature(options: VerifyStoredSignatureOptions): Promise<Provenance> {
  options.signal?.throwIfAborted();
  const context = contextOf(options.reference, options.digest, options);
  const read = readBundle(options.bundle);
  const payload = carriedPayload(read.bundle) ?? options.payload ?? signaturePayload(context.reference, options.digest);
  return checkCandidate({ ...read, payload, layout: 'signature-tag' }, context).provenance;
}
