import { isDigest } from '../arguments.js';
import { OciSkillsError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { printable } from '../text.js';
import type { Blob, Descriptor, SkillArtifact, SkillLabels } from '../types.js';
import { CONFIG_TYPE, INDEX_TYPE, LABELS, LAYER_TYPE, MANIFEST_TYPE, REQUIRES, SKILL_TYPE } from './media-types.js';

/** A JSON object from outside. */
export type Json = Readonly<Record<string, unknown>>;

export function artifactFault(why: string, cause?: unknown): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_ARTIFACT',
    `The artifact is no skill that can be used: ${why}; ask the publisher for a new build`,
    {
      cause,
      details: { reason: why },
    },
  );
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function parseJsonObject(bytes: Uint8Array, what: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw artifactFault(`${what} is no JSON`, error);
  }
  if (!isObject(value)) throw artifactFault(`${what} is no JSON object`);
  return value;
}

/** String values of an object, own keys only. */
export function readTexts(value: unknown): Readonly<Record<string, string>> {
  const texts: Record<string, string> = Object.create(null) as Record<string, string>;
  if (!isObject(value)) return texts;
  for (const [key, text] of Object.entries(value)) if (typeof text === 'string') texts[key] = text;
  return texts;
}

export function readDescriptor(value: unknown, what: string): Descriptor {
  if (!isObject(value)) throw artifactFault(`${what} is no descriptor`);
  const { mediaType, digest, size, artifactType } = value;
  const isSize = typeof size === 'number' && Number.isSafeInteger(size) && size >= 0;
  if (typeof mediaType !== 'string' || !isDigest(digest) || !isSize) {
    throw artifactFault(`${what} has no valid media type, digest and size`);
  }
  return {
    mediaType,
    digest,
    size,
    ...(typeof artifactType === 'string' ? { artifactType } : {}),
    ...(isObject(value['annotations']) ? { annotations: readTexts(value['annotations']) } : {}),
  };
}

export function readDescriptors(value: unknown, what: string, most: number): readonly Descriptor[] {
  if (!Array.isArray(value)) throw artifactFault(`${what} is no list`);
  if (value.length > most) throw artifactFault(`${what} has ${value.length} entries, more than ${most}`);
  return value.map((item) => readDescriptor(item, `an entry of ${what}`));
}

/** What a manifest names: its config and its one layer. */
export interface ManifestParts {
  readonly config: Descriptor;
  readonly layer: Descriptor;
  readonly annotations: Readonly<Record<string, string>>;
}

export function readManifest(manifest: Uint8Array, isRoot: boolean): ManifestParts {
  const json = parseJsonObject(manifest, 'the manifest');
  const artifactType = json['artifactType'];
  if (artifactType !== SKILL_TYPE && (isRoot || artifactType !== undefined)) {
    throw artifactFault(`its type is \`${printable(String(artifactType))}\`, not \`${SKILL_TYPE}\``);
  }
  const layers = readDescriptors(json['layers'], 'the list of layers', LIMITS.layers);
  const [layer] = layers;
  if (layer === undefined || layers.length > 1)
    throw artifactFault(`it has ${layers.length} layers; a skill has exactly one`);
  if (layer.mediaType !== LAYER_TYPE)
    throw artifactFault(`its layer is \`${printable(layer.mediaType)}\`, not \`${LAYER_TYPE}\``);
  if (layer.size > LIMITS.compressedLayerBytes)
    throw artifactFault(`its layer has ${layer.size} bytes, more than ${LIMITS.compressedLayerBytes}`);
  const config = readDescriptor(json['config'], 'the config');
  if (config.mediaType !== CONFIG_TYPE)
    throw artifactFault(`its config is \`${printable(config.mediaType)}\`, not \`${CONFIG_TYPE}\``);
  if (config.size > LIMITS.manifestBytes)
    throw artifactFault(`its config has ${config.size} bytes, more than ${LIMITS.manifestBytes}`);
  return { config, layer, annotations: readTexts(json['annotations']) };
}

/** The manifests that an index names; an index inside an index is refused. */
export function readIndex(index: Uint8Array): readonly Descriptor[] {
  const json = parseJsonObject(index, 'the index');
  if (json['artifactType'] !== SKILL_TYPE)
    throw artifactFault(`its type is \`${printable(String(json['artifactType']))}\`, not \`${SKILL_TYPE}\``);
  const manifests = readDescriptors(json['manifests'], 'the list of manifests', LIMITS.indexManifests);
  if (manifests.length === 0) throw artifactFault('its index is empty');
  const other = manifests.find(({ mediaType }) => mediaType !== MANIFEST_TYPE);
  if (other !== undefined) throw artifactFault(`its index names a \`${printable(other.mediaType)}\``);
  return manifests;
}

