import { createHash } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SteadyDeflate } from '../src/archive/deflate/steady-deflate.js';

function deflate(bytes: Buffer, cut: (offset: number) => number): Buffer {
  const chunks: Buffer[] = [];
  const stream = new SteadyDeflate((chunk) => chunks.push(Buffer.from(chunk)));
  for (let offset = 0; offset < bytes.length;) {
    const length = Math.max(1, cut(offset));
    stream.push(bytes.subarray(offset, offset + length));
    offset += length;
  }
  stream.finish();
  return Buffer.concat(chunks);
}

const noise = (length: number, seed: number): Buffer =>
  createHash('shake256', { outputLength: length }).update(String(seed)).digest();
const pieces: Readonly<Record<string, (length: number, seed: number) => Buffer>> = {
  zeros: (length) => Buffer.alloc(length),
  noise,
  text: (length, seed) => Buffer.from(Array.from({ length }, (_, at) => 97 + ((at * at * 7 + at * seed) % 23))),
  repeats: (length, seed) => Buffer.alloc(length, noise(1 + (seed % 300), seed)),
  skewed: (length, seed) => Buffer.from(noise(length, seed).map((byte) => 31 - Math.clz32(byte | 1))),
};

test('what is compressed is inflated to the same, however it was cut', () => {
  const piece = fc.tuple(fc.constantFrom(...Object.keys(pieces)), fc.integer({ min: 1, max: 90_000 }), fc.nat(1000));
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 20 }),
      (parts, cuts) => {
        const bytes = Buffer.concat(
          parts.map(([kind, length, seed]) => (pieces[kind] as (length: number, seed: number) => Buffer)(length, seed)),
        );
        const whole = deflate(bytes, () => bytes.length);
        expect(inflateRawSync(whole).equals(bytes)).toBe(true);
        let next = 0;
        expect(deflate(bytes, () => cuts[next++ % cuts.length] as number).equals(whole)).toBe(true);
      },
    ),
    { numRuns: 150 },
  );
});

test.each([0, 1, 2, 3, 4, 5, 257, 258, 259, 1023, 1024, 4095, 4096, 4097, 65_535, 65_536, 65_537, 200_000])(
  '%d bytes of every kind',
  (length) => {
    for (const [, make] of Object.entries(pieces)) {
      const bytes = make(length, 7);
      expect(inflateRawSync(deflate(bytes, () => 5000)).equals(bytes)).toBe(true);
    }
  },
);

test('noise grows by less than a hundredth, and repetition nearly vanishes', () => {
  expect(deflate(noise(1_000_000, 1), () => 65_536).length).toBeLessThan(1_010_000);
  expect(deflate(Buffer.alloc(1_000_000), () => 65_536).length).toBeLessThan(10_000);
});

test('frequencies that grow like Fibonacci numbers stay within fifteen bits', () => {
  const counts = [1, 1];
  while (counts.length < 22) counts.push((counts.at(-1) as number) + (counts.at(-2) as number));
  // Distinct pairs keep the matcher from finding anything in between.
  const bytes = Buffer.concat(counts.map((count, symbol) => Buffer.alloc(count, symbol)));
  const shuffled = Buffer.from(bytes.map((_, at) => bytes[(at * 7919) % bytes.length] as number));
  expect(inflateRawSync(deflate(shuffled, () => 65_536)).equals(shuffled)).toBe(true);
});
