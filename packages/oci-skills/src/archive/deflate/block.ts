import type { BitWriter } from './bit-writer.js';
import { prefixCode } from './huffman.js';
import type { PrefixCode } from './huffman.js';
import type { Tokens } from './match.js';

const LITERALS = 286;
const DISTANCES = 30;
const END = 256;
/** The order in which the lengths of code-length codes are sent. */
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15] as const;

/** @see https://www.rfc-editor.org/rfc/rfc1951#section-3.2.5 */
const lengthExtra = Uint8Array.from([
  0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
]);
const distanceExtra = Uint8Array.from({ length: DISTANCES }, (_, code) => Math.max(0, (code >> 1) - 1));
const lengthBase = new Uint16Array(29);
const distanceBase = new Uint16Array(DISTANCES);
const lengthCode = new Uint8Array(259);
/** By distance minus one up to 256, then by its upper bits. */
const distanceCode = new Uint8Array(512);

for (let code = 0, length = 3; code < 28; code += 1) {
  lengthBase[code] = length;
  for (let step = 0; step < 1 << (lengthExtra[code] as number); step += 1, length += 1)
    if (length < 258) lengthCode[length] = code;
}
lengthBase[28] = 258;
lengthCode[258] = 28;
for (let code = 0, distance = 1; code < DISTANCES; code += 1) {
  distanceBase[code] = distance;
  for (let step = 0; step < 1 << (distanceExtra[code] as number); step += 1, distance += 1) {
    if (distance <= 256) distanceCode[distance - 1] = code;
    else distanceCode[256 + ((distance - 1) >> 7)] = code;
  }
}

function codeOfDistance(distance: number): number {
  return distanceCode[distance <= 256 ? distance - 1 : 256 + ((distance - 1) >> 7)] as number;
}

function countSymbols({ list, count }: Tokens): readonly [literals: Uint32Array, distances: Uint32Array] {
  const literals = new Uint32Array(LITERALS);
  const distances = new Uint32Array(DISTANCES);
  literals[END] = 1;
  for (let index = 0; index < count; index += 1) {
    const token = list[index] as number;
    if (token < 256) {
      literals[token] = (literals[token] as number) + 1;
    } else {
      const code = 257 + (lengthCode[token >>> 16] as number);
      const distance = codeOfDistance(token & 0xffff);
      literals[code] = (literals[code] as number) + 1;
      distances[distance] = (distances[distance] as number) + 1;
    }
  }
  return [literals, distances];
}

/** Runs of code lengths: symbol and extra value, by RFC 1951 section 3.2.7. */
function runs(lengths: readonly number[]): readonly (readonly [symbol: number, extra: number, bits: number])[] {
  const found: (readonly [number, number, number])[] = [];
  for (let at = 0; at < lengths.length;) {
    const value = lengths[at] as number;
    let same = 1;
    while (at + same < lengths.length && lengths[at + same] === value) same += 1;
    at += same;
    if (value !== 0) {
      found.push([value, 0, 0]);
      same -= 1;
    }
    while (same >= 3) {
      const most = value === 0 ? 138 : 6;
      const part = Math.min(same, most);
      if (value !== 0) found.push([16, part - 3, 2]);
      else found.push(part <= 10 ? [17, part - 3, 3] : [18, part - 11, 7]);
      same -= part;
    }
    for (; same > 0; same -= 1) found.push([value, 0, 0]);
  }
  return found;
}

function trimmed(lengths: Uint8Array, least: number): number[] {
  let size = lengths.length;
  while (size > least && lengths[size - 1] === 0) size -= 1;
  return [...lengths.subarray(0, size)];
}

function writeCodes(writer: BitWriter, literals: PrefixCode, distances: PrefixCode): void {
  const [literal, distance] = [trimmed(literals.lengths, 257), trimmed(distances.lengths, 1)];
  const list = runs([...literal, ...distance]);
  const frequencies = new Uint32Array(19);
  for (const [symbol] of list) frequencies[symbol] = (frequencies[symbol] as number) + 1;
  const code = prefixCode(frequencies, 7);
  const sent = ORDER.map((symbol) => code.lengths[symbol] as number);
  while (sent.length > 4 && sent.at(-1) === 0) sent.pop();
  writer.write(literal.length - 257, 5);
  writer.write(distance.length - 1, 5);
  writer.write(sent.length - 4, 4);
  for (const length of sent) writer.write(length, 3);
  for (const [symbol, extra, bits] of list) {
    writer.write(code.codes[symbol] as number, code.lengths[symbol] as number);
    if (bits > 0) writer.write(extra, bits);
  }
}

function writeTokens(writer: BitWriter, { list, count }: Tokens, literals: PrefixCode, distances: PrefixCode): void {
  for (let index = 0; index < count; index += 1) {
    const token = list[index] as number;
    if (token < 256) {
      writer.write(literals.codes[token] as number, literals.lengths[token] as number);
      continue;
    }
    const [length, distance] = [token >>> 16, token & 0xffff];
    const code = lengthCode[length] as number;
    writer.write(literals.codes[257 + code] as number, literals.lengths[257 + code] as number);
    const bits = lengthExtra[code] as number;
    if (bits > 0) writer.write(length - (lengthBase[code] as number), bits);
    const far = codeOfDistance(distance);
    writer.write(distances.codes[far] as number, distances.lengths[far] as number);
    const farBits = distanceExtra[far] as number;
    if (farBits > 0) writer.write(distance - (distanceBase[far] as number), farBits);
  }
  writer.write(literals.codes[END] as number, literals.lengths[END] as number);
}

/** The bits of the tokens, without the description of the codes. */
function sizeOf(
  [literals, distances]: readonly [Uint32Array, Uint32Array],
  literal: PrefixCode,
  distance: PrefixCode,
): number {
  let bits = 0;
  for (let symbol = 0; symbol < LITERALS; symbol += 1) {
    const extra = symbol > END ? (lengthExtra[symbol - 257] as number) : 0;
    bits += (literals[symbol] as number) * ((literal.lengths[symbol] as number) + extra);
  }
  for (let symbol = 0; symbol < DISTANCES; symbol += 1) {
    bits += (distances[symbol] as number) * ((distance.lengths[symbol] as number) + (distanceExtra[symbol] as number));
  }
  return bits;
}

/** Write a block with codes of its own. False, with nothing written, when that would take `most` bytes or more. */
export function writeBlock(writer: BitWriter, tokens: Tokens, most: number): boolean {
  const counts = countSymbols(tokens);
  const [literals, distances] = [prefixCode(counts[0], 15), prefixCode(counts[1], 15)];
  if (sizeOf(counts, literals, distances) / 8 > most) return false;
  writer.write(0b100, 3);
  writeCodes(writer, literals, distances);
  writeTokens(writer, tokens, literals, distances);
  return true;
}