function readList(text: string | undefined, what: string): readonly string[] {
  if (text === undefined) return [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw artifactFault(`the label \`${what}\` is no JSON`, error);
  }
  if (value === null) return [];
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
    throw artifactFault(`the label \`${what}\` is no list of texts`);
  return value;
}

function readRequires(text: string | undefined): readonly string[] {
  try {
    return readList(text, REQUIRES).slice(0, LIMITS.requirements);
  } catch {
    // The annotation is a courtesy to tools; the SKILL.md in the layer is what counts.
    return [];
  }
}

function readConfig(
  config: Uint8Array,
  annotations: Readonly<Record<string, string>>,
): Pick<SkillArtifact, 'labels' | 'diffId'> {
  const json = parseJsonObject(config, 'the config');
  const inner = json['config'];
  if (!isObject(inner) || !isObject(inner['Labels'])) throw artifactFault('its config has no labels');
  const labels = readTexts(inner['Labels']);
  const name = labels[LABELS.name] ?? '';
  if (name === '') throw artifactFault(`the label \`${LABELS.name}\` is missing`);
  const rootfs = json['rootfs'];
  const diffIds: unknown = isObject(rootfs) ? rootfs['diff_ids'] : undefined;
  const diffId: unknown = Array.isArray(diffIds) && diffIds.length === 1 ? diffIds[0] : undefined;
  if (!isDigest(diffId)) throw artifactFault('its config does not give the digest of one uncompressed layer');
  return {
    diffId,
    labels: {
      name,
      description: labels[LABELS.description] ?? '',
      version: labels[LABELS.version] ?? '',
      license: labels[LABELS.license] ?? '',
      allowedTools: readList(labels[LABELS.allowedTools], LABELS.allowedTools),
      files: readList(labels[LABELS.files], LABELS.files),
      requires: readRequires(annotations[REQUIRES]),
    } satisfies SkillLabels,
  };
}

/** Fetches content by descriptor; what it returns has been verified against the digest. */
export type Fetch = (descriptor: Descriptor) => Promise<Uint8Array>;

async function fetchBlob(descriptor: Descriptor, fetch: Fetch): Promise<Blob> {
  return { ...descriptor, bytes: await fetch(descriptor) };
}

async function readManifests(root: Blob, fetch: Fetch): Promise<readonly Blob[]> {
  if (root.mediaType === MANIFEST_TYPE) return [root];
  if (root.mediaType !== INDEX_TYPE) throw artifactFault(`its root is a \`${printable(root.mediaType)}\``);
  const manifests: Blob[] = [];
  for (const descriptor of readIndex(root.bytes)) {
    if (descriptor.size > LIMITS.manifestBytes)
      throw artifactFault(`a manifest has ${descriptor.size} bytes, more than ${LIMITS.manifestBytes}`);
    manifests.push(await fetchBlob(descriptor, fetch));
  }
  return manifests;
}

/** An artifact without its layer. */
export interface ArtifactHead extends Omit<SkillArtifact, 'layer'> {
  readonly layerDescriptor: Descriptor;
}

/** Read what a root names but for the layer, and check that it is one skill. */
export async function readHead(root: Blob, fetch: Fetch): Promise<ArtifactHead> {
  const manifests = await readManifests(root, fetch);
  const isRoot = root.mediaType === MANIFEST_TYPE;
  const parts = manifests.map(({ bytes }) => readManifest(bytes, isRoot));
  const [first] = parts as [ManifestParts];
  if (parts.some(({ layer }) => layer.digest !== first.layer.digest))
    throw artifactFault('its platforms have different layers');
  const configs: Blob[] = [];
  for (const { config } of parts) configs.push(await fetchBlob(config, fetch));
  const [config] = configs as [Blob];
  const { labels, diffId } = readConfig(config.bytes, first.annotations);
  return { digest: root.digest, root, manifests, configs, diffId, labels, layerDescriptor: first.layer };
}

/** Read everything that a root names, and check that it is one skill. */
export async function readArtifact(root: Blob, fetch: Fetch): Promise<SkillArtifact> {
  const { layerDescriptor, ...head } = await readHead(root, fetch);
  return { ...head, layer: await fetchBlob(layerDescriptor, fetch) };
}
