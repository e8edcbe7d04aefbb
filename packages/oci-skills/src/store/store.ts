import { join, resolve } from 'node:path';
import { expectAbsolute, expectArgument, expectDigest, isDigest } from '../arguments.js';
import { INDEX_TYPE, REF_NAME, SKILL_TYPE } from '../artifact/media-types.js';
import { isObject, parseJsonObject, readArtifact, readDescriptors, readHead } from '../artifact/read.js';
import { OciSkillsError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { rootOf } from '../registry/registry.js';
import { compareUtf8, printable } from '../text.js';
import type {
  Blob,
  CallOptions,
  Descriptor,
  PackedSkill,
  SkillArtifact,
  SkillBuild,
  SkillStore,
  StoreOptions,
  StoreTag,
  TagOptions,
} from '../types.js';
import { LOCAL_BUILD, Layout, storeFault, tagOf } from './layout.js';
import { withProcessLock } from '../process-lock.js';

const MOST_TAG = 1024;

function notFound(name: string): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_NOT_FOUND',
    `The reference \`${printable(name)}\` was not found in the local store; build or pull the skill first`,
    { details: { reference: printable(name, 512) } },
  );
}

function checkTag(tag: string): void {
  const isValid = tag.length > 0 && tag.length <= MOST_TAG && /^[\u{21}-\u{7e}]+$/u.test(tag);
  expectArgument(isValid, 'tag', 'a tag or reference without spaces', tag);
}

function toStoreTag(descriptor: Descriptor): StoreTag {
  return { tag: tagOf(descriptor), localBuild: descriptor.annotations?.[LOCAL_BUILD] === 'true', descriptor };
}

/** Digests that a manifest or index names, and its own. */
async function reach(layout: Layout, digest: string, reached: Set<string>, depth = 0): Promise<void> {
  if (reached.has(digest) || depth > 3) return;
  reached.add(digest);
  const json = parseJsonObject(await layout.readBlob(digest), `the blob \`${digest}\``);
  for (const descriptor of readDescriptors(json['manifests'] ?? [], 'the list of manifests', LIMITS.indexManifests)) {
    await reach(layout, descriptor.digest, reached, depth + 1);
  }
  const leaves = readDescriptors(json['layers'] ?? [], 'the list of layers', LIMITS.layers);
  for (const { digest: leaf } of leaves) reached.add(leaf);
  const config = json['config'];
  if (isObject(config) && isDigest(config['digest'])) reached.add(config['digest']);
}

/** A new index, and whether blobs may have become unreachable by it. */
interface Change<T> {
  readonly entries: readonly Descriptor[];
  readonly result: T;
  readonly sweep?: boolean;
}

class LayoutStore implements SkillStore {
  readonly directory: string;
  readonly #layout: Layout;
  readonly #lockTimeoutMs: number;

  constructor(layout: Layout, lockTimeoutMs: number) {
    this.directory = layout.directory;
    this.#layout = layout;
    this.#lockTimeoutMs = lockTimeoutMs;
  }

