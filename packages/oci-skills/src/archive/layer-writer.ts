import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { OciSkillsError } from '../errors.js';
import { LIMITS } from '../limits.js';
import { SteadyDeflate } from './deflate/steady-deflate.js';
import { endOfArchive, fileHeader, paddingOf } from './tar-write.js';

/** Compressed bytes and the hash of what they hold. */
export interface WrittenLayer {
  readonly bytes: Uint8Array;
  readonly diffId: string;
}

const zeros = Buffer.alloc(512);
const PAGE = 1024 * 1024;

function gzipHeader(epochSeconds: number): Buffer {
  const header = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff]);
  header.writeUInt32LE(epochSeconds > 0 && epochSeconds <= 0xffff_ffff ? epochSeconds : 0, 4);
  return header;
}

/** Writes files into a tar inside gzip; the same files give the same bytes everywhere. */
export class LayerWriter {
  readonly #epochSeconds: number;
  /** All full but the last. */
  readonly #pages: Buffer[] = [];
  #pageFilled = PAGE;
  readonly #tarHash = createHash('sha256');
  readonly #deflate = new SteadyDeflate((bytes) => this.#keep(bytes));
  #crc = 0;
  #length = 0;
  #compressed = 0;

  constructor(epochSeconds: number) {
    this.#epochSeconds = epochSeconds;
    this.#keep(gzipHeader(epochSeconds));
  }

  addFile(path: string, bytes: Uint8Array): void {
    this.#write(fileHeader(path, bytes.length, this.#epochSeconds));
    this.#write(bytes);
    this.#write(zeros.subarray(0, paddingOf(bytes.length)));
  }

  finish(): WrittenLayer {
    this.#write(endOfArchive);
    this.#deflate.finish();
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(this.#crc, 0);
    trailer.writeUInt32LE(this.#length % 0x1_0000_0000, 4);
    this.#keep(trailer);
    return { bytes: Buffer.concat(this.#pages, this.#compressed), diffId: `sha256:${this.#tarHash.digest('hex')}` };
  }

  #write(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#tarHash.update(bytes);
    this.#crc = crc32(bytes, this.#crc);
    this.#length += bytes.length;
    this.#deflate.push(bytes);
  }

  #keep(bytes: Uint8Array): void {
    this.#compressed += bytes.length;
    if (this.#compressed > LIMITS.compressedLayerBytes) {
      throw new OciSkillsError(
        'ERR_OCI_SKILLS_LIMIT',
        `The packed skill exceeds ${LIMITS.compressedLayerBytes} bytes; remove large files`,
        {
          details: { limit: LIMITS.compressedLayerBytes },
        },
      );
    }
    for (let offset = 0; offset < bytes.length;) {
      if (this.#pageFilled === PAGE) {
        this.#pages.push(Buffer.allocUnsafeSlow(PAGE));
        this.#pageFilled = 0;
      }
      const part = bytes.subarray(offset, offset + PAGE - this.#pageFilled);
      this.#pages.at(-1)?.set(part, this.#pageFilled);
      this.#pageFilled += part.length;
      offset += part.length;
    }
  }
}
