import { gzipSync } from 'node:zlib';

/** One entry as it is written, with whatever is to be wrong about it. */
export interface RawEntry {
  readonly name: string | Buffer;
  readonly type?: string;
  readonly body?: Buffer | string;
  /** Text of the size field; the length of `body` otherwise. */
  readonly size?: string | Buffer;
  readonly mode?: string;
  readonly prefix?: string;
  readonly link?: string;
  readonly magic?: string;
  readonly checksum?: string;
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');

/** A header block and a body, with no regard for what is allowed. */
export function rawEntry(entry: RawEntry): Buffer {
  const body = Buffer.from(entry.body ?? '');
  const block = Buffer.alloc(512);
  Buffer.from(entry.name).copy(block, 0, 0, 100);
  block.write(`${entry.mode ?? '0000644'}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100, 'latin1');
  Buffer.from(entry.size ?? `${octal(body.length, 11)}\0`).copy(block, 124, 0, 12);
  block.write(`${octal(0, 11)}\0        ${entry.type ?? '0'}${entry.link ?? ''}`, 136, 'latin1');
  block.write(entry.magic ?? 'ustar\u{0}00', 257, 'latin1');
  block.write(entry.prefix ?? '', 345, 'latin1');
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(entry.checksum ?? `${octal(sum, 6)}\0 `, 148, 'latin1');
  return Buffer.concat([block, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

/** A PAX header with these records. */
export function pax(records: Readonly<Record<string, string>> | string, type: 'x' | 'g' = 'x'): Buffer {
  const line = (key: string, value: string): string => {
    const rest = ` ${key}=${value}\n`;
    let length = Buffer.byteLength(rest) + 1;
    while (String(length).length + Buffer.byteLength(rest) !== length)
      length = String(length).length + Buffer.byteLength(rest);
    return `${length}${rest}`;
  };
  const body =
    typeof records === 'string'
      ? records
      : Object.entries(records)
          .map(([key, value]) => line(key, value))
          .join('');
  return rawEntry({ name: 'PaxHeaders.0/x', type, body });
}

export const end = Buffer.alloc(1024);
export const skillFile = rawEntry({ name: 'SKILL.md', body: '---\nname: my-skill\ndescription: Does it.\n---\n' });

/** Entries, with both end blocks, compressed. */
export function layerOf(...entries: readonly Buffer[]): Buffer {
  return gzipSync(Buffer.concat([...entries, end]));
}
