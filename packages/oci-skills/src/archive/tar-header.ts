import { archiveFault } from './faults.js';

/** One header block, decoded. Modes, owners and times are not read. */
export interface TarHeader {
  readonly name: string;
  readonly size: number;
  readonly type: string;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readText(block: Buffer, start: number, length: number): string {
  const end = block.indexOf(0, start);
  const bytes = block.subarray(start, end < 0 || end > start + length ? start + length : end);
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw archiveFault('a name is not valid UTF-8', error);
  }
}

/** Octal text between spaces and zero bytes. The binary form is for sizes that no skill has. */
function readOctal(block: Buffer, start: number, length: number, what: string): number {
  const text = block.toString('latin1', start, start + length);
  const match = /^[ \0]*([0-7]+)[ \0]*$/.exec(text);
  if (match === null) throw archiveFault(`a header's ${what} is no octal number`);
  return Number.parseInt(match[1] as string, 8);
}

/** The checksum counts its own field as spaces. */
function sumOf(block: Buffer): number {
  let sum = 8 * 0x20;
  for (let index = 0; index < 148; index += 1) sum += block[index] as number;
  for (let index = 156; index < 512; index += 1) sum += block[index] as number;
  return sum;
}

function readName(block: Buffer): string {
  const name = readText(block, 0, 100);
  const magic = block.toString('latin1', 257, 265);
  if (magic === 'ustar\u{0}00') {
    const prefix = readText(block, 345, 155);
    return prefix === '' ? name : `${prefix}/${name}`;
  }
  // GNU tar keeps other things where POSIX keeps the prefix; programs disagree about them.
  const isPlain = magic === 'ustar  \0' || magic === '\0'.repeat(8);
  if (!isPlain) throw archiveFault('a header is of an unknown tar format');
  for (let index = 345; index < 500; index += 1) {
    if (block[index] !== 0) throw archiveFault('a header uses fields of GNU tar');
  }
  return name;
}

/** Decode a header block that is not all zeros. */
export function readHeader(block: Buffer): TarHeader {
  const sum = readOctal(block, 148, 8, 'checksum');
  if (sum !== sumOf(block)) throw archiveFault("a header's checksum does not match");
  const size = readOctal(block, 124, 12, 'size');
  const type = String.fromCharCode(block[156] as number);
  return { name: readName(block), size, type };
}
