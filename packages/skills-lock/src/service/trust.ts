import {
  OciSkillsError,
  matchProvenance,
  parsePublicKey,
  verifyCommitSignature,
  verifySignature,
} from '@thv/oci-skills';
import type { CatalogueProvenance, Provenance, SignaturePolicy } from '@thv/oci-skills';
import { SkillsLockError } from '../errors.js';
import type { FailureReason } from '../errors.js';
import type { LockEntry } from '../lock/types.js';
import type { Candidate, LoadedSkill } from './candidate.js';
import type { ServiceContext } from './context.js';
import { translate } from './translate.js';

/** What a project installation is decided upon. */
export interface TrustInput {
  readonly name: string;
  /** The lock entry, whose anchor decides; `undefined` on first use. */
  readonly entry: LockEntry | undefined;
  readonly candidate: Candidate;
  readonly loaded: LoadedSkill;
  /** PEM or base64 DER that the caller names. */
  readonly publicKey?: string;
  readonly allowUnsigned: boolean;
  /** Sync and upgrade act on what the lock says; they honour its standing exceptions without a flag. */
  readonly lockDriven: boolean;
  readonly signal?: AbortSignal;
}

/** What the lock is to record, and what to keep for checks without a network. */
export interface TrustDecision {
  readonly provenance?: Provenance;
  readonly unsigned?: true;
  readonly bundle?: Uint8Array;
  readonly payload?: Uint8Array;
  readonly notices: readonly string[];
}

/**
 * Decides whether a candidate may be installed into a project, and under whose signature. The lock entry, or the key
 * that the caller names, decides how it is verified, never the artifact.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_REFUSED` with `details.reason`.
 */
export async function decideTrust(context: ServiceContext, input: TrustInput): Promise<TrustDecision> {
  const anchor = anchorOf(input);
  if (input.entry?.unsigned === true) return unsigned(input, 'unsigned-rejected');
  if (input.candidate.kind === 'local-build' || input.candidate.kind === 'local-path') {
    if (anchor)
      throw refused(
        input,
        'signer-mismatch',
        'is pinned to a signer, and a local build carries no signature. Uninstall it first to replace it by the build',
      );
    return unsigned(input, 'unsigned-rejected');
  }
  try {
    return input.candidate.kind === 'git'
      ? await decideGit(context, input, anchor)
      : await decideOci(context, input, anchor);
  } catch (error) {
    if (OciSkillsError.is(error) && error.code === 'ERR_OCI_SKILLS_KEY_SIGNED') {
      throw refused(
        input,
        'key-signed',
        "is signed with a key, which an artifact does not carry. Pass --public-key with the publisher's key",
        error,
      );
    }
    if (!isUnsigned(error)) throw translate(error);
    if (anchor)
      throw refused(
        input,
        'unsigned-rejected',
        'is locked to a signer, but what was found is not signed. Ask the publisher, or uninstall it to drop the pin',
        error,
      );
    return unsigned(input, 'unsigned-rejected', error);
  }
}

/** The policy that entry and caller agree on; `undefined` on first use without a key. */
function anchorOf(input: TrustInput): Provenance | undefined {
  const pinned = input.entry?.provenance;
  if (input.publicKey === undefined) return pinned;
  if (input.candidate.kind !== 'oci') {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      `${input.name}: a public key verifies artifacts of a registry only; leave --public-key out for git and local sources`,
    );
  }
  const given = publicKeyOf(input.publicKey);
  if (pinned !== undefined && pinned.publicKey !== given) {
    const what = pinned.publicKey === undefined ? 'a certificate identity' : 'another key';
    throw refused(
      input,
      'signer-mismatch',
      `is pinned to ${what} in the lock file, which the given key cannot change. Uninstall it and install it again to pin the new key`,
    );
  }
  return { publicKey: given };
}

function publicKeyOf(text: string): string {
  try {
    return parsePublicKey(text);
  } catch (error) {
    throw translate(error);
  }
}

async function decideOci(
  context: ServiceContext,
  input: TrustInput,
  anchor: Provenance | undefined,
): Promise<TrustDecision> {
  const { candidate, entry } = input;
  const policy: SignaturePolicy =
    anchor?.publicKey === undefined
      ? {
          kind: 'keyless',
          ...(anchor ? { expected: anchor } : {}),
          ...(entry === undefined && candidate.catalogue ? { catalogue: candidate.catalogue } : {}),
        }
      : { kind: 'key', publicKey: anchor.publicKey };
  const verified = await verifySignature(candidate.oci ?? candidate.reference, candidate.digest, {
    ...context.trust,
    registry: context.registry,
    policy,
    ...(input.signal ? { signal: input.signal } : {}),
  });
  return {
    // A pin stays as it was recorded: an entry without a field is not narrowed behind its author's back.
    provenance: anchor ?? verified.provenance,
    bundle: Buffer.from(verified.bundle),
    payload: verified.payload,
    notices:
      anchor && entry?.provenance
        ? []
        : [`Trusting on first use: ${input.name} is signed by ${describeSigner(verified.provenance)}`],
  };
}

