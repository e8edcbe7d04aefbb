import { parseTemplate } from '@thv/go-template';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extendedFunctions } from '../src/extended-functions.js';
import { compileRegex } from '../src/linear-regex.js';

const data = {
  n: 1_234_567,
  names: ['b', 'a'],
  users: [{ name: 'bo', age: 30 }, { name: 'al', age: 4 }, { name: 'cy' }],
  map: { z: 1, a: 2, __proto: 3 },
  at: '2026-08-21T14:05:09Z',
  empty: '',
};

function render(source: string): string {
  return parseTemplate(source, { name: 'expand', functions: extendedFunctions }).execute(data);
}

describe('the extended functions', () => {
  it.each([
    ['{{toInt .n}}', '1234567'],
    ['{{toInt "42"}} {{toInt 2.9}} {{toInt true}}', '42 2 1'],
    ['{{eq (toInt .n) 1234567}}', 'true'],
    ['{{toString 1.5}}|{{toString .names}}|{{toString .missing}}', '1.5|[b a]|'],
    ['{{.missing | default "d"}} {{.empty | default "d"}} {{.n | default 1}}', 'd d 1.234567e+06'],
    ['{{coalesce .missing .empty "x" "y"}}', 'x'],
    ['{{first .names}}{{first .missing}}', 'b<no value>'],
    ['{{.names | join ", "}}', 'b, a'],
    ['{{index (split "," "a,b,c") 1}}', 'b'],
    ['{{"a-b-c" | replace "-" "+"}}', 'a+b+c'],
    ['{{trim "  x "}}{{lower "ÄB"}}{{upper "äb"}}', 'xäbÄB'],
    ['{{keys .map | join ","}}', '__proto,a,z'],
    ['{{json (pick .map "a" "none")}}{{json (omit .map "a")}}', '{"a":2}{"__proto":3,"z":1}'],
    ['{{range sortBy "age" .users}}{{.name}} {{end}}', 'cy al bo '],
    ['{{regexMatch "^a+b$" "aaab"}} {{regexMatch "x" "aaab"}}', 'true false'],
    [
      '{{date "2006-01-02 15:04:05" .at}} {{date "Jan 2, 2006 at 3:04pm (MST)" .at}}',
      '2026-08-21 14:05:09 Aug 21, 2026 at 2:05pm (UTC)',
    ],
    ['{{date "Monday 02 January 06" "2026-08-21"}}', 'Friday 21 August 26'],
  ])('%s gives %s', (source, expected) => {
    expect(render(source)).toBe(expected);
  });

  it.each([
    ['{{toInt "x"}}', 'toInt cannot convert "x"'],
    ['{{join "," .n}}', 'join expects a list'],
    ['{{keys .names}}', 'keys expects a map, got a list'],
    ['{{date "2006" "yesterday"}}', 'is no ISO 8601 time'],
    ['{{regexMatch "(" "x"}}', 'missing closing )'],
  ])('%s fails and says why', (source, message) => {
    expect(() => render(source)).toThrow(message);
  });

  it('stay within the budget', () => {
    const large = { text: 'a'.repeat(100_000), list: Array.from({ length: 5000 }, () => 'x') };
    const run = (source: string, limits: { maxSteps?: number; maxOutputBytes?: number }): string =>
      parseTemplate(source, { functions: extendedFunctions }).execute(large, limits);
    expect(() => run('{{replace "a" "0123456789" .text}}', { maxOutputBytes: 500_000 })).toThrow('too large');
    expect(() => run('{{join .text .list}}', { maxOutputBytes: 500_000 })).toThrow('too large');
    expect(() => run('{{regexMatch "a*b" .text}}', { maxSteps: 1000 })).toThrow('stopped after 1000 steps');
  });
});

describe('linear regular expressions', () => {
  const pieces = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\d', '\\w', '^', '$', '\\b', 'c', '[a-c]');
  const patterns = fc.letrec<{ pattern: string }>((tie) => ({
    pattern: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      pieces,
      fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => left + right),
      fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => `(?:${left}|${right})`),
      fc
        .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{0,}', '*?'))
        .map(([item, repeat]) => `(${item})${repeat}`),
    ),
  })).pattern;

  it('match what the platform matches', () => {
    fc.assert(
      fc.property(
        patterns,
        fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', ' ', '\n'), maxLength: 12 }),
        (pattern, text) => {
          expect(compileRegex(pattern).test(text, () => undefined)).toBe(new RegExp(pattern).test(text));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('take no more time for a pattern that ruins others', () => {
    let steps = 0;
    expect(compileRegex('^(a+)+$').test(`${'a'.repeat(5000)}b`, (units) => (steps += units))).toBe(false);
    expect(steps).toBeLessThan(50_000);
  });

  it('know flags, escapes and names', () => {
    const test = (pattern: string, text: string): boolean => compileRegex(pattern).test(text, () => undefined);
    expect(test('(?i)äB', 'xÄbx')).toBe(true);
    expect(test('(?s)a.b', 'a\nb')).toBe(true);
    expect(test('a.b', 'a\nb')).toBe(false);
    expect(test('(?P<year>\\d{4})-\\x41\\.', '2026-A.')).toBe(true);
    expect(test('\\x{1F389}', '🎉')).toBe(true);
    for (const bad of ['(', ')', 'a**', '*a', '[', '[b-a]', 'a{2000}', '\\q', '(?=a)', '\\']) {
      expect(() => compileRegex(bad), bad).toThrow('error parsing regexp');
    }
  });
});
