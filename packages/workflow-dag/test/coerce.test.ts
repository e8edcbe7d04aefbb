import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { coerceArguments } from '../src/index.js';
import { coerceDefault, coerceText } from '../src/coerce.js';
import { parseBoolean, parseFloat64, parseInteger } from '../src/go-scalar.js';

interface Vector {
  readonly in: string;
  readonly out?: string | boolean;
  readonly str?: string;
  readonly error?: string;
}

const path = new URL('fixtures/go-vectors.json', import.meta.url);
const vectors = JSON.parse(readFileSync(path, 'utf8')) as Readonly<
  Record<'parseInt10' | 'parseFloat64' | 'parseBool', readonly Vector[]>
>;
const names: Readonly<Record<string, number>> = { '+Inf': Infinity, '-Inf': -Infinity, NaN: Number.NaN };

describe('text', () => {
  it.each(vectors.parseInt10)('$in is an integer where Go says so', ({ in: text, out, error }) => {
    expect(parseInteger(text)).toEqual(
      error === undefined ? { ok: true, value: BigInt(String(out)) } : { ok: false, message: error },
    );
  });

  it.each(vectors.parseFloat64)('$in is a float where Go says so', ({ in: text, str = '', error }) => {
    const expected =
      error === undefined ? { ok: true, value: names[str] ?? Number(str) } : { ok: false, message: error };
    expect(parseFloat64(text)).toEqual(expected);
  });

  it.each(vectors.parseBool)('$in is a boolean where Go says so', ({ in: text, out, error }) => {
    expect(parseBoolean(text)).toEqual(error === undefined ? { ok: true, value: out } : { ok: false, message: error });
  });

  it('of a float is read back whatever its spelling', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0)),
        (value) => {
          expect(parseFloat64(String(value))).toEqual({ ok: true, value });
          expect(parseFloat64(value.toExponential())).toEqual({ ok: true, value });
        },
      ),
    );
    expect(['1__0', '_1', '1_', '0x_1p0', '-0x1.8p1', '0x1'].map((text) => parseFloat64(text).ok)).toEqual([
      false,
      false,
      false,
      true,
      true,
      false,
    ]);
  });
});

const schema = {
  type: 'object',
  properties: {
    n: { type: 'integer' },
    f: { type: 'number' },
    b: { type: 'boolean' },
    s: { type: 'string' },
    list: { type: 'array', items: { type: 'integer' } },
    deep: { type: 'object', properties: { n: { type: 'integer' } } },
    any: {},
    union: { type: ['integer', 'string'] },
  },
};

describe('arguments', () => {
  it.each([
    ['n', '123', 123],
    ['n', '1e+06', 1_000_000],
    ['n', '1.234567e+06', 1_234_567],
    ['n', '1.5', '1.5'],
    ['n', ' 1', ' 1'],
    ['n', '<no value>', '<no value>'],
    ['n', '9223372036854775807', '9223372036854775807'],
    ['f', '1.50', 1.5],
    ['f', 'NaN', 'NaN'],
    ['f', 'Inf', 'Inf'],
    ['b', 'T', true],
    ['b', 'yes', 'yes'],
    ['s', '123', '123'],
    ['list', '["1",2]', [1, 2]],
    ['list', '{"a":1}', '{"a":1}'],
    ['list', ['3', 'x'], [3, 'x']],
    ['deep', '{"n":"4"}', { n: 4 }],
    ['deep', { n: '5', m: '6' }, { n: 5, m: '6' }],
    ['any', '7', '7'],
    ['union', '7', '7'],
    ['n', 8, 8],
    ['n', true, true],
    ['other', '9', '9'],
  ])('%s: %j becomes %j', (name, value, expected) => {
    expect(coerceArguments({ [name]: value }, schema)).toEqual({ [name]: expected });
  });

  it.each([
    ['n', '1e+06'],
    ['list', '[1]'],
    ['deep', '{}'],
  ])('%s: %j stays text where only Go is followed', (name, value) => {
    expect(coerceArguments({ [name]: value }, schema, { strictGo: true })).toEqual({ [name]: value });
  });

  it('stay as they are without a schema, and keep __proto__ as a key', () => {
    const given = JSON.parse('{"__proto__": "1", "constructor": "2"}') as Record<string, string>;
    expect(coerceArguments(given, undefined)).toBe(given);
    const coerced = coerceArguments(given, { type: 'object', properties: { constructor: { type: 'integer' } } });
    expect(JSON.stringify(coerced)).toBe('{"__proto__":"1","constructor":2}');
  });
});

describe('an output value', () => {
  it.each([
    ['5', 'integer', { ok: true, value: 5 }],
    ['1.234567e+06', 'integer', { ok: true, value: 1_234_567 }],
    [
      'x',
      'integer',
      { ok: false, message: 'cannot coerce "x" to integer: strconv.ParseInt: parsing "x": invalid syntax' },
    ],
    ['Inf', 'number', { ok: false, message: 'cannot coerce "Inf" to number: JSON has no such number' }],
    ['True', 'boolean', { ok: true, value: true }],
    ['[1]', 'array', { ok: true, value: [1] }],
    ['[1]', 'object', { ok: false, message: 'failed to deserialize JSON object: got array' }],
    ['as it is', 'string', { ok: true, value: 'as it is' }],
  ] as const)('%j of type %s is converted', (text, type, expected) => {
    expect(coerceText(text, type)).toEqual(expected);
  });

  it.each([
    [5, 'string', { ok: true, value: '5' }],
    [3.9, 'integer', { ok: true, value: 3 }],
    ['7', 'integer', { ok: true, value: 7 }],
    [1, 'boolean', { ok: true, value: true }],
    [0, 'boolean', { ok: true, value: false }],
    [1.5, 'boolean', { ok: false, message: 'has default value of type number, expected boolean-compatible type' }],
    ['[1]', 'array', { ok: true, value: [1] }],
    [{ a: 1 }, 'object', { ok: true, value: { a: 1 } }],
    [[1], 'object', { ok: false, message: 'has default value of type array, expected object-compatible type' }],
  ] as const)('has the default %j of type %s', (value, type, expected) => {
    expect(coerceDefault(value, type, String)).toEqual(expected);
  });
});
