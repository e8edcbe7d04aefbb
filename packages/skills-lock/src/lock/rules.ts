import { createPublicKey } from 'node:crypto';
import type { Provenance } from '@thv/oci-skills';
import { isSkillName, SKILL_NAME_RULE } from '../skill-name.js';
import { isGraphic, isGraphicOrSpace } from './text.js';
import type { LockEntry } from './types.js';

/** One broken rule: the member below the entry, and what is expected there. */
export interface Problem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** What the rules need to know of references; `parse` throws for a reference that is neither OCI nor git. */
export interface ReferenceRules {
  readonly kindOf: (reference: string) => 'oci' | 'git';
}

const MAX_TEXT = 512;
const MAX_KEY = 2048;
const OCI_DIGEST = /^sha256:[0-9a-f]{64}$/;
const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const CERTIFICATE_FIELDS = [
  'signerIdentity',
  'certIssuer',
  'repositoryUri',
  'repositoryRef',
  'runnerEnvironment',
  'sigstoreUrl',
] as const;

/** Whether text is a pin: `oci` for a manifest digest, `git` for a full commit, `undefined` for neither. */
export function digestKind(text: string): 'oci' | 'git' | undefined {
  if (OCI_DIGEST.test(text)) return 'oci';
  return COMMIT.test(text) ? 'git' : undefined;
}

/** Every rule that one entry breaks, in the order of its members. */
export function checkEntry(entry: LockEntry, references: ReferenceRules): readonly Problem[] {
  const problems: Problem[] = [];
  const report = (path: readonly (string | number)[], message: string) => problems.push({ path, message });

  if (!isSkillName(entry.name)) report(['name'], `${quote(entry.name)} is no skill name: ${SKILL_NAME_RULE}`);
  if (entry.source === '') report(['source'], 'is required: write what was asked for when the skill was installed');
  else if (entry.source.length > MAX_TEXT || !isGraphicOrSpace(entry.source)) {
    report(['source'], `must be at most ${MAX_TEXT} visible characters`);
  }
  checkReference(entry, references, report);
  const kind = digestKind(entry.digest);
  if (kind === undefined) {
    report(['digest'], `${quote(entry.digest)} is neither sha256: and 64 lower-case hex digits nor a full git commit`);
  }
  if (entry.contentDigest !== undefined && !OCI_DIGEST.test(entry.contentDigest)) {
    report(['contentDigest'], `${quote(entry.contentDigest)} is not sha256: and 64 lower-case hex digits`);
  }
  if (entry.unsigned === true && entry.provenance !== undefined) {
    report(['unsigned'], 'cannot stand beside provenance: an entry is signed or it is not');
  }
  if (entry.provenance !== undefined) checkProvenance(entry.provenance, report);
  entry.requiredBy?.forEach((parent, index) => {
    if (parent === entry.name) report(['requiredBy', index], 'names the entry itself');
  });
  return problems;
}

type Report = (path: readonly (string | number)[], message: string) => void;

function checkReference(entry: LockEntry, references: ReferenceRules, report: Report): void {
  const reference = entry.resolvedReference;
  if (reference === undefined) return;
  if (reference.length > MAX_TEXT || !isGraphic(reference)) {
    report(['resolvedReference'], `must be at most ${MAX_TEXT} visible characters without spaces`);
    return;
  }
  try {
    const wanted = references.kindOf(reference);
    const kind = digestKind(entry.digest);
    if (kind !== undefined && kind !== wanted) {
      report(
        ['digest'],
        `${quote(entry.digest)} does not fit a reference to ${wanted === 'git' ? 'a git repository' : 'a registry'}`,
      );
    }
  } catch (error) {
    report(['resolvedReference'], `${quote(reference)}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function checkProvenance(provenance: Provenance, report: Report): void {
  const fields = CERTIFICATE_FIELDS.filter((field) => provenance[field] !== undefined);
  if (provenance.publicKey !== undefined) {
    const beside = provenance.provisional === true ? [...fields, 'provisional'] : fields;
    if (beside.length > 0) {
      report(['provenance', beside[0] ?? ''], 'cannot stand beside publicKey: a key carries no certificate');
    }
    if (!isPublicKey(provenance.publicKey)) {
      report(['provenance', 'publicKey'], 'is not the base64 text of a DER SubjectPublicKeyInfo on one line');
    }
    return;
  }
  for (const field of ['signerIdentity', 'certIssuer'] as const) {
    if (provenance[field] === undefined || provenance[field] === '') {
      report(
        ['provenance', field],
        'is required: a provenance names a certificate identity with its issuer, or a publicKey',
      );
    }
  }
  for (const field of fields) {
    const value = provenance[field] ?? '';
    if (value !== '' && (value.length > MAX_TEXT || !isGraphic(value))) {
      report(['provenance', field], `must be at most ${MAX_TEXT} visible characters without spaces`);
    }
  }
}

function isPublicKey(text: string): boolean {
  if (text.length > MAX_KEY || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return false;
  try {
    createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
    return true;
  } catch {
    return false;
  }
}

const quote = (value: unknown): string => JSON.stringify(value);
