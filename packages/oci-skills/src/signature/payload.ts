import { expectDigest } from '../arguments.js';
import { toJson } from '../artifact/json.js';
import { isObject } from '../artifact/read.js';
import { toReference } from '../reference.js';
import type { Reference } from '../types.js';

const TYPE = 'cosign container image signature';

/**
 * The bytes that a signature covers: a statement that the manifest `digest` belongs to the reference's repository.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_ARGUMENT`, `ERR_OCI_SKILLS_REFERENCE`
 * @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md#simple-signing
 */
export function signaturePayload(reference: string | Reference, digest: string): Uint8Array {
  expectDigest(digest, 'digest');
  const { registry, repository } = toReference(reference);
  const critical = {
    identity: { 'docker-reference': `${registry}/${repository}` },
    image: { 'docker-manifest-digest': digest },
    type: TYPE,
  };
  return Buffer.from(toJson({ critical }));
}

function parse(payload: Uint8Array): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(payload);
    const value: unknown = JSON.parse(text);
    // Writing it again gives the same text only when no key stood there twice.
    return toJson(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * True when a payload speaks of exactly this artifact. A signature manifest is found by a name that anybody can give
 * it, so that its place proves nothing; what was signed does.
 */
export function bindsArtifact(payload: Uint8Array, reference: Reference, digest: string, isStrict: boolean): boolean {
  const exact = Buffer.from(signaturePayload(reference, digest));
  if (exact.equals(payload)) return true;
  if (isStrict) return false;
  const value = parse(payload);
  const critical = isObject(value) ? value['critical'] : undefined;
  if (!isObject(critical) || critical['type'] !== TYPE) return false;
  const { identity, image } = critical;
  const repository = `${reference.registry}/${reference.repository}`;
  const isNamed = isObject(identity) && identity['docker-reference'] === repository;
  return isNamed && isObject(image) && image['docker-manifest-digest'] === digest;
}
