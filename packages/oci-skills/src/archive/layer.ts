import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { expectDigest, expectLimit } from '../arguments.js';
import { ContentHasher } from '../content-digest.js';
import { OciSkillsError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { parseSkill } from '../skill/skill-file.js';
import { printable } from '../text.js';
import type { ReadLayerOptions, SkillContent, SkillDiagnostic, SkillFile, SkillFileContent } from '../types.js';
import { gunzip } from './gunzip.js';
import { TAR_OVERHEAD, TarReader } from './tar-read.js';
import type { TarSink } from './tar-read.js';
import { createTreeGuard } from './tree-guard.js';
import type { TreeGuard } from './tree-guard.js';

/** Where the files of a layer go. Paths have been checked. */
export interface FileSink {
  open(path: string, size: number): void;
  write(bytes: Buffer): void;
  close(): void;
}

/** What is known of a layer after it was read. */
export interface LayerSummary {
  readonly files: readonly SkillFile[];
  readonly totalBytes: number;
  readonly contentDigest: string;
  readonly diffId: string;
  readonly skillFile: Uint8Array;
  readonly warnings: readonly SkillDiagnostic[];
}

/** Checks what the archive says, hashes what it holds, and passes the files on. */
class CheckingSink implements TarSink {
  readonly files: SkillFile[] = [];
  readonly hasher = new ContentHasher();
  readonly skillFile: Buffer[] = [];
  totalBytes = 0;
  readonly #guard: TreeGuard;
  readonly #sink: FileSink;
  #path = '';
  #hash: Hash = createHash('sha256');

  constructor(guard: TreeGuard, sink: FileSink) {
    this.#guard = guard;
    this.#sink = sink;
  }

  openFile(written: string, size: number): void {
    const path = this.#guard.addFile(written, size);
    this.#path = path;
    this.#hash = createHash('sha256');
    this.files.push({ path, size });
    this.totalBytes += size;
    this.#sink.open(path, size);
  }

  write(bytes: Buffer): void {
    this.#hash.update(bytes);
    if (this.#path === 'SKILL.md') this.skillFile.push(Buffer.from(bytes));
    this.#sink.write(bytes);
  }

  closeFile(): void {
    this.hasher.add(this.#path, this.#hash.digest());
    this.#sink.close();
  }

  directory(path: string): void {
    this.#guard.addDirectory(path);
  }
}

/** @throws OciSkillsError `ERR_OCI_SKILLS_INVALID_SKILL` when SKILL.md does not carry the expected name */
export function checkExpectedName(skillFile: Uint8Array, expectedName: string | undefined): void {
  if (expectedName === undefined) return;
  const { name } = parseSkill(skillFile);
  if (name === expectedName) return;
  throw new OciSkillsError(
    'ERR_OCI_SKILLS_INVALID_SKILL',
    `The skill calls itself \`${printable(name)}\` but \`${printable(expectedName)}\` was asked for; ask the publisher to give both one name`,
    {
      details: { expected: expectedName, actual: name },
    },
  );
}

function checkDiffId(expected: string | undefined, actual: string): void {
  if (expected === undefined || expected === actual) return;
  throw new OciSkillsError(
    'ERR_OCI_SKILLS_DIGEST',
    `The uncompressed layer hashes to \`${actual}\`, not to \`${expected}\`; pull it again`,
    { details: { expected, actual } },
  );
}

/** Read a layer into `sink`, checking everything on the way. */
export async function streamLayer(
  layer: Uint8Array | AsyncIterable<Uint8Array>,
  sink: FileSink,
  options: ReadLayerOptions,
): Promise<LayerSummary> {
  if (options.digest !== undefined) expectDigest(options.digest, 'digest');
  if (options.diffId !== undefined) expectDigest(options.diffId, 'diffId');
  const maxTotalBytes = expectLimit(options.maxTotalBytes, 'maxTotalBytes', LIMITS.totalBytes);
  const maxFiles = expectLimit(options.maxFiles, 'maxFiles', LIMITS.files);
  const guard = createTreeGuard({ maxFiles, maxTotalBytes });
  const checking = new CheckingSink(guard, sink);
  const reader = new TarReader(checking);
  const tarHash = createHash('sha256');
  const bytes = gunzip(layer, {
    maxCompressedBytes: expectLimit(options.maxCompressedBytes, 'maxCompressedBytes', LIMITS.compressedLayerBytes),
    maxOutputBytes: maxTotalBytes + TAR_OVERHEAD,
    digest: options.digest,
    signal: options.signal,
  });
  for await (const chunk of bytes) {
    options.signal?.throwIfAborted();
    tarHash.update(chunk);
    reader.push(chunk);
  }
  reader.finish();
  guard.finish();
  const diffId = `sha256:${tarHash.digest('hex')}`;
  checkDiffId(options.diffId, diffId);
  const skillFile = Buffer.concat(checking.skillFile);
  checkExpectedName(skillFile, options.expectedName);
  const { files, totalBytes, hasher } = checking;
  return { files, totalBytes, contentDigest: hasher.digest(), diffId, skillFile, warnings: guard.warnings };
}

class MemorySink implements FileSink {
  readonly files: SkillFileContent[] = [];
  #path = '';
  #pieces: Buffer[] = [];

  open(path: string): void {
    this.#path = path;
    this.#pieces = [];
  }

  write(bytes: Buffer): void {
    this.#pieces.push(Buffer.from(bytes));
  }

  close(): void {
    const bytes = Buffer.concat(this.#pieces);
    this.files.push({ path: this.#path, size: bytes.length, bytes });
  }
}

/**
 * Read a skill's layer (gzip over tar) into memory, as a preview needs it. Everything that `unpackSkill` refuses is
 * refused here.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_ARCHIVE`, `ERR_OCI_SKILLS_UNSAFE_ENTRY`, `ERR_OCI_SKILLS_LIMIT`,
 *   `ERR_OCI_SKILLS_DIGEST`, `ERR_OCI_SKILLS_SKILL_MISSING`, `ERR_OCI_SKILLS_INVALID_SKILL`, `ERR_OCI_SKILLS_ARGUMENT`
 */
export async function readLayer(
  layer: Uint8Array | AsyncIterable<Uint8Array>,
  options: ReadLayerOptions = {},
): Promise<SkillContent> {
  const sink = new MemorySink();
  const summary = await streamLayer(layer, sink, options);
  return { ...summary, files: sink.files };
}