  async put(artifact: PackedSkill | SkillArtifact, options: TagOptions = {}): Promise<Descriptor> {
    if (options.tag !== undefined) checkTag(options.tag);
    const root = rootOf(artifact);
    // Inside the lock, so that a sweep in another process cannot remove blobs before they are reachable.
    return this.#change(options, async (entries) => {
      for (const blob of [artifact.layer, ...artifact.configs, ...artifact.manifests, root])
        await this.#layout.writeBlob(blob);
      const entry = toEntry(root, options);
      const others = entries.filter((other) => !isReplaced(other, entry));
      return { entries: [...others, entry], result: entry };
    });
  }

  async resolve(tagOrDigest: string, options: CallOptions = {}): Promise<Descriptor> {
    options.signal?.throwIfAborted();
    const entries = await this.#layout.readIndex();
    const found = entries.find((entry) =>
      isDigest(tagOrDigest) ? entry.digest === tagOrDigest : tagOf(entry) === tagOrDigest,
    );
    if (found === undefined || tagOrDigest === '') throw notFound(tagOrDigest);
    return found;
  }

  async tag(digest: string, options: TagOptions & { readonly tag: string }): Promise<void> {
    expectDigest(digest, 'digest');
    checkTag(options.tag);
    await this.#change(options, async (entries) => {
      const known = entries.find((entry) => entry.digest === digest);
      if (known === undefined) throw notFound(digest);
      const entry = toEntry(known, options);
      return { entries: [...entries.filter((other) => !isReplaced(other, entry)), entry], result: undefined };
    });
  }

  async remove(tag: string, options: CallOptions = {}): Promise<void> {
    await this.#change(options, async (entries) => {
      const kept = entries.filter((entry) => tagOf(entry) !== tag);
      const removed = entries.find((entry) => tagOf(entry) === tag);
      if (removed === undefined || tag === '') throw notFound(tag);
      // An entry without a tag only makes the digest findable; it goes with the last tag of its artifact.
      const isNamed = kept.some((entry) => entry.digest === removed.digest && tagOf(entry) !== '');
      const left = isNamed ? kept : kept.filter(({ digest }) => digest !== removed.digest);
      return { entries: left, result: undefined, sweep: true };
    });
  }

  async listTags(options: CallOptions = {}): Promise<readonly StoreTag[]> {
    options.signal?.throwIfAborted();
    const entries = await this.#layout.readIndex();
    const tags = entries.filter((entry) => tagOf(entry) !== '').map(toStoreTag);
    return tags.sort((left, right) => compareUtf8(left.tag, right.tag));
  }

  async listBuilds(options: CallOptions = {}): Promise<readonly SkillBuild[]> {
    const builds: SkillBuild[] = [];
    for (const { tag, localBuild, descriptor } of await this.listTags(options)) {
      const build = localBuild ? await this.#readBuild(tag, descriptor) : undefined;
      if (build !== undefined) builds.push(build);
    }
    return builds;
  }

  async read(tagOrDigest: string, options: CallOptions = {}): Promise<SkillArtifact> {
    const root = await this.#root(await this.resolve(tagOrDigest, options));
    return readArtifact(root, (descriptor) => this.readBlob(descriptor.digest, options));
  }

  async readBlob(digest: string, options: CallOptions = {}): Promise<Uint8Array> {
    options.signal?.throwIfAborted();
    expectDigest(digest, 'digest');
    return this.#layout.readBlob(digest);
  }

  async close(): Promise<void> {
    // Nothing stays open between calls; the method is there so that a store can be used like any other resource.
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #root({ mediaType, digest, size }: Descriptor): Promise<Blob> {
    return { mediaType, digest, size, bytes: await this.#layout.readBlob(digest) };
  }

  /** One damaged build must not hide the others. */
  async #readBuild(tag: string, descriptor: Descriptor): Promise<SkillBuild | undefined> {
    try {
      const { labels } = await readHead(await this.#root(descriptor), ({ digest }) => this.#layout.readBlob(digest));
      return {
        tag,
        digest: descriptor.digest,
        name: labels.name,
        description: labels.description,
        version: labels.version,
      };
    } catch {
      return undefined;
    }
  }

  async #change<T>(
    { signal }: CallOptions,
    action: (entries: readonly Descriptor[]) => Promise<Change<T>>,
  ): Promise<T> {
    signal?.throwIfAborted();
    return withProcessLock(
      this.#layout.lockPath,
      async () => {
        const { entries, result, sweep = false } = await action(await this.#layout.readIndex());
        await this.#layout.writeIndex(entries);
        if (sweep) await this.#sweep(entries);
        return result;
      },
      { timeoutMs: this.#lockTimeoutMs, signal },
    );
  }

  /** Nothing is removed while an artifact that is still named cannot be read whole. */
  async #sweep(entries: readonly Descriptor[]): Promise<void> {
    const reached = new Set<string>();
    try {
      for (const { digest } of entries) await reach(this.#layout, digest, reached);
    } catch {
      return;
    }
    await this.#layout.sweep(reached);
  }
}

function toEntry({ mediaType, digest, size }: Descriptor, { tag, localBuild = false }: TagOptions): Descriptor {
  const annotations = {
    ...(tag === undefined ? {} : { [REF_NAME]: tag }),
    ...(localBuild && tag !== undefined ? { [LOCAL_BUILD]: 'true' } : {}),
  };
  const artifactType = mediaType === INDEX_TYPE ? { artifactType: SKILL_TYPE } : {};
  return {
    mediaType,
    digest,
    size,
    ...artifactType,
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

function isReplaced(other: Descriptor, entry: Descriptor): boolean {
  const tag = tagOf(entry);
  return tag === '' ? other.digest === entry.digest && tagOf(other) === '' : tagOf(other) === tag;
}

/** Where the store is unless a program says otherwise: `$XDG_DATA_HOME/toolhive/skills`, or below `~/.local/share`. */
export function defaultStoreDirectory(options: {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}): string {
  const data = options.env?.['XDG_DATA_HOME'] ?? '';
  return join(data.startsWith('/') ? data : join(options.home, '.local', 'share'), 'toolhive', 'skills');
}

/**
 * Open an OCI image layout on this machine. Several processes may use one at a time; every read is verified.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_ARGUMENT`, `ERR_OCI_SKILLS_STORE`; its methods also
 *   `ERR_OCI_SKILLS_STORE_BUSY`, `ERR_OCI_SKILLS_NOT_FOUND` and `ERR_OCI_SKILLS_ARTIFACT`
 * @see https://github.com/opencontainers/image-spec/blob/main/image-layout.md
 */
export async function openStore(directory: string, options: StoreOptions = {}): Promise<SkillStore> {
  const { lockTimeoutMs = 5000, create = true } = options;
  expectAbsolute(directory, 'directory');
  expectArgument(
    Number.isSafeInteger(lockTimeoutMs) && lockTimeoutMs >= 0,
    'lockTimeoutMs',
    'a whole number',
    lockTimeoutMs,
  );
  const layout = new Layout(resolve(directory));
  try {
    if (create) await layout.create();
  } catch (error) {
    throw storeFault(
      layout.directory,
      `it cannot be created (${(error as Error).message}); correct its permissions`,
      error,
    );
  }
  await layout.check();
  return new LayoutStore(layout, lockTimeoutMs);
}
