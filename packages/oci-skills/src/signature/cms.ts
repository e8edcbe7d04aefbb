import { createHash, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { ASN1Obj, X509Certificate } from '@sigstore/core';
import { signatureFault } from './bundle.js';

const SIGNED_DATA = '1.2.840.113549.1.7.2';
const MESSAGE_DIGEST = '1.2.840.113549.1.9.4';
const hashes: Readonly<Record<string, string>> = {
  '2.16.840.1.101.3.4.2.1': 'sha256',
  '2.16.840.1.101.3.4.2.2': 'sha384',
  '2.16.840.1.101.3.4.2.3': 'sha512',
};

/** What is needed of a detached signature with one signer. */
export interface DetachedSignature {
  readonly certificate: X509Certificate;
  readonly hash: string;
  /** The signed attributes as the SET that the signature is over. */
  readonly attributes: Buffer;
  readonly messageDigest: Buffer;
  readonly signature: Buffer;
}

function at(parent: ASN1Obj | undefined, index: number): ASN1Obj {
  const child = parent?.subs[index];
  if (child === undefined) throw signatureFault('its signed message is cut off');
  return child;
}

function tagged(parent: ASN1Obj, number: number): ASN1Obj | undefined {
  return parent.subs.find(({ tag }) => tag.isContextSpecific(number) && tag.constructed);
}

function derLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = Buffer.from(length.toString(16).padStart(length > 0xffff ? 6 : length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

function hashOf(algorithm: ASN1Obj): string {
  const name = hashes[at(algorithm, 0).toOID()];
  if (name === undefined) throw signatureFault('its hash algorithm is not supported');
  return name;
}

/** The certificate that the signer's entry names by issuer and serial number, not just any that lies there. */
function findCertificate(signedData: ASN1Obj, sid: ASN1Obj): X509Certificate {
  const [issuer, serial] = [at(sid, 0).value, at(sid, 1).value];
  const found = (tagged(signedData, 0)?.subs ?? [])
    .map((certificate) => X509Certificate.parse(Buffer.from(certificate.toDER())))
    .find((certificate) => certificate.serialNumber.equals(serial) && certificate.issuer.equals(issuer));
  if (found === undefined) throw signatureFault('the certificate of its signer is missing');
  return found;
}

function readMessageDigest(attributes: ASN1Obj): Buffer {
  const found = attributes.subs.filter((attribute) => at(attribute, 0).toOID() === MESSAGE_DIGEST);
  if (found.length !== 1) throw signatureFault('it has no message digest');
  return at(at(found[0], 1), 0).value;
}

function parse(der: Buffer): DetachedSignature {
  const root = ASN1Obj.parseBuffer(Buffer.from(der));
  if (at(root, 0).toOID() !== SIGNED_DATA) throw signatureFault('it is no signed message');
  const signedData = at(at(root, 1), 0);
  const signers = at(signedData, signedData.subs.length - 1);
  if (signers.subs.length !== 1) throw signatureFault('it has not exactly one signer');
  const signer = at(signers, 0);
  const attributes = tagged(signer, 0);
  if (attributes === undefined) throw signatureFault('it has no signed attributes');
  const place = signer.subs.indexOf(attributes);
  return {
    certificate: findCertificate(signedData, at(signer, 1)),
    hash: hashOf(at(signer, 2)),
    attributes: Buffer.concat([Buffer.from([0x31]), derLength(attributes.value.length), attributes.value]),
    messageDigest: readMessageDigest(attributes),
    signature: at(signer, place + 2).value,
  };
}

/**
 * Read a detached CMS signature. @throws OciSkillsError `ERR_OCI_SKILLS_SIGNATURE`
 *
 * @see https://www.rfc-editor.org/rfc/rfc5652#section-5
 */
export function readDetached(der: Buffer): DetachedSignature {
  try {
    return parse(der);
  } catch (error) {
    throw (error as Error).name === 'OciSkillsError'
      ? error
      : signatureFault('its signed message cannot be read', error);
  }
}

/** True when the signature covers exactly `content`. */
export function coversContent(detached: DetachedSignature, content: Uint8Array, key: KeyObject): boolean {
  const digest = createHash(detached.hash).update(content).digest();
  return digest.equals(detached.messageDigest) && verify(detached.hash, detached.attributes, key, detached.signature);
}
