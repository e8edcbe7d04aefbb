import type { CatalogueProvenance } from '@thv/oci-skills';
import { parseReference } from '@thv/oci-skills';
import { SkillsLockError } from '../errors.js';
import { formatGitReference, parseGitReference } from '../git/reference.js';
import type { CataloguePackage, CatalogueSkill } from '../ports.js';
import type { ServiceContext } from './context.js';

const MOST_SHOWN = 5;

/** The one catalogue entry for `name` or `namespace/name`, as a source to install; `undefined` where there is none. */
export async function findInCatalogue(
  context: ServiceContext,
  text: string,
  signal: AbortSignal | undefined,
): Promise<{ readonly source: string; readonly provenance?: CatalogueProvenance } | undefined> {
  if (!context.catalogue) return undefined;
  const parts = text.split('/');
  const name = parts.at(-1) ?? '';
  const namespace = parts.slice(0, -1).join('/');
  const all = await context.catalogue.find(name, signal ? { signal } : {});
  const found = all.filter(
    (skill) =>
      skill.name.toLowerCase() === name.toLowerCase() &&
      (namespace === '' || skill.namespace.toLowerCase() === namespace.toLowerCase()),
  );
  if (found.length > 1) {
    const shown = found.slice(0, MOST_SHOWN).map((skill) => `${skill.namespace}/${skill.name}`);
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_CONFLICT',
      `The catalogue has ${found.length} skills named ${JSON.stringify(name)}: ${shown.join(', ')}; pass one with its namespace`,
    );
  }
  const [skill] = found;
  if (!skill) return undefined;
  return { source: sourceOf(skill), ...(skill.provenance ? { provenance: skill.provenance } : {}) };
}

/** OCI before git; a git package is pinned as far as the entry says. */
function sourceOf(skill: CatalogueSkill): string {
  const oci = skill.packages.find((entry) => entry.kind === 'oci' && entry.identifier !== '');
  const git = skill.packages.find((entry) => entry.kind === 'git' && entry.url !== '');
  const chosen = oci ?? git;
  if (!chosen) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_INVALID_SKILL',
      `The catalogue entry ${skill.namespace}/${skill.name} names no package to install; tell the maintainer of the catalogue`,
    );
  }
  try {
    return chosen.kind === 'oci' ? checkedOci(chosen.identifier) : gitSource(chosen);
  } catch (error) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_INVALID_SKILL',
      `The catalogue entry ${skill.namespace}/${skill.name} has a broken package: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}

function checkedOci(identifier: string): string {
  parseReference(identifier);
  return identifier;
}

function gitSource(entry: Extract<CataloguePackage, { kind: 'git' }>): string {
  const base = parseGitReference(entry.url);
  const ref = entry.commit || entry.ref || base.ref;
  const path = entry.subfolder || base.path;
  return formatGitReference({
    host: base.host,
    repository: base.repository,
    ...(ref ? { ref } : {}),
    ...(path ? { path } : {}),
  });
}
