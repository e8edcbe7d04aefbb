import type { X509Certificate } from '@sigstore/core';
import { ASN1Obj } from '@sigstore/core';
import { OciSkillsError } from '../errors.js';
import { printable } from '../text.js';
import type { CatalogueProvenance, Provenance } from '../types.js';

/** @see https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md */
const OIDS = {
  legacyIssuer: '1.3.6.1.4.1.57264.1.1',
  issuer: '1.3.6.1.4.1.57264.1.8',
  runnerEnvironment: '1.3.6.1.4.1.57264.1.11',
  repositoryUri: '1.3.6.1.4.1.57264.1.12',
  repositoryRef: '1.3.6.1.4.1.57264.1.14',
} as const;
const GITHUB = 'https://token.actions.githubusercontent.com';
export const PUBLIC_LOG = 'https://rekor.sigstore.dev';

/** Who a certificate names, with the full subject alternative name beside what is recorded of it. */
export interface Signer {
  readonly provenance: Provenance;
  readonly subject: string;
}

function derText(certificate: X509Certificate, oid: string): string | undefined {
  const extension = certificate.extension(oid);
  if (extension === undefined) return undefined;
  return ASN1Obj.parseBuffer(Buffer.from(extension.value)).value.toString('utf8');
}

function refuse(why: string): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_SIGNATURE',
    `The signature's certificate names no signer: ${why}; ask the publisher to sign again`,
    { details: { reason: why } },
  );
}

function readSubject(certificate: X509Certificate): string {
  const subject = certificate.subjectAltName ?? certificate.extSubjectAltName?.otherName('1.3.6.1.4.1.57264.1.7');
  if (subject === undefined || subject === '') throw refuse('it has no subject alternative name');
  return subject;
}

/** Read who signed from a certificate that has been verified. */
export function readSigner(certificate: X509Certificate): Signer {
  const subject = readSubject(certificate);
  const certIssuer =
    derText(certificate, OIDS.issuer) ?? certificate.extension(OIDS.legacyIssuer)?.value.toString('ascii');
  if (certIssuer === undefined) throw refuse('it has no issuer');
  const repositoryUri = derText(certificate, OIDS.repositoryUri);
  const repositoryRef = derText(certificate, OIDS.repositoryRef);
  const runnerEnvironment = derText(certificate, OIDS.runnerEnvironment);
  if (certIssuer === GITHUB && repositoryUri === undefined)
    throw refuse('it comes from GitHub Actions but names no repository');
  const provenance: Provenance = {
    signerIdentity: certIssuer === GITHUB ? workflowOf(subject, repositoryUri ?? '') : subject,
    certIssuer,
    ...(repositoryUri === undefined ? {} : { repositoryUri }),
    ...(repositoryRef === undefined ? {} : { repositoryRef }),
    ...(runnerEnvironment === undefined ? {} : { runnerEnvironment }),
    sigstoreUrl: PUBLIC_LOG,
  };
  return { provenance, subject };
}

/** The workflow's path in its repository; one of another repository keeps its whole address. The git ref is cut off. */
function workflowOf(subject: string, repositoryUri: string): string {
  const at = subject.indexOf('@');
  const workflow = at < 0 ? subject : subject.slice(0, at);
  return workflow.startsWith(`${repositoryUri}/`) ? workflow.slice(repositoryUri.length) : workflow;
}

function mismatch(
  code: 'ERR_OCI_SKILLS_SIGNER_MISMATCH' | 'ERR_OCI_SKILLS_PROVENANCE_MISMATCH',
  field: string,
  expected: string,
  actual: string | undefined,
): OciSkillsError {
  const shown = actual === undefined || actual === '' ? 'nothing' : `\`${printable(actual, 400)}\``;
  return new OciSkillsError(
    code,
    `The artifact was signed with ${shown} as \`${field}\`, not with \`${printable(expected, 400)}\` as recorded; ask the publisher why, and accept the change only if it is meant`,
    { details: { field, expected, actual: actual ?? '' } },
  );
}

function isSameSigner(expected: Provenance, { provenance, subject }: Signer): boolean {
  if (expected.repositoryUri === undefined || expected.repositoryUri === '') {
    return expected.signerIdentity === provenance.signerIdentity || expected.signerIdentity === subject;
  }
  return expected.repositoryUri === provenance.repositoryUri && expected.signerIdentity === provenance.signerIdentity;
}

