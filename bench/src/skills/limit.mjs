// The least that packing and unpacking can be: headers by hand, one gzip, two digests, synchronous writes.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SteadyDeflate } from '../../../packages/oci-skills/dist/archive/deflate/steady-deflate.js';

const BLOCK = 512;

function header(name, size) {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 100);
  block.write('0000644\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

export function packLimit(files) {
  const parts = [];
  for (const { path, absolute } of files) {
    const bytes = readFileSync(absolute);
    parts.push(header(path, bytes.length), bytes);
    if (bytes.length % BLOCK > 0) parts.push(Buffer.alloc(BLOCK - (bytes.length % BLOCK)));
  }
  parts.push(Buffer.alloc(2 * BLOCK));
  const tar = Buffer.concat(parts);
  createHash('sha256').update(tar).digest();
  // The compressor is ours in both: a stream that is the same on every Node is the task, and this is its price.
  const packed = [];
  const deflate = new SteadyDeflate((bytes) => packed.push(Buffer.from(bytes)));
  deflate.push(tar);
  deflate.finish();
  createHash('sha256').update(Buffer.concat(packed)).digest();
}

export function unpackLimit(layer, folder) {
  const tar = gunzipSync(layer);
  const made = new Set();
  for (let at = 0; tar[at] !== 0;) {
    const name = tar.toString('latin1', at, tar.indexOf(0, at));
    const size = Number.parseInt(tar.toString('latin1', at + 124, at + 135), 8);
    const target = join(folder, name);
    const parent = dirname(target);
    if (!made.has(parent)) {
      mkdirSync(parent, { recursive: true });
      made.add(parent);
    }
    writeFileSync(target, tar.subarray(at + BLOCK, at + BLOCK + size));
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
}
