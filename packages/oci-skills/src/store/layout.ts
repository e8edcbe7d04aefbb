import { randomBytes } from 'node:crypto';
import { mkdir, open, readFile, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { REF_NAME, INDEX_TYPE } from '../artifact/media-types.js';
import { isObject, parseJsonObject, readDescriptor } from '../artifact/read.js';
import { sha256 } from '../content-digest.js';
import { OciSkillsError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { printable } from '../text.js';
import type { Blob, Descriptor } from '../types.js';

/** Marks a tag that was built on this machine. Never leaves it. */
export const LOCAL_BUILD = 'dev.stacklok.toolhive.local-build';
const LAYOUT = '{"imageLayoutVersion":"1.0.0"}';
const MOST_INDEX_BYTES = 64 * 1024 * 1024;

export function storeFault(directory: string, why: string, cause?: unknown): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_STORE',
    `The skill store in \`${printable(directory, 300)}\` cannot be used: ${why}`,
    {
      cause,
      details: { directory },
    },
  );
}

async function writeWhole(path: string, bytes: Uint8Array | string): Promise<void> {
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    const file = await open(temporary, 'wx', 0o644);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** The files of an OCI image layout. @see https://github.com/opencontainers/image-spec/blob/main/image-layout.md */
export class Layout {
  readonly directory: string;
  readonly #blobs: string;

  constructor(directory: string) {
    this.directory = directory;
    this.#blobs = join(directory, 'blobs', 'sha256');
  }

  get lockPath(): string {
    return join(this.directory, '.lock');
  }

  async create(): Promise<void> {
    await mkdir(this.#blobs, { recursive: true, mode: 0o750 });
    const marker = join(this.directory, 'oci-layout');
    if ((await stat(marker).catch(() => undefined)) === undefined) await writeWhole(marker, LAYOUT);
  }

  async check(): Promise<void> {
    let json: unknown;
    try {
      json = JSON.parse(await readFile(join(this.directory, 'oci-layout'), 'utf8'));
    } catch (error) {
      throw storeFault(
        this.directory,
        'it has no readable `oci-layout`; name another directory, or remove this one',
        error,
      );
    }
    if (isObject(json) && json['imageLayoutVersion'] === '1.0.0') return;
    throw storeFault(this.directory, 'its `oci-layout` is of an unknown version; name another directory');
  }

  async readBlob(digest: string): Promise<Uint8Array> {
    const path = this.#path(digest);
    const size = (await stat(path).catch(() => undefined))?.size;
    if (size === undefined)
      throw storeFault(this.directory, `the blob \`${digest}\` is missing; build or pull the skill again`);
    if (size > LIMITS.blobBytes)
      throw storeFault(this.directory, `the blob \`${digest}\` has ${size} bytes, more than ${LIMITS.blobBytes}`);
    const bytes = await readFile(path);
    if (sha256(bytes) !== digest)
      throw storeFault(
        this.directory,
        `the blob \`${digest}\` was changed on disk; remove it, and build or pull the skill again`,
      );
    return bytes;
  }

  async writeBlob({ digest, bytes }: Blob): Promise<void> {
    const path = this.#path(digest);
    const there = await readFile(path).catch(() => undefined);
    if (there !== undefined && sha256(there) === digest) {
      // Keeps a sweep in another process from taking the blob for an old leftover.
      await utimes(path, new Date(), new Date()).catch(() => undefined);
      return;
    }
    await writeWhole(path, bytes);
  }

  async hasBlob(digest: string): Promise<boolean> {
    return (await stat(this.#path(digest)).catch(() => undefined)) !== undefined;
  }

  async readIndex(): Promise<readonly Descriptor[]> {
    const path = join(this.directory, 'index.json');
    const size = (await stat(path).catch(() => undefined))?.size;
    if (size === undefined) return [];
    if (size > MOST_INDEX_BYTES) throw storeFault(this.directory, `its \`index.json\` has ${size} bytes`);
    try {
      const { manifests } = parseJsonObject(await readFile(path), '`index.json`');
      if (!Array.isArray(manifests)) throw new TypeError('`manifests` is no list');
      return manifests.map((item) => readDescriptor(item, 'an entry of `index.json`'));
    } catch (error) {
      throw storeFault(
        this.directory,
        `its \`index.json\` is damaged (${(error as Error).message}); remove the directory, and build or pull the skills again`,
        error,
      );
    }
  }

  async writeIndex(manifests: readonly Descriptor[]): Promise<void> {
    await writeWhole(
      join(this.directory, 'index.json'),
      JSON.stringify({ schemaVersion: 2, mediaType: INDEX_TYPE, manifests }),
    );
  }

  /** Remove every blob that is not in `reachable`. */
  async sweep(reachable: ReadonlySet<string>): Promise<void> {
    for (const name of await readdir(this.#blobs)) {
      if (/^[0-9a-f]{64}$/.test(name) && !reachable.has(`sha256:${name}`))
        await rm(join(this.#blobs, name), { force: true });
    }
  }

  #path(digest: string): string {
    return join(this.#blobs, digest.slice('sha256:'.length));
  }
}

export function tagOf(descriptor: Descriptor): string {
  return descriptor.annotations?.[REF_NAME] ?? '';
}
