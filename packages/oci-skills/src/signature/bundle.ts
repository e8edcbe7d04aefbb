import { createHash } from 'node:crypto';
import {
  bundleFromJSON,
  isBundleWithDsseEnvelope,
  isBundleWithMessageSignature,
  isBundleWithPublicKey,
} from '@sigstore/bundle';
import type { Bundle } from '@sigstore/bundle';
import { isObject } from '../artifact/read.js';
import { OciSkillsError } from '../errors.js';
import { parsePem } from './pem.js';

/** Annotations of a signature layer. @see https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md */
export const ANNOTATIONS = {
  signature: 'dev.cosignproject.cosign/signature',
  certificate: 'dev.sigstore.cosign/certificate',
  chain: 'dev.sigstore.cosign/chain',
  bundle: 'dev.sigstore.cosign/bundle',
  timestamp: 'dev.sigstore.cosign/rfc3161timestamp',
} as const;

export function signatureFault(why: string, cause?: unknown): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_SIGNATURE',
    `The signature is not valid: ${why}; do not use the artifact, and ask the publisher to sign it again`,
    { cause, details: { reason: why } },
  );
}

/** A bundle with its JSON text. */
export interface ReadBundle {
  readonly bundle: Bundle;
  readonly text: string;
  readonly kind: 'key' | 'keyless';
}

/** Read a bundle. @throws OciSkillsError `ERR_OCI_SKILLS_SIGNATURE` */
export function readBundle(text: string): ReadBundle {
  try {
    const bundle = bundleFromJSON(JSON.parse(text));
    return { bundle, text, kind: isBundleWithPublicKey(bundle) ? 'key' : 'keyless' };
  } catch (error) {
    throw signatureFault(`its bundle cannot be read (${(error as Error).message})`, error);
  }
}

function base64(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(value)) return value;
  throw signatureFault(`its ${what} is no base64`);
}

function parseJson(text: string, what: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw signatureFault(`its ${what} is no JSON`, error);
  }
  if (!isObject(value)) throw signatureFault(`its ${what} is no JSON object`);
  return value;
}

/** An integer as text, so that one above 2^53 keeps its last digits. */
function integer(text: string, key: string): string {
  const found = [...text.matchAll(new RegExp(`"${key}"\\s*:\\s*(\\d{1,19})\\s*[,}]`, 'g'))];
  const digits = found[0]?.[1];
  if (digits === undefined || found.length > 1) throw signatureFault(`its log entry has no \`${key}\``);
  return digits;
}

function logEntry(text: string): unknown {
  const { SignedEntryTimestamp, Payload } = parseJson(text, 'log entry');
  if (!isObject(Payload) || typeof Payload['logID'] !== 'string' || !/^[0-9a-f]{64}$/.test(Payload['logID']))
    throw signatureFault('its log entry names no log');
  const canonicalizedBody = base64(Payload['body'], 'log entry');
  const { kind, apiVersion } = parseJson(Buffer.from(canonicalizedBody, 'base64').toString('utf8'), 'log entry');
  return {
    logIndex: integer(text, 'logIndex'),
    logId: { keyId: Buffer.from(Payload['logID'], 'hex').toString('base64') },
    kindVersion: { kind, version: apiVersion },
    integratedTime: integer(text, 'integratedTime'),
    inclusionPromise: { signedEntryTimestamp: base64(SignedEntryTimestamp, "log's promise") },
    canonicalizedBody,
  };
}

function timestamps(text: string | undefined): unknown {
  if (text === undefined || text === '') return undefined;
  const { SignedRFC3161Timestamp } = parseJson(text, 'timestamp');
  return { rfc3161Timestamps: [{ signedTimestamp: base64(SignedRFC3161Timestamp, 'timestamp') }] };
}

function leaf(pem: string): string {
  const block = parsePem(pem);
  if (block?.label !== 'CERTIFICATE') throw signatureFault('its certificate is no PEM certificate');
  return block.bytes.toString('base64');
}

/**
 * The bundle that the annotations of a signature layer amount to. Without a certificate annotation the layer is signed
 * with a key; with one it is keyless, however wrong the certificate is.
 */
export function bundleOfAnnotations(annotations: Readonly<Record<string, string>>, payload: Uint8Array): ReadBundle {
  const signature = base64(annotations[ANNOTATIONS.signature], 'signature');
  const digest = createHash('sha256').update(payload).digest('base64');
  const messageSignature = { messageDigest: { algorithm: 'SHA2_256', digest }, signature };
  const certificate = annotations[ANNOTATIONS.certificate];
  if (certificate === undefined) {
    const mediaType = 'application/vnd.dev.sigstore.bundle.v0.3+json';
    return readBundle(
      JSON.stringify({
        mediaType,
        verificationMaterial: { publicKey: { hint: '' }, tlogEntries: [] },
        messageSignature,
      }),
    );
  }
  const entry = annotations[ANNOTATIONS.bundle];
  const timestampVerificationData = timestamps(annotations[ANNOTATIONS.timestamp]);
  const verificationMaterial = {
    x509CertificateChain: { certificates: [{ rawBytes: leaf(certificate) }] },
    tlogEntries: entry === undefined ? [] : [logEntry(entry)],
    ...(timestampVerificationData === undefined ? {} : { timestampVerificationData }),
  };
  return readBundle(
    JSON.stringify({
      mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.1',
      verificationMaterial,
      messageSignature,
    }),
  );
}

/** The bytes that a bundle's signature is over, or undefined when the bundle does not carry them. */
export function carriedPayload(bundle: Bundle): Buffer | undefined {
  return isBundleWithDsseEnvelope(bundle) ? bundle.content.dsseEnvelope.payload : undefined;
}

/** The hash that a bundle says it signs. */
export function statedDigest(bundle: Bundle): Buffer | undefined {
  return isBundleWithMessageSignature(bundle) ? bundle.content.messageSignature.messageDigest.digest : undefined;
}
