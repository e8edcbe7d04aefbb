/** @see https://github.com/opencontainers/image-spec/blob/main/media-types.md */
export const INDEX_TYPE = 'application/vnd.oci.image.index.v1+json';
export const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
export const CONFIG_TYPE = 'application/vnd.oci.image.config.v1+json';
export const LAYER_TYPE = 'application/vnd.oci.image.layer.v1.tar+gzip';
export const EMPTY_TYPE = 'application/vnd.oci.empty.v1+json';
/** What tells a skill from any other artifact. */
export const SKILL_TYPE = 'dev.toolhive.skills.v1';

export const LABELS = {
  name: 'dev.toolhive.skills.name',
  description: 'dev.toolhive.skills.description',
  version: 'dev.toolhive.skills.version',
  license: 'dev.toolhive.skills.license',
  allowedTools: 'dev.toolhive.skills.allowedTools',
  files: 'dev.toolhive.skills.files',
} as const;
export const REQUIRES = 'dev.toolhive.skills.requires';
export const CREATED = 'org.opencontainers.image.created';
export const TITLE = 'org.opencontainers.image.title';
export const REF_NAME = 'org.opencontainers.image.ref.name';
