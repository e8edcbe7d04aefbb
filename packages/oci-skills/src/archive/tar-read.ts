import { LIMITS } from '../limits.js';
import { printable } from '../text.js';
import { archiveFault, limitFault } from './faults.js';
import { readPax } from './pax.js';
import type { PaxRecords } from './pax.js';
import { readHeader } from './tar-header.js';
import type { TarHeader } from './tar-header.js';
import { BLOCK, paddingOf } from './tar-write.js';

/** Takes what a {@link TarReader} finds. The bytes of a file come in pieces, `size` in all. */
export interface TarSink {
  openFile(path: string, size: number): void;
  write(bytes: Buffer): void;
  closeFile(): void;
  directory(path: string): void;
}

const MOST_PAX = 64 * 1024;
const MOST_PADDING = 1024 * 1024;

const refused: Readonly<Record<string, string>> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a named pipe',
  '7': 'a contiguous file',
  K: 'a GNU long link name',
  L: 'a GNU long file name',
  S: 'a sparse file',
};

type State = 'header' | 'file' | 'pax' | 'padding' | 'end';

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

/**
 * Reads a tar archive that is pushed to it piece by piece. Strict: regular files and directories, ustar names and PAX
 * headers, one archive with both of its end blocks. Whatever two programs might read differently is refused.
 */
export class TarReader {
  readonly #sink: TarSink;
  readonly #block = Buffer.alloc(BLOCK);
  #blockFilled = 0;
  #state: State = 'header';
  /** Bytes that the state still wants. */
  #left = 0;
  #paddingAfter = 0;
  #pax: PaxRecords | undefined;
  #paxBody: Buffer[] = [];
  #isGlobal = false;
  #zeroBlocks = 0;
  #afterEnd = 0;

  constructor(sink: TarSink) {
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    for (let offset = 0; offset < chunk.length;) offset += this.#take(chunk, offset);
  }

  /** @throws OciSkillsError `ERR_OCI_SKILLS_ARCHIVE` when the archive stops short of its end */
  finish(): void {
    if (this.#state !== 'end') throw archiveFault('its tar archive is cut off');
  }

  /** Uses some bytes and says how many. */
  #take(chunk: Buffer, offset: number): number {
    switch (this.#state) {
      case 'header':
        return this.#takeHeader(chunk, offset);
      case 'end':
        return this.#takeEnd(chunk, offset);
      default:
        return this.#takeBody(chunk, offset);
    }
  }

  #takeHeader(chunk: Buffer, offset: number): number {
    if (this.#blockFilled === 0 && offset + BLOCK <= chunk.length) {
      this.#header(chunk.subarray(offset, offset + BLOCK));
      return BLOCK;
    }
    const count = chunk.copy(this.#block, this.#blockFilled, offset, offset + BLOCK - this.#blockFilled);
    this.#blockFilled += count;
    if (this.#blockFilled === BLOCK) {
      this.#blockFilled = 0;
      this.#header(this.#block);
    }
    return count;
  }

  #takeEnd(chunk: Buffer, offset: number): number {
    const rest = chunk.subarray(offset);
    this.#afterEnd += rest.length;
    if (this.#afterEnd > MOST_PADDING) throw limitFault('has too much after its end', MOST_PADDING);
    if (!isZero(rest)) throw archiveFault('something follows the end of its tar archive');
    return rest.length;
  }

  #takeBody(chunk: Buffer, offset: number): number {
    const count = Math.min(this.#left, chunk.length - offset);
    if (this.#state === 'file') this.#sink.write(chunk.subarray(offset, offset + count));
    if (this.#state === 'pax') this.#paxBody.push(chunk.subarray(offset, offset + count));
    this.#left -= count;
    if (this.#left === 0) this.#endBody();
    return count;
  }

  #endBody(): void {
    if (this.#state === 'file') this.#sink.closeFile();
    if (this.#state === 'pax') this.#endPax();
    if (this.#state === 'padding' || this.#paddingAfter === 0) {
      this.#state = 'header';
    } else {
      this.#state = 'padding';
      this.#left = this.#paddingAfter;
    }
  }

  #endPax(): void {
    const records = readPax(Buffer.concat(this.#paxBody), this.#isGlobal);
    this.#paxBody = [];
    if (!this.#isGlobal) this.#pax = records;
  }

  #header(block: Buffer): void {
    if (isZero(block)) {
      if (this.#pax !== undefined) throw archiveFault('a PAX header has no entry after it');
      this.#zeroBlocks += 1;
      if (this.#zeroBlocks === 2) this.#state = 'end';
      return;
    }
    if (this.#zeroBlocks > 0) throw archiveFault('an entry follows a zero block');
    const header = readHeader(block);
    if (header.type === 'x' || header.type === 'g') this.#startPax(header);
    else this.#entry(header);
  }

  #startPax({ size, type }: TarHeader): void {
    if (this.#pax !== undefined) throw archiveFault('two PAX headers follow each other');
    if (size > MOST_PAX) throw limitFault('has a PAX header that is too large', MOST_PAX);
    this.#isGlobal = type === 'g';
    this.#startBody('pax', size);
    if (size === 0) this.#endBody();
  }

  #entry(header: TarHeader): void {
    const pax = this.#pax;
    this.#pax = undefined;
    if (pax?.size !== undefined && pax.size !== header.size)
      throw archiveFault('a PAX header contradicts the size of its entry');
    const path = pax?.path ?? header.name;
    const { type, size } = header;
    if (type === '5') {
      if (size !== 0) throw archiveFault(`the directory \`${printable(path)}\` has content`);
      this.#sink.directory(path);
    } else if (type === '0' || type === '\0') {
      this.#sink.openFile(path, size);
      this.#startBody('file', size);
      if (size === 0) this.#endBody();
    } else {
      throw archiveFault(
        `\`${printable(path)}\` is ${refused[type] ?? 'an entry of an unknown type'}; only regular files and directories are allowed`,
      );
    }
  }

  #startBody(state: 'file' | 'pax', size: number): void {
    this.#state = state;
    this.#left = size;
    this.#paddingAfter = paddingOf(size);
  }
}

/** What all headers of the largest allowed archive may take, on top of the files' bytes. */
export const TAR_OVERHEAD = LIMITS.entries * (MOST_PAX / 16) + MOST_PADDING;
