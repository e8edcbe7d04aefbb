import type { X509Certificate } from '@sigstore/core';
import { signatureFault } from './bundle.js';
import type { Trust } from './trust.js';

/** Extended key usage for code signing, DER of 1.3.6.1.5.5.7.3.3. */
const CODE_SIGNING = Buffer.from([0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x03]);
const EXTENDED_KEY_USAGE = '2.5.29.37';
const MOST_STEPS = 5;

function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.subject.equals(certificate.issuer) && certificate.verify();
}

function verifies(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return certificate.issuer.equals(issuer.subject) && issuer.isCA && certificate.verify(issuer);
  } catch {
    return false;
  }
}

function reachesRoot(leaf: X509Certificate, authorities: readonly X509Certificate[], time: Date): boolean {
  let current = leaf;
  for (let step = 0; step < MOST_STEPS; step += 1) {
    if (!current.validForDate(time)) return false;
    if (current !== leaf && isSelfSigned(current)) return true;
    const issuer = authorities.find((authority) => authority !== current && verifies(current, authority));
    if (issuer === undefined) return false;
    current = issuer;
  }
  return false;
}

/** Verify that a leaf may sign code and descends from the trust root at `time`. */
export function checkChain(leaf: X509Certificate, trust: Trust, time: Date): void {
  const usage = leaf.extension(EXTENDED_KEY_USAGE)?.value;
  if (leaf.isCA || usage === undefined || !usage.includes(CODE_SIGNING))
    throw signatureFault('its certificate is not for signing code');
  const isTrusted = trust.material.certificateAuthorities.some(
    ({ certChain, validFor }) => validFor.start <= time && time <= validFor.end && reachesRoot(leaf, certChain, time),
  );
  if (!isTrusted) throw signatureFault('its certificate does not come from the trusted authority');
}