/** Compare a certificate's signer with the recorded one, to the letter. */
export function matchSigner(expected: Provenance, signer: Signer): void {
  const { provenance } = signer;
  if (expected.certIssuer !== provenance.certIssuer)
    throw mismatch('ERR_OCI_SKILLS_SIGNER_MISMATCH', 'certIssuer', expected.certIssuer ?? '', provenance.certIssuer);
  if (!isSameSigner(expected, signer)) {
    const wanted = `${expected.repositoryUri ?? ''}${expected.signerIdentity ?? ''}`;
    throw mismatch('ERR_OCI_SKILLS_SIGNER_MISMATCH', 'signerIdentity', wanted, signer.subject);
  }
  for (const field of ['repositoryRef', 'runnerEnvironment'] as const) {
    const wanted = expected[field] ?? '';
    if (wanted !== '' && wanted !== provenance[field])
      throw mismatch('ERR_OCI_SKILLS_PROVENANCE_MISMATCH', field, wanted, provenance[field]);
  }
}

/**
 * Compare who signed with who is recorded: key with key, or issuer, identity and repository to the letter, then the
 * git ref and the runner class where they are recorded. A field that is recorded but absent does not match.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_SIGNER_MISMATCH`, `ERR_OCI_SKILLS_PROVENANCE_MISMATCH`
 */
export function matchProvenance(expected: Provenance, observed: Provenance): void {
  if (expected.publicKey !== undefined || observed.publicKey !== undefined) {
    if (expected.publicKey === observed.publicKey) return;
    throw mismatch('ERR_OCI_SKILLS_SIGNER_MISMATCH', 'publicKey', expected.publicKey ?? '', observed.publicKey);
  }
  matchSigner(expected, {
    provenance: observed,
    subject: `${observed.repositoryUri ?? ''}${observed.signerIdentity ?? ''}`,
  });
}

function catalogueFault(why: string, details: Readonly<Record<string, unknown>>): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_CATALOGUE',
    `The catalogue's statement about the signer is not met: ${why}`,
    { details },
  );
}

/** Refuse what the catalogue demands but cannot be checked here. */
export function checkCatalogue(catalogue: CatalogueProvenance): void {
  if (catalogue.sigstore_url !== undefined && catalogue.sigstore_url !== '') {
    throw catalogueFault(
      'it names a Sigstore instance, which is not supported; install by the direct reference after checking the signer',
      { field: 'sigstore_url' },
    );
  }
  if (catalogue.attestation !== undefined && catalogue.attestation !== null) {
    throw catalogueFault(
      'it demands an attestation, which is not supported; install by the direct reference after checking the signer',
      { field: 'attestation' },
    );
  }
}

const catalogueFields = [
  ['cert_issuer', 'certIssuer'],
  ['repository_uri', 'repositoryUri'],
  ['repository_ref', 'repositoryRef'],
  ['runner_environment', 'runnerEnvironment'],
] as const;

/** Compare a signer with what the catalogue declares; fields that are empty do not count. */
export function matchCatalogue(catalogue: CatalogueProvenance, { provenance, subject }: Signer): void {
  for (const [declared, field] of catalogueFields) {
    const wanted = catalogue[declared] ?? '';
    if (wanted === '' || wanted === provenance[field]) continue;
    throw catalogueFault(
      `\`${declared}\` is \`${printable(wanted, 300)}\`, but the signature says \`${printable(provenance[field] ?? 'nothing', 300)}\``,
      { field: declared, expected: wanted, actual: provenance[field] ?? '' },
    );
  }
  const identity = catalogue.signer_identity ?? '';
  const bare = subject.split('@')[0] ?? subject;
  const isSame =
    identity === '' ||
    identity === provenance.signerIdentity ||
    identity === subject ||
    (provenance.certIssuer === GITHUB && identity === bare);
  if (!isSame)
    throw catalogueFault(
      `\`signer_identity\` is \`${printable(identity, 300)}\`, but \`${printable(subject, 300)}\` signed`,
      { field: 'signer_identity', expected: identity, actual: subject },
    );
}
