import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatDuration, formatMilliseconds, parseDefinition, parseDuration, WorkflowError } from '../src/index.js';
import { DURATION_PATTERN, toMilliseconds } from '../src/duration.js';

interface Vector {
  readonly in: string;
  readonly ns?: string;
  readonly string?: string;
  readonly error?: string;
  readonly crdPattern: boolean;
}

const path = new URL('fixtures/go-vectors.json', import.meta.url);
const { parseDuration: vectors } = JSON.parse(readFileSync(path, 'utf8')) as { parseDuration: readonly Vector[] };

describe('a duration', () => {
  it.each(vectors)('$in is read and printed as Go does', ({ in: text, ns, string, error, crdPattern }) => {
    expect(DURATION_PATTERN.test(text)).toBe(crdPattern);
    if (error === undefined) {
      expect(parseDuration(text)).toBe(BigInt(ns ?? ''));
      expect(formatDuration(parseDuration(text))).toBe(string);
    } else {
      expect(() => parseDuration(text)).toThrow(
        expect.objectContaining({ code: 'ERR_WORKFLOW_DAG_DURATION', message: error }),
      );
    }
  });

  it('is the same after printing and reading', () => {
    const nanoseconds = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(nanoseconds, (value) => {
        expect(parseDuration(formatDuration(value))).toBe(value);
      }),
    );
  });

  it('fails with an error of this package for any other text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          expect(typeof parseDuration(text)).toBe('bigint');
        } catch (error) {
          expect(WorkflowError.is(error, 'ERR_WORKFLOW_DAG_DURATION')).toBe(true);
        }
      }),
    );
  });

  it('becomes whole milliseconds, but never nothing', () => {
    expect([1n, 999_999n, 1_000_000n, 1_999_999n, 0n].map(toMilliseconds)).toEqual([1, 1, 1, 1, 0]);
    expect([300_000, 5_400_000, 1.5, 0].map(formatMilliseconds)).toEqual(['5m0s', '1h30m0s', '1.5ms', '0s']);
  });

  it('of zero is the default', () => {
    const text = 'name: a\ndescription: d\ntimeout: 0s\nsteps: [{id: s, tool: t, timeout: 1us}]';
    const { timeoutMs, steps } = parseDefinition(text);
    expect([timeoutMs, steps[0]?.timeoutMs]).toEqual([1_800_000, 1]);
  });
});
