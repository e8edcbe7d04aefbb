import { toBlob } from '../artifact/build.js';
import { toJson } from '../artifact/json.js';
import { CONFIG_TYPE, EMPTY_TYPE, INDEX_TYPE, MANIFEST_TYPE } from '../artifact/media-types.js';
import { parseJsonObject, readDescriptors } from '../artifact/read.js';
import { OciSkillsError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { descriptorOf } from '../registry/manifests.js';
import { fallbackTag } from '../registry/referrers.js';
import type { Blob, CallOptions, Descriptor, Reference, Registry } from '../types.js';
import { PREDICATE_TYPE } from './check.js';
import { BUNDLE_TYPE, SIMPLE_SIGNING, readSignatureManifest, signatureTag } from './discover.js';

// Two signers may append at once: what was written is read again, and appended again when it is gone.
const ATTEMPTS = 5;

function plain({ mediaType, digest, size }: Descriptor): Descriptor {
  return { mediaType, digest, size };
}

function jsonBlob(mediaType: string, value: unknown): Blob {
  return toBlob(mediaType, Buffer.from(toJson(value)));
}

function layersOf(manifest: Blob | undefined): readonly Descriptor[] {
  return manifest === undefined
    ? []
    : readDescriptors(
        parseJsonObject(manifest.bytes, 'the signature manifest')['layers'],
        'the list of signatures',
        LIMITS.layers * 4,
      );
}

function isSame(left: Descriptor, right: Descriptor): boolean {
  return left.digest === right.digest && JSON.stringify(left.annotations) === JSON.stringify(right.annotations);
}

/** An image config is what other tools expect beside the layers. */
function configOf(layers: readonly Descriptor[]): Blob {
  const created = '0001-01-01T00:00:00Z';
  return jsonBlob(CONFIG_TYPE, {
    architecture: '',
    created,
    history: layers.map(() => ({ created })),
    os: '',
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
    config: {},
  });
}

function busy(digest: string): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_REGISTRY',
    `The signature of \`${digest}\` was overwritten ${ATTEMPTS} times by another signer; try again`,
    { details: { digest } },
  );
}

/** Append a signature layer to the signature manifest of `digest`; those that are there stay. */
export async function appendSignature(
  registry: Registry,
  reference: Reference,
  digest: string,
  payload: Uint8Array,
  annotations: Readonly<Record<string, string>>,
  options: CallOptions,
): Promise<void> {
  const blob = toBlob(SIMPLE_SIGNING, payload);
  const layer: Descriptor = { ...plain(blob), annotations };
  await registry.putBlob(reference, blob, options);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const there = layersOf(await readSignatureManifest(registry, reference, digest, options.signal));
    if (there.some((other) => isSame(other, layer))) return;
    const layers = [...there, layer];
    const config = configOf(layers);
    await registry.putBlob(reference, config, options);
    const manifest = jsonBlob(MANIFEST_TYPE, {
      schemaVersion: 2,
      mediaType: MANIFEST_TYPE,
      config: plain(config),
      layers,
    });
    await registry.putManifest(reference, manifest, { ...options, tag: signatureTag(digest) });
  }
  const last = layersOf(await readSignatureManifest(registry, reference, digest, options.signal));
  if (!last.some((other) => isSame(other, layer))) throw busy(digest);
}

async function readFallback(
  registry: Registry,
  reference: Reference,
  digest: string,
  options: CallOptions,
): Promise<readonly Descriptor[]> {
  try {
    const { bytes } = await registry.getManifest(
      { ...reference, tag: fallbackTag(digest), digest: '' },
      { ...options, maxBytes: LIMITS.signatureManifestBytes },
    );
    return readDescriptors(
      parseJsonObject(bytes, 'the list of referrers')['manifests'] ?? [],
      'the list of referrers',
      LIMITS.files,
    );
  } catch (error) {
    if (OciSkillsError.is(error) && error.code === 'ERR_OCI_SKILLS_NOT_FOUND') return [];
    throw error;
  }
}

/** @see https://github.com/opencontainers/distribution-spec/blob/main/spec.md#referrers-tag-schema */
async function appendFallback(
  registry: Registry,
  reference: Reference,
  digest: string,
  entry: Descriptor,
  options: CallOptions,
): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const there = await readFallback(registry, reference, digest, options);
    if (there.some((other) => other.digest === entry.digest)) return;
    const index = jsonBlob(INDEX_TYPE, { schemaVersion: 2, mediaType: INDEX_TYPE, manifests: [...there, entry] });
    await registry.putManifest(reference, index, { ...options, tag: fallbackTag(digest) });
  }
  const last = await readFallback(registry, reference, digest, options);
  if (!last.some((other) => other.digest === entry.digest)) throw busy(digest);
}

/** Attach a bundle as a referrer of `digest`, by the fallback tag where the registry keeps no referrers. */
export async function attachBundle(
  registry: Registry,
  reference: Reference,
  digest: string,
  bundle: string,
  options: CallOptions,
): Promise<void> {
  const root = descriptorOf(await registry.getManifest({ ...reference, tag: '', digest }, options));
  const layer = toBlob(BUNDLE_TYPE, Buffer.from(bundle));
  const config = toBlob(EMPTY_TYPE, Buffer.from('{}'));
  for (const blob of [layer, config]) await registry.putBlob(reference, blob, options);
  const annotations = {
    'dev.sigstore.bundle.content': 'dsse-envelope',
    'dev.sigstore.bundle.predicateType': PREDICATE_TYPE,
  };
  const manifest = jsonBlob(MANIFEST_TYPE, {
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    artifactType: BUNDLE_TYPE,
    config: plain(config),
    layers: [plain(layer)],
    subject: plain(root),
    annotations,
  });
  const { isReferrer } = await registry.putManifest(reference, manifest, options);
  if (!isReferrer)
    await appendFallback(
      registry,
      reference,
      digest,
      { ...plain(manifest), artifactType: BUNDLE_TYPE, annotations },
      options,
    );
}
