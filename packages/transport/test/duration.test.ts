import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from '../src/index.js';

describe('a duration', () => {
  it.each([
    ['0', 0],
    ['300ms', 300],
    ['1.5h', 5_400_000],
    ['2m30s', 150_000],
    ['-1s', -1_000],
    ['+.5s', 500],
    ['1.s', 1_000],
    ['1us', 0.001],
    ['1µs', 0.001],
    ['1μs', 0.001],
    ['1ns', 0.000_001],
    ['2562047h47m16.854775807s', 9_223_372_036_854.775],
  ])('reads %s', (text, milliseconds) => {
    expect(parseDuration(text)).toBeCloseTo(milliseconds, 3);
  });

  it.each(['', '5', '-', '1d', 's', '.s', '1 s', '1e3s', '1h-1m', '2562047h47m16.854775808s', '３s'])(
    'refuses %j',
    (text) => {
      expect(() => parseDuration(text)).toThrow(expect.objectContaining({ code: 'ERR_TRANSPORT_DURATION' }) as Error);
    },
  );

  it.each([
    [0, '0s'],
    [500, '500ms'],
    [1_500, '1.5s'],
    [90_000, '1m30s'],
    [3_600_000, '1h0m0s'],
    [-1_000, '-1s'],
    [0.5, '500µs'],
  ])('prints %d', (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });

  it('reads what it prints', () => {
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 42), max: 2 ** 42 }), (milliseconds) => {
        expect(parseDuration(formatDuration(milliseconds))).toBe(milliseconds);
      }),
    );
  });
});
