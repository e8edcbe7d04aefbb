import { sha256 } from '../content-digest.js';
import type { Blob, Descriptor, Skill, SkillFile } from '../types.js';
import { sorted, toJson } from './json.js';
import { CONFIG_TYPE, CREATED, INDEX_TYPE, LABELS, MANIFEST_TYPE, REQUIRES, SKILL_TYPE, TITLE } from './media-types.js';

/** A platform of the index. */
export interface Platform {
  readonly os: string;
  readonly architecture: string;
}

/** What the objects around a layer are made of. */
export interface ArtifactParts {
  readonly skill: Skill;
  readonly files: readonly SkillFile[];
  readonly layer: Blob;
  readonly diffId: string;
  /** RFC 3339 with seconds. */
  readonly created: string;
  readonly platforms: readonly Platform[];
}

/** The JSON objects of an artifact, from config to index. */
export interface ArtifactObjects {
  readonly index: Blob;
  readonly manifests: readonly Blob[];
  readonly configs: readonly Blob[];
}

/** Content with the descriptor that it hashes to. */
export function toBlob(mediaType: string, bytes: Uint8Array): Blob {
  return { mediaType, digest: sha256(bytes), size: bytes.length, bytes };
}

function toJsonBlob(mediaType: string, value: unknown): Blob {
  return toBlob(mediaType, Buffer.from(toJson(value)));
}

function labelsOf({ skill, files }: ArtifactParts): Readonly<Record<string, string>> {
  return sorted([
    [LABELS.name, skill.name],
    [LABELS.description, skill.description],
    [LABELS.version, skill.version],
    [LABELS.license, skill.license],
    [LABELS.allowedTools, skill.allowedTools.length === 0 ? 'null' : toJson(skill.allowedTools)],
    [LABELS.files, toJson(files.map(({ path }) => path))],
  ]);
}

function annotationsOf({ skill, created }: ArtifactParts): Readonly<Record<string, string>> {
  const requires = skill.requires.map(({ reference }) => reference);
  const entries: (readonly [string, string])[] = [
    [CREATED, created],
    [LABELS.name, skill.name],
    [LABELS.description, skill.description],
    [LABELS.version, skill.version],
  ];
  return sorted(requires.length === 0 ? entries : [...entries, [REQUIRES, toJson(requires)]]);
}

function buildConfig(parts: ArtifactParts, platform: Platform): Blob {
  return toJsonBlob(CONFIG_TYPE, {
    created: parts.created,
    architecture: platform.architecture,
    os: platform.os,
    config: { Labels: labelsOf(parts) },
    rootfs: { type: 'layers', diff_ids: [parts.diffId] },
    history: [{ created: parts.created, created_by: 'toolhive package' }],
  });
}

function plain({ mediaType, digest, size }: Descriptor): Descriptor {
  return { mediaType, digest, size };
}

function buildManifest(parts: ArtifactParts, config: Blob): Blob {
  return toJsonBlob(MANIFEST_TYPE, {
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    artifactType: SKILL_TYPE,
    config: plain(config),
    layers: [{ ...plain(parts.layer), annotations: { [TITLE]: 'skill.tar.gz' } }],
    annotations: annotationsOf(parts),
  });
}

/** Config and manifest a platform, and the index over them. */
export function buildObjects(parts: ArtifactParts): ArtifactObjects {
  const configs = parts.platforms.map((platform) => buildConfig(parts, platform));
  const manifests = configs.map((config) => buildManifest(parts, config));
  const index = toJsonBlob(INDEX_TYPE, {
    schemaVersion: 2,
    mediaType: INDEX_TYPE,
    artifactType: SKILL_TYPE,
    manifests: manifests.map((manifest, at) => {
      const { architecture, os } = parts.platforms[at] as Platform;
      return { ...plain(manifest), platform: { architecture, os } };
    }),
    annotations: annotationsOf(parts),
  });
  return { index: { ...index, artifactType: SKILL_TYPE }, manifests, configs };
}
