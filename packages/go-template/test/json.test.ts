import { GoComplex, GoInteger, NIL_MAP } from '@thv/go-template';
import { describe, expect, it } from 'vitest';
import { failure, render } from './support/render.js';
import { readFixture } from './support/vectors.js';

interface JsonVector {
  readonly in: unknown;
  readonly out: string;
  readonly v: string;
}

const { jsonMarshal, jsonNilMap } = readFixture('go-aux-vectors.json') as {
  readonly jsonMarshal: readonly JsonVector[];
  readonly jsonNilMap: string;
};

describe('json', () => {
  it.each(jsonMarshal)('writes $out', (vector) => {
    expect(render('{{json .}}', vector.in)).toBe(vector.out);
    expect(render('{{.}}', vector.in)).toBe(vector.v);
  });

  it('writes a nil map as null', () => {
    expect(render('{{json .}}', NIL_MAP)).toBe(jsonNilMap);
    expect(JSON.stringify({ output: NIL_MAP })).toBe('{"output":null}');
  });

  it.each([
    [-0, '-0'],
    [1e-6, '0.000001'],
    [9.5e-7, '9.5e-7'],
    [1e-10, '1e-10'],
    [123456789.125, '123456789.125'],
    [1e20, '100000000000000000000'],
    [1.5e300, '1.5e+300'],
    [7n, '7'],
    [new GoInteger('uint8', 255n), '255'],
    [[1, null, undefined, 'x'], '[1,null,null,"x"]'],
    [{ b: undefined, a: [] }, '{"a":[]}'],
    ['\b\f\n\r\t"\\/\u007f', String.raw`"\b\f\n\r\t\"\\/` + '\u007f"'],
    ['\ud800', '"\uFFFD"'],
  ])('writes %s', (value, text) => {
    expect(render('{{json .}}', value)).toBe(text);
  });

  it('sorts keys by their bytes and not by their UTF-16 units', () => {
    expect(render('{{json .}}', { '\u{10000}': 1, '\ufb00': 2, a: 3 })).toBe('{"a":3,"\ufb00":2,"\u{10000}":1}');
  });

  it.each([
    [Number.NaN, 'json: unsupported value: NaN'],
    [Number.NEGATIVE_INFINITY, 'json: unsupported value: -Inf'],
    [new GoComplex(1, 2), 'json: unsupported type: complex128'],
    [[new GoComplex(1, 2)], 'json: unsupported type: complex128'],
  ])('refuses %s', (value, problem) => {
    expect(failure('{{json .}}', value)).toContain(`error calling json: failed to encode JSON: ${problem}`);
  });
});

describe('fromJson', () => {
  it.each([
    ['{"a":1,"a":2}', 'map[a:2]'],
    [' [ 1 , "x" , null , true ] ', '[1 x <nil> true]'],
    ['"\\ud83c\\udf89 \\ud800 \\udc00x \\\\ud800"', '🎉 \uFFFD \uFFFDx \\ud800'],
    ['"\\ud800\\ud83c\\udf89"', '\uFFFD🎉'],
    ['{"__proto__":1,"constructor":2}', 'map[__proto__:1 constructor:2]'],
    ['-0', '-0'],
    ['1E3', '1000'],
    ['null', '<no value>'],
  ])('reads %s', (text, printed) => {
    expect(render('{{fromJson .}}', text)).toBe(printed);
  });

  it.each([
    ['', 'unexpected end of JSON input'],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
    ['[1 2]', "invalid character '2' after array element"],
    ['1.', "invalid character ' ' after decimal point in numeric literal"],
    ['1e', "invalid character ' ' in exponent of numeric literal"],
    ['-', "invalid character ' ' in numeric literal"],
    ['-x', "invalid character 'x' in numeric literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['"abc', 'unexpected end of JSON input'],
    ['trux', "invalid character 'x' in literal true (expecting 'e')"],
    ['é', "invalid character 'Ã' looking for beginning of value"],
    ["'", "invalid character '\\'' looking for beginning of value"],
    ['\ufeff1', "invalid character 'ï' looking for beginning of value"],
    ['[1e999]', 'json: cannot unmarshal number 1e999 into Go value of type float64'],
  ])('refuses %s', (text, problem) => {
    expect(failure('{{fromJson .}}', text)).toBe(
      `template: expand:1:2: executing "expand" at <fromJson .>: error calling fromJson: failed to unmarshal JSON: ${problem}`,
    );
  });

  it('reads as deep as Go does and no deeper', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
    expect(render('{{len (fromJson .)}}', nested(10_000))).toBe('1');
    expect(failure('{{len (fromJson .)}}', nested(10_001))).toMatch(/exceeded max depth$/);
  });

  it('refuses a text that is too long to be read', () => {
    expect(failure('{{fromJson .}}', ' '.repeat(10 * 1024 * 1024 + 1))).toContain('JSON text longer than');
  });
});
