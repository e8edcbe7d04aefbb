import { MANIFEST_TYPE, CONFIG_TYPE, EMPTY_TYPE } from '../artifact/media-types.js';
import { parseJsonObject, readDescriptor, readDescriptors } from '../artifact/read.js';
import { OciSkillsError } from '../errors.js';
import type { OciSkillsErrorCode } from '../errors.js';
import { LIMITS } from '../limits.js';
import { formatReference } from '../reference.js';
import type { Blob, Descriptor, Reference, Registry } from '../types.js';
import { bundleOfAnnotations, carriedPayload, readBundle, signatureFault } from './bundle.js';
import type { ReadBundle } from './bundle.js';
import { signaturePayload } from './payload.js';

export const SIMPLE_SIGNING = 'application/vnd.dev.cosign.simplesigning.v1+json';
export const BUNDLE_TYPE = 'application/vnd.dev.sigstore.bundle.v0.3+json';
const BUNDLE_PREFIX = 'application/vnd.dev.sigstore.bundle';
const MOST_PAYLOAD = 1024 * 1024;
const MOST_LAYERS = 200;
const MOST_CANDIDATES = 200;

/** A signature that was found, not yet verified. */
export interface Candidate extends ReadBundle {
  readonly payload: Uint8Array;
  readonly layout: 'signature-tag' | 'referrer';
}

/** A signature that could not even be read. */
export interface BrokenCandidate {
  readonly error: OciSkillsError;
}

/** Faults of one signature, as opposed to those of the registry or the network. */
const own: ReadonlySet<OciSkillsErrorCode> = new Set([
  'ERR_OCI_SKILLS_SIGNATURE',
  'ERR_OCI_SKILLS_ARTIFACT',
  'ERR_OCI_SKILLS_DIGEST',
  'ERR_OCI_SKILLS_LIMIT',
  'ERR_OCI_SKILLS_NOT_FOUND',
]);

async function attempt<T>(read: () => Promise<T>): Promise<T | BrokenCandidate> {
  try {
    return await read();
  } catch (error) {
    if (OciSkillsError.is(error) && own.has(error.code)) return { error };
    throw error;
  }
}

/** The tag that signatures of `digest` are kept under. */
export function signatureTag(digest: string): string {
  return `${digest.replace(':', '-')}.sig`;
}

/** The signature manifest, or undefined when there is none. Any other failure is thrown: it does not mean "none". */
export async function readSignatureManifest(
  registry: Registry,
  reference: Reference,
  digest: string,
  signal?: AbortSignal,
): Promise<Blob | undefined> {
  const options = { maxBytes: LIMITS.signatureManifestBytes, ...(signal === undefined ? {} : { signal }) };
  try {
    return await registry.getManifest({ ...reference, tag: signatureTag(digest), digest: '' }, options);
  } catch (error) {
    if (OciSkillsError.is(error) && error.code === 'ERR_OCI_SKILLS_NOT_FOUND') return undefined;
    throw error;
  }
}

/** The layers of a signature manifest that are signatures. */
export function signatureLayers(manifest: Blob): readonly Descriptor[] {
  if (manifest.mediaType !== MANIFEST_TYPE)
    throw signatureFault(`the signature manifest is a \`${manifest.mediaType}\``);
  const layers = readDescriptors(
    parseJsonObject(manifest.bytes, 'the signature manifest')['layers'],
    'the list of signatures',
    MOST_LAYERS,
  );
  return layers.filter(({ mediaType }) => mediaType === SIMPLE_SIGNING);
}

/** Read one signature layer with its payload. */
export async function readSignatureLayer(
  registry: Registry,
  reference: Reference,
  layer: Descriptor,
  signal?: AbortSignal,
): Promise<Candidate> {
  const options = { maxBytes: MOST_PAYLOAD, ...(signal === undefined ? {} : { signal }) };
  const payload = await registry.getBlob(reference, layer, options);
  return { ...bundleOfAnnotations(layer.annotations ?? {}, payload), payload, layout: 'signature-tag' };
}

async function* fromTag(
  registry: Registry,
  reference: Reference,
  digest: string,
  signal?: AbortSignal,
): AsyncGenerator<Candidate | BrokenCandidate> {
  const manifest = await attempt(() => readSignatureManifest(registry, reference, digest, signal));
  if (manifest === undefined) return;
  if ('error' in manifest) return yield manifest;
  let layers: readonly Descriptor[];
  try {
    layers = signatureLayers(manifest);
  } catch (error) {
    if (!OciSkillsError.is(error)) throw error;
    return yield { error };
  }
  for (const layer of layers) yield await attempt(() => readSignatureLayer(registry, reference, layer, signal));
}

function mayBeBundle({ artifactType = '', mediaType }: Descriptor): boolean {
  if (mediaType !== MANIFEST_TYPE) return false;
  return (
    artifactType.startsWith(BUNDLE_PREFIX) ||
    artifactType === '' ||
    artifactType === EMPTY_TYPE ||
    artifactType === CONFIG_TYPE
  );
}

/** The bundle that a referrer holds; undefined when it turns out to be something else. */
async function readReferrer(
  registry: Registry,
  reference: Reference,
  digest: string,
  descriptor: Descriptor,
  signal?: AbortSignal,
): Promise<Candidate | undefined> {
  const call = signal === undefined ? {} : { signal };
  const manifest = await registry.getManifest({ ...reference, tag: '', digest: descriptor.digest }, call);
  const json = parseJsonObject(manifest.bytes, 'the referrer');
  const [layer] = readDescriptors(json['layers'], 'the list of layers', LIMITS.layers);
  const types = [json['artifactType'], readDescriptor(json['config'], 'the config').mediaType, layer?.mediaType];
  const isBundle = types.some((type) => typeof type === 'string' && type.startsWith(BUNDLE_PREFIX));
  if (!isBundle || layer === undefined) return undefined;
  const { subject } = json;
  if (subject !== undefined && readDescriptor(subject, 'the subject').digest !== digest)
    throw signatureFault('its manifest refers to another artifact');
  const bytes = await registry.getBlob(reference, layer, { ...call, maxBytes: LIMITS.signatureManifestBytes });
  const bundle = readBundle(Buffer.from(bytes).toString('utf8'));
  const payload = carriedPayload(bundle.bundle) ?? signaturePayload(reference, digest);
  return { ...bundle, payload, layout: 'referrer' };
}

async function* fromReferrers(
  registry: Registry,
  reference: Reference,
  digest: string,
  signal?: AbortSignal,
): AsyncGenerator<Candidate | BrokenCandidate> {
  const found = await registry.referrers(reference, digest, signal === undefined ? {} : { signal });
  for (const descriptor of found.filter(mayBeBundle)) {
    const candidate = await attempt(() => readReferrer(registry, reference, digest, descriptor, signal));
    if (candidate !== undefined) yield candidate;
  }
}

/** Every signature of `digest`: those under its signature tag, then those that refer to it. */
export async function* discoverSignatures(
  registry: Registry,
  reference: Reference,
  digest: string,
  signal?: AbortSignal,
): AsyncGenerator<Candidate | BrokenCandidate> {
  let count = 0;
  for (const source of [fromTag, fromReferrers]) {
    for await (const candidate of source(registry, reference, digest, signal)) {
      count += 1;
      if (count > MOST_CANDIDATES) {
        throw new OciSkillsError(
          'ERR_OCI_SKILLS_LIMIT',
          `\`${formatReference(reference, { digest })}\` has more than ${MOST_CANDIDATES} signatures; ask the publisher to remove some`,
          { details: { limit: MOST_CANDIDATES } },
        );
      }
      yield candidate;
    }
  }
}