async function decideGit(
  context: ServiceContext,
  input: TrustInput,
  anchor: Provenance | undefined,
): Promise<TrustDecision> {
  const { commitObject } = input.loaded;
  const catalogue = input.entry === undefined ? input.candidate.catalogue : undefined;
  if (catalogue) refuseUnenforceable(input, catalogue);
  if (anchor?.publicKey !== undefined)
    throw refused(
      input,
      'key-signed',
      'is pinned to a public key, and a git commit carries no such signature. Uninstall it to drop the pin',
    );
  const observed = await verifyCommitSignature(commitObject ?? new Uint8Array(), {
    ...context.trust,
    ...(anchor ? { expected: anchor } : {}),
    ...(input.signal ? { signal: input.signal } : {}),
  });
  if (catalogue) matchProvenance(expectedOf(catalogue), observed);
  return {
    provenance: anchor ?? observed,
    notices: anchor ? [] : [`Trusting on first use: ${input.name} is signed by ${describeSigner(observed)}`],
  };
}

/** What cannot be enforced is refused, never skipped. */
function refuseUnenforceable(input: TrustInput, catalogue: CatalogueProvenance): void {
  if (catalogue.sigstore_url || catalogue.attestation) {
    throw refused(
      input,
      'signer-mismatch',
      'has catalogue constraints (sigstore_url or attestation) that cannot be checked here. Install it by its reference if you trust it',
    );
  }
}

function expectedOf(catalogue: CatalogueProvenance): Provenance {
  return {
    ...(catalogue.signer_identity ? { signerIdentity: catalogue.signer_identity } : {}),
    ...(catalogue.cert_issuer ? { certIssuer: catalogue.cert_issuer } : {}),
    ...(catalogue.repository_uri ? { repositoryUri: catalogue.repository_uri } : {}),
    ...(catalogue.repository_ref ? { repositoryRef: catalogue.repository_ref } : {}),
    ...(catalogue.runner_environment ? { runnerEnvironment: catalogue.runner_environment } : {}),
  };
}

function unsigned(input: TrustInput, reason: FailureReason, cause?: unknown): TrustDecision {
  const { entry, lockDriven, allowUnsigned } = input;
  const standing = lockDriven && (entry?.unsigned === true || (entry !== undefined && entry.provenance === undefined));
  // A key that the caller names says that the skill must be signed.
  const permitted =
    (allowUnsigned || standing) && input.publicKey === undefined && !isDeclared(input.candidate.catalogue, entry);
  if (permitted) return { unsigned: true, notices: [`${input.name} is not signed`] };
  throw refused(
    input,
    reason,
    'is not signed. Pass --allow-unsigned to install it all the same; the lock file will say so',
    cause,
  );
}

/** A catalogue that names a signer is not satisfied by no signature at all. */
function isDeclared(catalogue: CatalogueProvenance | undefined, entry: LockEntry | undefined): boolean {
  return (
    entry === undefined &&
    catalogue !== undefined &&
    Object.values(catalogue).some((value) => value !== undefined && value !== '' && value !== null)
  );
}

const isUnsigned = (error: unknown): boolean =>
  OciSkillsError.is(error) &&
  (error.code === 'ERR_OCI_SKILLS_UNSIGNED' || error.code === 'ERR_OCI_SKILLS_FOREIGN_SIGNATURE');

function refused(input: TrustInput, reason: FailureReason, why: string, cause?: unknown): SkillsLockError {
  return new SkillsLockError('ERR_SKILLS_LOCK_REFUSED', `${input.name} ${why}`, {
    cause,
    details: { reason, name: input.name },
  });
}

/** One line about a signer, for people. */
export function describeSigner(provenance: Provenance): string {
  if (provenance.publicKey !== undefined) return `the key ${provenance.publicKey.slice(-16)}`;
  const identity = `${provenance.repositoryUri ?? ''}${provenance.signerIdentity ?? 'an unknown identity'}`;
  const issuer = provenance.certIssuer === undefined ? '' : ` (${provenance.certIssuer})`;
  return `${identity}${issuer}${provenance.provisional === true ? ', time of signing not proved' : ''}`;
}
