import { OciSkillsError } from '../errors.js';
import { printable } from '../text.js';

/** One block of a tar archive. @see https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html#tag_20_92_13_06 */
export const BLOCK = 512;
const MOST_OCTAL_11 = 0o77_777_777_777;

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

interface Header {
  readonly name: string;
  readonly prefix: string;
  readonly size: number;
  readonly mtime: number;
  readonly type: '0' | 'x';
}

function writeHeader({ name, prefix, size, mtime, type }: Header): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 100, 'latin1');
  block.write('0000644\u{0}0000000\u{0}0000000\u{0}', 100, 'latin1');
  block.write(`${octal(size, 11)}\0${octal(mtime, 11)}\0`, 124, 'latin1');
  block.write('        ', 148, 'latin1');
  block.write(`${type}`, 156, 'latin1');
  block.write('ustar\u{0}00', 257, 'latin1');
  block.write('0000000\u{0}0000000\u{0}', 329, 'latin1');
  block.write(prefix, 345, 155, 'latin1');
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${octal(sum, 6)}\0 `, 148, 'latin1');
  return block;
}

const ascii = /^[\u{20}-\u{7e}]*$/u;

/** Cut a path into ustar's prefix and name, or undefined when it does not fit. */
function splitPath(path: string): readonly [prefix: string, name: string] | undefined {
  if (!ascii.test(path)) return undefined;
  if (path.length <= 100) return ['', path];
  const at = path.lastIndexOf('/', 155);
  if (at <= 0 || path.length - at - 1 > 100) return undefined;
  return [path.slice(0, at), path.slice(at + 1)];
}

/** A PAX record counts its own length in decimal. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + 1;
  while (String(length).length + bytes !== length) length = String(length).length + bytes;
  return `${length}${rest}`;
}

function paxBlocks(path: string, records: string): Buffer {
  const cut = path.lastIndexOf('/');
  const name = `${cut < 0 ? '' : path.slice(0, cut + 1)}PaxHeaders.0/${path.slice(cut + 1)}`;
  const plain = name.replaceAll(/[^\u{20}-\u{7e}]/gu, '').slice(0, 100);
  const body = Buffer.from(records);
  const padding = Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK);
  const header = writeHeader({ name: plain, prefix: '', size: body.length, mtime: 0, type: 'x' });
  return Buffer.concat([header, body, padding]);
}

/**
 * The header blocks of a regular file, with a PAX header before it only where ustar cannot hold the values. Every
 * field that tells one machine from another is fixed: mode 0644, no owner, one time.
 */
export function fileHeader(path: string, size: number, mtime: number): Buffer {
  if (size > MOST_OCTAL_11) {
    throw new OciSkillsError('ERR_OCI_SKILLS_LIMIT', `\`${printable(path)}\` is too large for a tar archive`, {
      details: { path },
    });
  }
  const split = splitPath(path);
  const isTimeOctal = mtime >= 0 && mtime <= MOST_OCTAL_11;
  const records = [
    ...(isTimeOctal ? [] : [paxRecord('mtime', String(mtime))]),
    ...(split === undefined ? [paxRecord('path', path)] : []),
  ];
  const fallback = path.replaceAll(/[^\u{20}-\u{7e}]/gu, '').slice(0, 100);
  const [prefix, name] = split ?? ['', fallback];
  const header = writeHeader({ name, prefix, size, mtime: isTimeOctal ? mtime : 0, type: '0' });
  return records.length === 0 ? header : Buffer.concat([paxBlocks(path, records.join('')), header]);
}

/** Zero bytes that fill the last block of `size` bytes. */
export function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

/** Two zero blocks, and no padding to a record. */
export const endOfArchive = Buffer.alloc(2 * BLOCK);
