import { isDeepStrictEqual } from 'node:util';
import { NIL_MAP } from '@thv/go-template';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, encode } from '../src/store/codec.js';

const leaves = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.bigInt(),
  fc.constant(NIL_MAP),
);
const keys = fc.oneof(fc.string(), fc.constantFrom('$int', '$nilmap', '$float', '$esc', '__proto__', 'constructor'));
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    leaves,
    fc.array(tie('value')),
    fc.array(fc.tuple(keys, tie('value'))).map((entries) => Object.fromEntries(entries) as unknown),
  ),
})).value;

describe('the codec', () => {
  it('reads back every value that it wrote, of the same type', () => {
    fc.assert(
      fc.property(values, (value) => {
        // Not the runner's comparison: it takes a key `constructor` for the type.
        expect(isDeepStrictEqual(decode(encode(value)), value)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('leaves plain JSON as it is', () => {
    expect(encode({ a: [1, 'x', null], b: { c: true } })).toBe('{"a":[1,"x",null],"b":{"c":true}}');
    expect(encode(3n)).toBe('{"$int":"3"}');
    expect(encode({ $int: '3' })).toBe('{"$esc":{"$int":"3"}}');
    expect(encode(undefined)).toBeNull();
    expect(decode(null)).toBeUndefined();
  });

  it('refuses a value that is nested too deeply', () => {
    let deep: unknown = 1;
    for (let depth = 0; depth < 2000; depth += 1) deep = [deep];
    expect(() => encode(deep)).toThrow('nested deeper than 1000 levels');
  });
});
