import { createHash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { bundleToJSON, toDSSEBundle, toMessageSignatureBundle } from '@sigstore/bundle';
import { dsse } from '@sigstore/core';
import { expectArgument, expectDigest } from '../arguments.js';
import { toJson } from '../artifact/json.js';
import { sha256 } from '../content-digest.js';
import { OciSkillsError } from '../errors.js';
import { formatReference, toReference } from '../reference.js';
import type { Provenance, Reference, SignArtifactOptions, SignResult, SigningMethod } from '../types.js';
import { appendSignature, attachBundle } from './attach.js';
import { ANNOTATIONS, readBundle, signatureFault } from './bundle.js';
import type { ReadBundle } from './bundle.js';
import { IN_TOTO, PREDICATE_TYPE, STATEMENT_TYPE, checkCandidate, verifyKeyless } from './check.js';
import type { CheckContext } from './check.js';
import { discoverSignatures } from './discover.js';
import type { Candidate } from './discover.js';
import { parsePrivateKey, publicHalf, publicKeyText, signBytes } from './key.js';
import { signaturePayload } from './payload.js';
import { formatPem } from './pem.js';
import { signMessageKeyless, signStatementKeyless } from './sign-keyless.js';
import { readTrust } from './trust.js';
import type { Trust } from './trust.js';

type Layout = 'signature-tag' | 'referrer';

interface Signed extends ReadBundle {
  readonly payload: Uint8Array;
  readonly provenance: Provenance;
}

function statementOf(digest: string): Uint8Array {
  return Buffer.from(
    toJson({
      _type: STATEMENT_TYPE,
      subject: [{ digest: { sha256: digest.slice('sha256:'.length) } }],
      predicateType: PREDICATE_TYPE,
      predicate: {},
    }),
  );
}

function signWithKey(payload: Uint8Array, key: KeyObject, layout: Layout): ReadBundle {
  const keyHint = createHash('sha256')
    .update(publicHalf(key).export({ format: 'der', type: 'spki' }))
    .digest('base64');
  if (layout === 'signature-tag') {
    const digest = createHash('sha256').update(payload).digest();
    return readBundle(
      JSON.stringify(
        bundleToJSON(
          toMessageSignatureBundle({ digest, signature: signBytes(payload, key), keyHint, certificateChain: false }),
        ),
      ),
    );
  }
  const artifact = Buffer.from(payload);
  const signature = signBytes(dsse.preAuthEncoding(IN_TOTO, artifact), key);
  return readBundle(
    JSON.stringify(
      bundleToJSON(toDSSEBundle({ artifact, artifactType: IN_TOTO, signature, keyHint, certificateChain: false })),
    ),
  );
}

async function makeSignature(
  payload: Uint8Array,
  method: SigningMethod,
  layout: Layout,
  trust: Trust,
): Promise<Signed> {
  if (method.kind === 'key') {
    const key = await parsePrivateKey(method.privateKey, method.password);
    return { ...signWithKey(payload, key, layout), payload, provenance: { publicKey: publicKeyText(publicHalf(key)) } };
  }
  const read =
    layout === 'referrer' ? await signStatementKeyless(payload, method) : await signMessageKeyless(payload, method);
  try {
    return { ...read, payload, provenance: verifyKeyless({ bundle: read.bundle, payload }, trust).provenance };
  } catch (error) {
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_SIGNING',
      `The new signature does not verify: ${(error as Error).message}; nothing was attached, and a private Sigstore instance needs its own trust root`,
      { cause: error },
    );
  }
}

/** An earlier signature by the same signer that verifies; a name in a certificate that does not verify is no signer. */
async function findEarlier(
  layout: Layout,
  options: SignArtifactOptions,
  context: CheckContext,
): Promise<Candidate | undefined> {
  for await (const candidate of discoverSignatures(
    options.registry,
    context.reference,
    context.digest,
    options.signal,
  )) {
    if ('error' in candidate || candidate.layout !== layout) continue;
    try {
      checkCandidate(candidate, context);
      return candidate;
    } catch (error) {
      if (!OciSkillsError.is(error)) throw error;
    }
  }
  return undefined;
}

function annotationsOf({ bundle }: ReadBundle): Readonly<Record<string, string>> {
  if (bundle.content.$case !== 'messageSignature') throw signatureFault('it is no message signature');
  const signature = { [ANNOTATIONS.signature]: bundle.content.messageSignature.signature.toString('base64') };
  const { content, tlogEntries } = bundle.verificationMaterial;
  if (content.$case !== 'certificate') return signature;
  const [entry] = tlogEntries;
  if (entry?.inclusionPromise === undefined)
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_SIGNING',
      'The transparency log gave no promise, which the signature layout needs; use a log of the first version',
    );
  const Payload = {
    body: entry.canonicalizedBody.toString('base64'),
    integratedTime: Number(entry.integratedTime),
    logIndex: Number(entry.logIndex),
    logID: entry.logId.keyId.toString('hex'),
  };
  return {
    [ANNOTATIONS.bundle]: toJson({
      SignedEntryTimestamp: entry.inclusionPromise.signedEntryTimestamp.toString('base64'),
      Payload,
    }),
    [ANNOTATIONS.certificate]: formatPem('CERTIFICATE', content.certificate.rawBytes),
    ...signature,
  };
}

/**
 * Sign an artifact that is in a registry, with a key or keylessly, and attach the signature. Signatures of others stay;
 * signing again with the same signer changes nothing and gives back what is there. `digest` is that of the artifact's
 * root.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_KEY`, `ERR_OCI_SKILLS_SIGNING`, `ERR_OCI_SKILLS_TRUST_ROOT`,
 *   `ERR_OCI_SKILLS_ARGUMENT`, and what a registry throws
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md
 */
export async function signArtifact(
  reference: string | Reference,
  digest: string,
  options: SignArtifactOptions,
): Promise<SignResult> {
  const { registry, method, layout = 'signature-tag', signal } = options;
  signal?.throwIfAborted();
  expectDigest(digest, 'digest');
  const target = toReference(reference);
  expectArgument(
    target.digest === '' || target.digest === digest,
    'digest',
    `the digest of the reference \`${formatReference(target)}\``,
    digest,
  );
  const call = signal === undefined ? {} : { signal };
  const trust = readTrust(options);
  const payload = layout === 'referrer' ? statementOf(digest) : signaturePayload(target, digest);
  const signed = await makeSignature(payload, method, layout, trust);
  signal?.throwIfAborted();
  const { publicKey } = signed.provenance;
  const policy =
    publicKey === undefined
      ? ({ kind: 'keyless', expected: signed.provenance } as const)
      : ({ kind: 'key', publicKey } as const);
  const earlier = await findEarlier(layout, options, { reference: target, digest, policy, trust, strictPayload: true });
  if (earlier === undefined && layout === 'signature-tag')
    await appendSignature(registry, target, digest, payload, annotationsOf(signed), call);
  if (earlier === undefined && layout === 'referrer') await attachBundle(registry, target, digest, signed.text, call);
  return {
    bundle: earlier?.text ?? signed.text,
    payload: earlier?.payload ?? payload,
    payloadDigest: sha256(earlier?.payload ?? payload),
    provenance: signed.provenance,
    alreadySigned: earlier !== undefined,
  };
}
