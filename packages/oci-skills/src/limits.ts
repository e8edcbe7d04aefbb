/**
 * Sizes and counts that hold everywhere in this package: building, pulling, previewing and unpacking agree, so
 * that what can be built can be installed and what can be installed can be previewed. Bytes unless the name says
 * otherwise.
 */
export const LIMITS = {
  /** Files of one skill, SKILL.md included. */
  files: 1000,
  /** Archive entries, directories included. */
  entries: 2000,
  fileBytes: 100 * 1024 * 1024,
  /** Uncompressed bytes of one skill when unpacked. */
  totalBytes: 500 * 1024 * 1024,
  /** Uncompressed bytes of one skill when built. */
  buildBytes: 95 * 1024 * 1024,
  compressedLayerBytes: 50 * 1024 * 1024,
  manifestBytes: 1024 * 1024,
  signatureManifestBytes: 10 * 1024 * 1024,
  blobBytes: 100 * 1024 * 1024,
  indexManifests: 32,
  layers: 64,
  frontMatterBytes: 64 * 1024,
  /** Entries of `toolhive.requires`. */
  requirements: 100,
  /** Path components below the skill's directory. */
  depth: 32,
  /** UTF-8 bytes of a whole path. */
  pathBytes: 1024,
  /** UTF-8 bytes of one path component. */
  nameBytes: 255,
} as const;
