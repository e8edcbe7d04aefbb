import type { Provenance } from '@thv/oci-skills';
import type { SkillRecord } from '../store/port.js';
import type { InstalledSkill, ProvenanceDto, SkillMetadata } from '../types.js';

/** A record in the shape that the REST API answers; the signature bundle never leaves. */
export function toInstalledSkill(record: SkillRecord): InstalledSkill {
  return {
    metadata: toMetadata(record),
    scope: record.scope,
    ...(record.projectRoot === '' ? {} : { project_root: record.projectRoot }),
    ...(record.reference === '' ? {} : { reference: record.reference }),
    ...(record.tag === '' ? {} : { tag: record.tag }),
    ...(record.digest === '' ? {} : { digest: record.digest }),
    status: record.status,
    installed_at: record.installedAt,
    ...(record.clients.length > 0 ? { clients: record.clients } : {}),
    ...(record.dependencies.length > 0 ? { dependencies: record.dependencies } : {}),
    managed: record.managed,
  };
}

/** What a record says about the skill itself. */
export const toMetadata = ({ name, version, description, author, tags }: SkillRecord): SkillMetadata => ({
  name,
  version,
  description,
  author,
  ...(tags.length > 0 ? { tags } : {}),
});

/** A lock file's provenance with the names of the REST API. */
export function toProvenanceDto(provenance: Provenance): ProvenanceDto {
  return {
    ...(provenance.signerIdentity ? { signer_identity: provenance.signerIdentity } : {}),
    ...(provenance.certIssuer ? { cert_issuer: provenance.certIssuer } : {}),
    ...(provenance.repositoryUri ? { repository_uri: provenance.repositoryUri } : {}),
    ...(provenance.repositoryRef ? { repository_ref: provenance.repositoryRef } : {}),
    ...(provenance.runnerEnvironment ? { runner_environment: provenance.runnerEnvironment } : {}),
    ...(provenance.sigstoreUrl ? { sigstore_url: provenance.sigstoreUrl } : {}),
    ...(provenance.publicKey ? { public_key: provenance.publicKey } : {}),
    ...(provenance.provisional ? { provisional: true } : {}),
  };
}
