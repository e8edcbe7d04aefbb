import type { Provenance } from '@thv/oci-skills';
import { Document, Scalar, visit } from 'yaml';
import { compareBytes } from './text.js';
import type { LockEntry, LockFile } from './types.js';

const PROVENANCE_ORDER = [
  'signerIdentity',
  'certIssuer',
  'repositoryUri',
  'repositoryRef',
  'runnerEnvironment',
  'sigstoreUrl',
  'publicKey',
  'provisional',
] as const;

/** Text that a YAML reader with types would take for a number, a boolean, null or a date. */
const AMBIGUOUS = /^(?:[-+.]?\d[\w.:+-]*|true|false|yes|no|on|off|null|~|y|n|\.nan|[-+]?\.inf)$/i;

/** The YAML text of a lock file: sorted by name, the same bytes for the same content. */
export function serialiseLock(lock: LockFile): string {
  const root: Record<string, unknown> = { version: 1 };
  if (lock.skills.length > 0) root.skills = listOf(lock.skills, lock);
  if (lock.plugins.length > 0) root.plugins = listOf(lock.plugins, lock);
  const document = new Document(new Map<string, unknown>([...Object.entries(root), ...lock.extras]), {
    schema: 'core',
    aliasDuplicateObjects: false,
  });
  visit(document, {
    Scalar(key, node) {
      if (key === 'value' || typeof key === 'number') quoteAmbiguous(node);
    },
  });
  return document.toString({ indent: 4, lineWidth: 0, singleQuote: false });
}

function quoteAmbiguous(node: Scalar): void {
  if (typeof node.value === 'string' && AMBIGUOUS.test(node.value)) node.type = Scalar.QUOTE_DOUBLE;
}

function listOf(entries: readonly LockEntry[], lock: LockFile): readonly ReadonlyMap<string, unknown>[] {
  return entries
    .toSorted((a, b) => compareBytes(a.name, b.name))
    .map((entry) => new Map<string, unknown>([...membersOf(entry), ...(lock.entryExtras.get(entry) ?? [])]));
}

function membersOf(entry: LockEntry): readonly [string, unknown][] {
  const members: readonly [string, unknown][] = [
    ['name', entry.name],
    ['version', entry.version],
    ['source', entry.source],
    ['resolvedReference', entry.resolvedReference],
    ['digest', entry.digest],
    ['contentDigest', entry.contentDigest],
    ['provenance', entry.provenance && provenanceOf(entry.provenance)],
    ['unsigned', entry.unsigned],
    ['requiredBy', entry.requiredBy?.length ? [...new Set(entry.requiredBy)].toSorted(compareBytes) : undefined],
    ['explicit', entry.explicit],
  ];
  return members.filter(([, value]) => value !== undefined && value !== '' && value !== false);
}

function provenanceOf(provenance: Provenance): ReadonlyMap<string, unknown> {
  return new Map(
    PROVENANCE_ORDER.map((field): [string, unknown] => [field, provenance[field]]).filter(
      ([, value]) => value !== undefined && value !== '' && value !== false,
    ),
  );
}
