import { archiveFault } from './faults.js';

/** What a PAX header changes about the entry after it. */
export interface PaxRecords {
  readonly path?: string;
  readonly size?: number;
}

const once: ReadonlySet<string> = new Set(['path', 'size', 'linkpath']);

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw archiveFault('a PAX record is not valid UTF-8', error);
  }
}

/** The end of the record that starts at `offset`, and where its key starts. */
function measure(body: Buffer, offset: number): { readonly keyStart: number; readonly end: number } {
  const space = body.indexOf(0x20, offset);
  const digits = space < 0 ? '' : body.toString('latin1', offset, Math.min(space, offset + 12));
  const length = /^[1-9]\d{0,8}$/.test(digits) && space - offset === digits.length ? Number(digits) : 0;
  const end = offset + length;
  if (length < 5 || end > body.length || body[end - 1] !== 0x0a) throw archiveFault('a PAX record has a wrong length');
  return { keyStart: space + 1, end };
}

function readSize(value: string): number {
  const size = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isNaN(size)) throw archiveFault('a PAX header gives a size that is no size');
  return size;
}

function checkKey(key: string, value: string, seen: ReadonlySet<string>, isGlobal: boolean): void {
  if (key === '') throw archiveFault('a PAX record has no key');
  if (seen.has(key) && once.has(key)) throw archiveFault(`a PAX header gives \`${key}\` twice`);
  if (isGlobal && once.has(key)) throw archiveFault(`a global PAX header gives \`${key}\``);
  if (key === 'linkpath') throw archiveFault('a PAX header names the target of a link');
  if (key.startsWith('GNU.sparse.')) throw archiveFault('it holds a sparse file');
  if (key === 'hdrcharset' && value !== 'ISO-IR 10646 2000 UTF-8') throw archiveFault('its names are not UTF-8');
}

/**
 * Read the body of a PAX header. Times, owners and extended attributes are ignored and never applied.
 *
 * @see https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html#tag_20_92_13_03
 */
export function readPax(body: Buffer, isGlobal: boolean): PaxRecords {
  const seen = new Set<string>();
  let path: string | undefined;
  let size: number | undefined;
  for (let offset = 0; offset < body.length;) {
    const { keyStart, end } = measure(body, offset);
    const equals = body.indexOf(0x3d, keyStart);
    if (equals < 0 || equals >= end) throw archiveFault('a PAX record has no value');
    const key = body.toString('latin1', keyStart, equals);
    const bytes = body.subarray(equals + 1, end - 1);
    checkKey(key, key === 'hdrcharset' ? bytes.toString('latin1') : '', seen, isGlobal);
    seen.add(key);
    if (key === 'path') path = decode(bytes);
    if (key === 'size') size = readSize(bytes.toString('latin1'));
    offset = end;
  }
  return { ...(path === undefined ? {} : { path }), ...(size === undefined ? {} : { size }) };
}
