import { GoComplex, GoInteger, NIL_MAP, parseTemplate } from '@thv/go-template';
import { describe, expect, it } from 'vitest';
import { failure, render } from './support/render.js';

describe('values', () => {
  it.each([
    ['int', 3n, '3 int 3 true'],
    ['int64', new GoInteger('int64', -3n), '-3 int64 -3 true'],
    ['uint8', new GoInteger('uint8', 3n), '3 uint8 0x3 true'],
    ['float64', 3, '3 float64 3 true'],
    ['a large float64', 1_234_567, '1.234567e+06 float64 1.234567e+06 true'],
    ['a string', 'a"b', 'a"b string "a\\"b" true'],
    ['a bool', false, 'false bool false '],
    ['a complex', new GoComplex(1, -2), '(1-2i) complex128 (1-2i) true'],
    ['a list', [1, 'a', null], '[1 a <nil>] []interface {} []interface {}{1, "a", interface {}(nil)} true'],
    [
      'a map',
      { b: 1, a: [] },
      'map[a:[] b:1] map[string]interface {} map[string]interface {}{"a":[]interface {}{}, "b":1} true',
    ],
    ['a Map', new Map([['k', 2n]]), 'map[k:2] map[string]interface {} map[string]interface {}{"k":2} true'],
    ['a nil map', NIL_MAP, 'map[] map[string]interface {} map[string]interface {}(nil) '],
    ['null', null, '<no value> <nil> <nil> '],
    ['nothing', undefined, '<no value> <nil> <nil> '],
  ])('of kind %s print as in Go', (_what, value, output) => {
    expect(render('{{.}} {{printf "%T %#v" . .}} {{if .}}true{{end}}', value)).toBe(output);
  });

  it('wrap around at the width of their type', () => {
    expect(new GoInteger('uint8', 256n).value).toBe(0n);
    expect(new GoInteger('int8', 128n).value).toBe(-128n);
    expect(new GoInteger('int64', 2n ** 63n).value).toBe(-(2n ** 63n));
  });

  it('compare across integer types, but not with floats', () => {
    const data = { a: 3n, b: new GoInteger('int64', 3n), c: new GoInteger('uint8', 3n), f: 3 };
    expect(render('{{eq .a .b .c}} {{eq .b .c}} {{lt .c .a}} {{le .c .a}} {{ge .b 3}}', data)).toBe(
      'true true false true true',
    );
    expect(failure('{{eq .a .f}}', data)).toMatch(/incompatible types for comparison: int and float64$/);
    expect(failure('{{eq .f .c}}', data)).toMatch(/incompatible types for comparison: float64 and uint8$/);
  });

  it('compare NaN as Go does', () => {
    const data = { n: Number.NaN };
    expect(
      render('{{eq .n .n}} {{lt .n 1.0}} {{le .n 1.0}} {{gt .n 1.0}} {{ge .n 1.0}} {{if .n}}true{{end}}', data),
    ).toBe('false false false true true true');
  });

  it('that are missing differ from null', () => {
    const data = { nil: null };
    expect(render('{{.missing}} {{.missing.x.y}} {{.nil}}', data)).toBe('<no value> <no value> <no value>');
    expect(failure('{{.nil.x}}', data)).toMatch(/<\.nil\.x>: nil pointer evaluating interface \{\}\.x$/);
    expect(failure('{{len .nil}}', data)).toMatch(/error calling len: len of nil pointer$/);
    expect(failure('{{len .missing}}', data)).toMatch(/reflect: call of reflect\.Value\.Type on zero Value$/);
  });

  it('of undefined are as if their key were not there', () => {
    const data = { a: undefined, b: new Map([['c', undefined]]) };
    expect(render('{{.a}} {{.a.x}} {{len .}} {{len .b}} {{.}} {{if .b}}true{{end}}', data)).toBe(
      '<no value> <no value> 1 0 map[b:map[]] ',
    );
  });

  it('that Go has no type for are missing', () => {
    const data = { f: () => 1, s: Symbol('s'), l: [() => 1] };
    expect(render('{{.f}} {{.s}} {{.l}} {{json .l}} {{len .}}', data)).toBe('<no value> <no value> [<nil>] [null] 1');
  });

  it('inherited by an object are no keys', () => {
    class Point {
      x = 1;
      get y(): number {
        return 2;
      }
    }
    expect(render('{{.x}} {{.y}} {{len .}}', new Point())).toBe('1 <no value> 1');
    expect(render('{{.a}}', Object.create({ a: 1 }))).toBe('<no value>');
  });

  it('of a Map are found by text keys only', () => {
    const map = new Map<unknown, unknown>([
      ['a', 1],
      [2, 'x'],
    ]);
    expect(render('{{.a}} {{len .}} {{.}} {{range $k, $v := .}}{{$k}}={{$v}}{{end}}', map)).toBe('1 1 map[a:1] a=1');
  });
});

describe('a nil map', () => {
  it.each([
    ['{{.m}}', 'map[]'],
    ['{{len .m}}', '0'],
    ['{{.m.a.b}}', '<no value>'],
    ['{{json .m}}', 'null'],
    ['{{eq .m nil}} {{ne .m nil}}', 'true false'],
    ['{{with .m}}a{{else}}b{{end}}', 'b'],
    ['{{range .m}}a{{else}}b{{end}}', 'b'],
    ['{{index .m "a"}}', '<no value>'],
    ['{{printf "%d %s %v" .m .m .m}}', 'map[] map[] map[]'],
  ])('in %s gives %s', (source, output) => {
    expect(render(source, { m: NIL_MAP })).toBe(output);
  });
});

describe('the missingkey option', () => {
  const run = (missingKey: 'default' | 'zero' | 'error', source: string, data: unknown): string =>
    parseTemplate(source, { name: 'expand', missingKey }).execute(data);

  it('decides what a missing key gives', () => {
    expect(run('default', '{{.a}} {{.a.b}}', {})).toBe('<no value> <no value>');
    expect(run('zero', '{{.a}}', {})).toBe('<no value>');
    expect(() => run('zero', '{{.a.b}}', {})).toThrow('nil pointer evaluating interface {}.b');
    expect(() => run('error', '{{.a}}', {})).toThrow('at <.a>: map has no entry for key "a"');
    expect(() => run('error', '{{.a}}', null)).toThrow('at <.a>: nil data; no entry for key "a"');
    expect(run('error', '{{index . "a"}} {{.b}}', { b: 1 })).toBe('<no value> 1');
  });

  it('is refused where it is none of Go’s', () => {
    expect(() => parseTemplate('x', { missingKey: 'ignore' as 'zero' })).toThrow(
      "Expected `missingKey` to be 'default', 'zero' or 'error', got `ignore` (string)",
    );
  });
});
