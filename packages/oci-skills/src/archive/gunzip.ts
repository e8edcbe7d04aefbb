import { createHash } from 'node:crypto';
import { crc32, createInflateRaw } from 'node:zlib';
import type { InflateRaw } from 'node:zlib';
import { OciSkillsError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { archiveFault, limitFault } from './faults.js';
import { gzipBodyOffset } from './gzip-header.js';

/** What is read, and what bounds it. */
export interface GunzipOptions {
  readonly maxCompressedBytes: number;
  readonly maxOutputBytes: number;
  /** What the compressed bytes must hash to. */
  readonly digest: string | undefined;
  readonly signal: AbortSignal | undefined;
}

const OUTPUT_CHUNK = 512 * 1024;
const INPUT_CHUNK = 256 * 1024;
const TRAILER = 8;
/** One file of the largest size may be all zeros; what grows like that beyond it is a bomb. */
const RATIO_FROM = LIMITS.fileBytes + 4 * 1024 * 1024;
const MOST_RATIO = 1000;

function* cut(bytes: Uint8Array): Generator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += INPUT_CHUNK) yield bytes.subarray(offset, offset + INPUT_CHUNK);
}

/** Hands out the compressed bytes in small pieces, counted and hashed. */
class Source {
  readonly #hash = createHash('sha256');
  readonly #options: GunzipOptions;
  readonly #pieces: AsyncGenerator<Uint8Array>;
  bytes = 0;

  constructor(layer: Uint8Array | AsyncIterable<Uint8Array>, options: GunzipOptions) {
    this.#options = options;
    this.#pieces = this.#read(layer);
  }

  async *#read(layer: Uint8Array | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const chunks = layer instanceof Uint8Array ? [layer] : layer;
    for await (const chunk of chunks) {
      if (!(chunk instanceof Uint8Array)) throw archiveFault('its source yields something else than bytes');
      this.bytes += chunk.length;
      if (this.bytes > this.#options.maxCompressedBytes) {
        throw limitFault('has too many compressed bytes', this.#options.maxCompressedBytes);
      }
      this.#hash.update(chunk);
      yield* cut(chunk);
    }
  }

  async next(): Promise<Uint8Array | undefined> {
    this.#options.signal?.throwIfAborted();
    const { value, done } = await this.#pieces.next();
    return done === true ? undefined : value;
  }

  async close(): Promise<void> {
    await this.#pieces.return(undefined).catch(() => undefined);
  }

  checkDigest(): void {
    const { digest } = this.#options;
    const actual = `sha256:${this.#hash.digest('hex')}`;
    if (digest === undefined || actual === digest) return;
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_DIGEST',
      `The layer hashes to \`${actual}\`, not to \`${digest}\`; pull it again`,
      {
        details: { expected: digest, actual },
      },
    );
  }
}

/** The header is skipped; what comes back is the first piece of the deflate stream. */
async function skipHeader(source: Source): Promise<Uint8Array> {
  let head: Uint8Array = new Uint8Array(0);
  for (;;) {
    const piece = await source.next();
    if (piece === undefined) throw archiveFault(head.length === 0 ? 'it is empty' : 'its gzip header is cut off');
    head = head.length === 0 ? piece.slice() : Buffer.concat([head, piece]);
    const offset = gzipBodyOffset(head);
    if (offset !== undefined) return head.subarray(offset);
  }
}

/** Feeds the decompressor, and keeps what it did not want. */
class Feeder {
  readonly #inflate: InflateRaw;
  readonly #source: Source;
  #fed = 0;
  #last: Uint8Array = new Uint8Array(0);
  #isOver = false;
  failure: unknown;

  constructor(inflate: InflateRaw, source: Source) {
    this.#inflate = inflate;
    this.#source = source;
    const stop = (): void => void (this.#isOver = true);
    inflate.once('end', stop).once('close', stop);
  }

  async run(first: Uint8Array): Promise<void> {
    try {
      for (
        let piece: Uint8Array | undefined = first;
        piece !== undefined && !this.#isOver;
        piece = await this.#source.next()
      ) {
        this.#fed += piece.length;
        this.#last = piece;
        await this.#write(piece);
        // What the decompressor leaves is behind the stream's end, which it announces only later.
        if (this.#fed > this.#inflate.bytesWritten) return;
      }
      if (!this.#isOver) this.#inflate.end();
    } catch (error) {
      this.failure = error;
      this.#inflate.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Resolves when the piece is taken, or nothing more will be. */
  #write(piece: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#inflate.off('end', done).off('close', done);
        resolve();
      };
      this.#inflate.once('end', done).once('close', done);
      this.#inflate.write(piece, done);
    });
  }

  /** The bytes after the deflate stream. There must be exactly a trailer's worth. */
  async trailer(): Promise<Buffer> {
    const unused = this.#fed - this.#inflate.bytesWritten;
    let rest = Buffer.from(unused === 0 ? [] : this.#last.subarray(-unused));
    for (let piece = await this.#source.next(); piece !== undefined; piece = await this.#source.next()) {
      rest = Buffer.concat([rest, piece]);
      if (rest.length > TRAILER) break;
    }
    if (rest.length < TRAILER) throw archiveFault('its gzip trailer is cut off');
    if (rest.length > TRAILER) throw archiveFault('something follows its one gzip member');
    return rest;
  }
}

function translate(error: unknown): unknown {
  const code = (error as { readonly code?: string }).code ?? '';
  if (code === 'Z_BUF_ERROR') return archiveFault('its compressed data is cut off', error);
  return code.startsWith('Z_') ? archiveFault('its compressed data is damaged', error) : error;
}

/**
 * The uncompressed bytes of one gzip member that nothing follows, in pieces that the caller may keep. Checks length,
 * checksum, digest and how far it expands while it reads.
 */
export async function* gunzip(
  layer: Uint8Array | AsyncIterable<Uint8Array>,
  options: GunzipOptions,
): AsyncGenerator<Buffer> {
  const source = new Source(layer, options);
  const inflate = createInflateRaw({ chunkSize: OUTPUT_CHUNK });
  const feeder = new Feeder(inflate, source);
  let crc = 0;
  let length = 0;
  try {
    void feeder.run(await skipHeader(source));
    for await (const chunk of inflate as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > options.maxOutputBytes) throw limitFault('has too many uncompressed bytes', options.maxOutputBytes);
      if (length > RATIO_FROM && length > source.bytes * MOST_RATIO) throw limitFault('expands too far', MOST_RATIO);
      crc = crc32(chunk, crc);
      yield chunk;
    }
    const trailer = await feeder.trailer();
    const isIntact = trailer.readUInt32LE(0) === crc && trailer.readUInt32LE(4) === length % 0x1_0000_0000;
    if (!isIntact) throw archiveFault('its gzip checksum does not match');
    source.checkDigest();
  } catch (error) {
    throw feeder.failure ?? translate(error);
  } finally {
    inflate.destroy();
    await source.close();
  }
}
