import { expectArgument, expectDigest } from '../arguments.js';
import { readArtifact } from '../artifact/read.js';
import { LIMITS } from '../limits.js';
import { formatReference, toReference } from '../reference.js';
import type {
  Blob,
  CallOptions,
  Descriptor,
  PackedSkill,
  PullOptions,
  PushResult,
  Reference,
  Registry,
  RegistryOptions,
  SkillArtifact,
} from '../types.js';
import { fetchBlob, storeBlob } from './blobs.js';
import { descriptorOf, fetchManifest, hasManifest, storeManifest } from './manifests.js';
import { listReferrers } from './referrers.js';
import { Session } from './session.js';

/** The root of an artifact that was packed here or pulled. */
export function rootOf(artifact: PackedSkill | SkillArtifact): Blob {
  return 'root' in artifact ? artifact.root : artifact.index;
}

function targetOf({ tag, digest }: Reference): string {
  return digest === '' ? tag : digest;
}

class Client implements Registry {
  readonly #session: Session;

  constructor(options: RegistryOptions) {
    this.#session = new Session(options);
  }

  async resolve(reference: string | Reference, options: CallOptions = {}): Promise<Descriptor> {
    return descriptorOf(await this.getManifest(reference, options));
  }

  pull(reference: string | Reference, options: PullOptions = {}): Promise<SkillArtifact> {
    const target = toReference(reference);
    return this.#session.within(options, `Pulling \`${formatReference(target)}\``, async (signal) => {
      const root = await fetchManifest(this.#session, target, targetOf(target), LIMITS.manifestBytes, signal);
      const artifact = await readArtifact(root, (descriptor) => {
        const isManifest = descriptor.mediaType.endsWith('.manifest.v1+json');
        return isManifest
          ? this.#child(target, descriptor, signal)
          : fetchBlob(this.#session, target, descriptor, LIMITS.blobBytes, signal);
      });
      await options.store?.put(artifact, { tag: formatReference(target), signal });
      return artifact;
    });
  }

  async #child(reference: Reference, descriptor: Descriptor, signal: AbortSignal): Promise<Uint8Array> {
    return (await fetchManifest(this.#session, reference, descriptor.digest, LIMITS.manifestBytes, signal)).bytes;
  }

  push(
    reference: string | Reference,
    artifact: PackedSkill | SkillArtifact,
    options: CallOptions = {},
  ): Promise<PushResult> {
    const target = toReference(reference);
    const root = rootOf(artifact);
    expectArgument(
      target.digest === '' || target.digest === root.digest,
      'reference',
      `a tag, or the digest \`${root.digest}\` of the artifact`,
      formatReference(target),
    );
    return this.#session.within(options, `Pushing \`${formatReference(target)}\``, async (signal) => {
      let uploaded = 0;
      let skipped = 0;
      const count = (isNew: boolean): void => void (isNew ? (uploaded += 1) : (skipped += 1));
      for (const blob of [artifact.layer, ...artifact.configs])
        count(await storeBlob(this.#session, target, blob, signal));
      for (const manifest of artifact.manifests.filter(({ digest }) => digest !== root.digest)) {
        const isThere = await hasManifest(this.#session, target, manifest.digest, signal);
        if (!isThere) await storeManifest(this.#session, target, manifest.digest, manifest, signal);
        count(!isThere);
      }
      await storeManifest(this.#session, target, targetOf(target), root, signal);
      return {
        digest: root.digest,
        pinned: formatReference(target, { digest: root.digest }),
        uploaded: uploaded + 1,
        skipped,
      };
    });
  }

  getManifest(
    reference: string | Reference,
    options: CallOptions & { readonly maxBytes?: number } = {},
  ): Promise<Blob> {
    const target = toReference(reference);
    const { maxBytes = LIMITS.manifestBytes } = options;
    return this.#session.within(options, `Fetching \`${formatReference(target)}\``, (signal) =>
      fetchManifest(this.#session, target, targetOf(target), maxBytes, signal),
    );
  }

  getBlob(
    reference: string | Reference,
    descriptor: Pick<Descriptor, 'digest'> & Partial<Descriptor>,
    options: CallOptions & { readonly maxBytes?: number } = {},
  ): Promise<Uint8Array> {
    expectDigest(descriptor.digest, 'digest');
    const target = toReference(reference);
    const { maxBytes = LIMITS.blobBytes } = options;
    return this.#session.within(options, `Fetching \`${descriptor.digest}\``, (signal) =>
      fetchBlob(this.#session, target, descriptor, maxBytes, signal),
    );
  }

  putBlob(reference: string | Reference, blob: Blob, options: CallOptions = {}): Promise<boolean> {
    expectDigest(blob.digest, 'digest');
    const target = toReference(reference);
    return this.#session.within(options, `Uploading \`${blob.digest}\``, (signal) =>
      storeBlob(this.#session, target, blob, signal),
    );
  }

  putManifest(
    reference: string | Reference,
    manifest: Blob,
    options: CallOptions & { readonly tag?: string } = {},
  ): Promise<{ readonly isReferrer: boolean }> {
    expectDigest(manifest.digest, 'digest');
    const target = toReference(reference);
    return this.#session.within(options, `Storing \`${manifest.digest}\``, async (signal) => ({
      isReferrer: await storeManifest(this.#session, target, options.tag ?? manifest.digest, manifest, signal),
    }));
  }

  referrers(reference: string | Reference, digest: string, options: CallOptions = {}): Promise<readonly Descriptor[]> {
    expectDigest(digest, 'digest');
    const target = toReference(reference);
    return this.#session.within(options, `Listing what refers to \`${digest}\``, (signal) =>
      listReferrers(this.#session, target, digest, signal),
    );
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * A client of OCI registries, for skills and for what is attached to them. It talks TLS to every host that is not this
 * machine, refuses private addresses, verifies everything that it reads, and gives its credentials to nobody but the
 * registry that they belong to.
 *
 * Its methods throw OciSkillsError with `ERR_OCI_SKILLS_REFERENCE`, `ERR_OCI_SKILLS_HOST`,
 * `ERR_OCI_SKILLS_CREDENTIALS`, `ERR_OCI_SKILLS_UNAUTHORIZED`, `ERR_OCI_SKILLS_NOT_FOUND`,
 * `ERR_OCI_SKILLS_RATE_LIMITED`, `ERR_OCI_SKILLS_REGISTRY`, `ERR_OCI_SKILLS_TIMEOUT`, `ERR_OCI_SKILLS_DIGEST`,
 * `ERR_OCI_SKILLS_LIMIT` and `ERR_OCI_SKILLS_ARTIFACT`.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_ARGUMENT`
 * @see https://github.com/opencontainers/distribution-spec/blob/main/spec.md
 */
export function createRegistry(options: RegistryOptions = {}): Registry {
  const { maxRetries = 5, timeoutMs = 300_000 } = options;
  expectArgument(
    Number.isSafeInteger(maxRetries) && maxRetries >= 0 && maxRetries <= 100,
    'maxRetries',
    'an integer from 0 to 100',
    maxRetries,
  );
  expectArgument(Number.isSafeInteger(timeoutMs) && timeoutMs > 0, 'timeoutMs', 'a positive integer', timeoutMs);
  return new Client(options);
}
