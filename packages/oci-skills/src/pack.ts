import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { LayerWriter } from './archive/layer-writer.js';
import { expectArgument } from './arguments.js';
import { buildObjects, toBlob } from './artifact/build.js';
import type { Platform } from './artifact/build.js';
import { LAYER_TYPE } from './artifact/media-types.js';
import { ContentHasher } from './content-digest.js';
import { OciSkillsError } from './errors.js';
import { LIMITS } from './limits.js';
import { invalidSkill } from './skill/skill-file.js';
import { inspectSkill } from './skill/validate.js';
import type { TreeEntry } from './skill/walk.js';
import { printable } from './text.js';
import type { PackSkillOptions, PackedSkill, SkillFile } from './types.js';

// A mebibyte takes about 20 ms; other work gets a turn that often.
const TURN_BYTES = 1024 * 1024;
const FIRST_BUFFER = 256 * 1024;
const LAST_SECOND = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000;
const FIRST_SECOND = -62_167_219_200;

function readEpoch({ epochSeconds, env }: PackSkillOptions): number {
  if (epochSeconds !== undefined) {
    const isValid = Number.isSafeInteger(epochSeconds) && epochSeconds >= FIRST_SECOND && epochSeconds <= LAST_SECOND;
    expectArgument(isValid, 'epochSeconds', 'a whole number of seconds in the years 0 to 9999', epochSeconds);
    return epochSeconds;
  }
  const text = env?.['SOURCE_DATE_EPOCH'];
  if (text === undefined || text === '') return 0;
  const value = /^[+-]?\d{1,18}$/.test(text) ? Number(text) : Number.NaN;
  const isValid = Number.isSafeInteger(value) && value >= FIRST_SECOND && value <= LAST_SECOND;
  expectArgument(isValid, 'SOURCE_DATE_EPOCH', 'a whole number of seconds since 1970', text);
  return value;
}

function readPlatforms(texts: readonly string[] = ['linux/amd64', 'linux/arm64']): readonly Platform[] {
  expectArgument(
    texts.length > 0 && texts.length <= LIMITS.indexManifests,
    'platforms',
    `1 to ${LIMITS.indexManifests} platforms`,
    texts.length,
  );
  return texts.map((text) => {
    expectArgument(/^[a-z0-9]+\/[a-z0-9]+$/.test(text), 'platforms', 'texts such as `linux/amd64`', text);
    const [os = '', architecture = ''] = text.split('/');
    return { os, architecture };
  });
}

function unsafe(entry: TreeEntry, why: string, cause?: unknown): OciSkillsError {
  const message = `\`${printable(entry.path)}\` ${why}`;
  return new OciSkillsError('ERR_OCI_SKILLS_UNSAFE_FILE', message, { cause, details: { path: entry.path } });
}

/** Reads files one after the other into one buffer. */
class FileReader {
  #buffer = Buffer.allocUnsafeSlow(FIRST_BUFFER);

  /** The content, valid until the next call. A file may have been replaced since it was listed; what is opened counts. */
  read(entry: TreeEntry): Buffer {
    const descriptor = openRegular(entry);
    try {
      const status = fstatSync(descriptor);
      if (!status.isFile()) throw unsafe(entry, 'is no regular file; remove it');
      if (status.size > LIMITS.buildBytes) throw tooLarge();
      return this.#readAll(descriptor, status.size);
    } finally {
      closeSync(descriptor);
    }
  }

  #readAll(descriptor: number, expected: number): Buffer {
    // One byte more, so that a file that grew is noticed by a read that is not empty.
    if (this.#buffer.length <= expected) this.#buffer = Buffer.allocUnsafeSlow(expected + 1);
    let length = 0;
    for (;;) {
      if (length === this.#buffer.length) this.#buffer = Buffer.concat([this.#buffer, Buffer.alloc(length)]);
      const count = readSync(descriptor, this.#buffer, length, this.#buffer.length - length, null);
      if (count === 0) return this.#buffer.subarray(0, length);
      length += count;
      if (length > LIMITS.buildBytes) throw tooLarge();
    }
  }
}

function openRegular(entry: TreeEntry): number {
  try {
    return openSync(entry.absolute, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    throw unsafe(entry, 'cannot be read, or became a symbolic link; correct it and pack again', error);
  }
}

function tooLarge(): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_LIMIT',
    `The skill has more than ${LIMITS.buildBytes} bytes; remove large files`,
    { details: { limit: LIMITS.buildBytes } },
  );
}

interface Packed {
  readonly writer: LayerWriter;
  readonly hasher: ContentHasher;
  readonly files: readonly SkillFile[];
}

async function packFiles(entries: readonly TreeEntry[], epochSeconds: number, signal?: AbortSignal): Promise<Packed> {
  const writer = new LayerWriter(epochSeconds);
  const hasher = new ContentHasher();
  const reader = new FileReader();
  const files: SkillFile[] = [];
  let total = 0;
  let turn = 0;
  for (const entry of entries) {
    const bytes = reader.read(entry);
    total += bytes.length;
    if (total > LIMITS.buildBytes) throw tooLarge();
    for (let offset = 0; turn + bytes.length - offset > TURN_BYTES; turn = 0) {
      offset += TURN_BYTES;
      await setImmediate();
      signal?.throwIfAborted();
    }
    turn += bytes.length % TURN_BYTES;
    writer.addFile(entry.path, bytes);
    hasher.add(entry.path, createHash('sha256').update(bytes).digest());
    files.push({ path: entry.path, size: bytes.length });
  }
  return { writer, hasher, files };
}

/**
 * Pack a valid skill directory as an OCI artifact: an index, a manifest and a config for every platform, and one layer
 * that all of them share. The same files and options give the same bytes on every machine and Node version. Hidden
 * files are left out and named in `warnings`. `directory` is absolute.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_INVALID_SKILL` with all findings, `ERR_OCI_SKILLS_SKILL_MISSING`,
 *   `ERR_OCI_SKILLS_UNSAFE_FILE`, `ERR_OCI_SKILLS_LIMIT`, `ERR_OCI_SKILLS_ARGUMENT`
 * @see https://github.com/opencontainers/image-spec/blob/main/manifest.md
 */
export async function packSkill(directory: string, options: PackSkillOptions = {}): Promise<PackedSkill> {
  const epochSeconds = readEpoch(options);
  const platforms = readPlatforms(options.platforms);
  const { validation, files: entries } = inspectSkill(directory, options);
  const { skill, warnings, errors } = validation;
  if (skill === undefined || !validation.valid) throw invalidSkill(errors, ` in \`${printable(directory)}\``);
  const { writer, hasher, files } = await packFiles(entries, epochSeconds, options.signal);
  const { bytes, diffId } = writer.finish();
  const layer = toBlob(LAYER_TYPE, bytes);
  const created = new Date(epochSeconds * 1000).toISOString().replace(/\.000Z$/, 'Z');
  const objects = buildObjects({ skill, files, layer, diffId, created, platforms });
  return {
    digest: objects.index.digest,
    ...objects,
    layer,
    diffId,
    contentDigest: hasher.digest(),
    skill,
    files,
    warnings,
  };
}
