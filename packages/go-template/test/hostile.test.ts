import { parseTemplate } from '@thv/go-template';
import { describe, expect, it } from 'vitest';
import { errorOf, failure, render } from './support/render.js';

describe('deep nesting', () => {
  it('of 500 parentheses is read, of 1,001 refused', () => {
    expect(render(`{{${'('.repeat(500)}1${')'.repeat(500)}}}`)).toBe('1');
    expect(failure(`{{${'('.repeat(1001)}1${')'.repeat(1001)}}}`)).toBe(
      'template: expand:1: max expression depth exceeded',
    );
  });

  it.each(['if true', 'with 1', 'range 1'])('of {{%s}} is read up to 300 and refused at 100,000', (control) => {
    const nested = (depth: number): string => `{{${control}}}`.repeat(depth) + 'x' + '{{end}}'.repeat(depth);
    expect(render(nested(300))).toBe('x');
    expect(failure(nested(100_000))).toBe('template: expand:1: blocks nested deeper than 1000');
  });

  it('of else-if chains is read', () => {
    expect(render(`{{if false}}${'{{else if false}}'.repeat(400)}{{else}}last{{end}}`)).toBe('last');
  });

  it('of blocks that are never closed costs nothing', () => {
    expect(failure('{{if .}}'.repeat(900))).toBe('template: expand:1: unexpected EOF');
    expect(failure('{{'.repeat(100_000))).toBe('template: expand:1: unexpected "{" in command');
  });

  it.each(['{{.}}', '{{json .}}', '{{printf "%#v" .}}', '{{print .}}', '{{eq . .}}'])(
    'of data is refused by %s',
    (source) => {
      let value: unknown = 1;
      for (let i = 0; i < 5000; i += 1) value = i % 2 === 0 ? [value] : { a: value };
      expect(errorOf(() => render(source, value)).code).toBe('ERR_GO_TEMPLATE_DEPTH');
    },
  );

  it('of data that holds itself is refused', () => {
    const value: Record<string, unknown> = {};
    value.self = value;
    expect(errorOf(() => render('{{.}}', value)).code).toBe('ERR_GO_TEMPLATE_DEPTH');
    expect(errorOf(() => render('{{json .}}', value)).code).toBe('ERR_GO_TEMPLATE_DEPTH');
    expect(render('{{len .self.self.self}}', value)).toBe('1');
  });
});

describe('recursion of templates', () => {
  it('without end is stopped in the words of Go', () => {
    const error = errorOf(() => render('{{define "t"}}{{template "t" .}}{{end}}{{template "t" .}}'));
    expect(error.code).toBe('ERR_GO_TEMPLATE_DEPTH');
    expect(error.message).toBe(
      'template: expand:1:25: executing "t" at <{{template "t" .}}>: exceeded maximum template depth (1000)',
    );
  });

  it('through several templates is stopped too', () => {
    const source = '{{define "a"}}{{template "b"}}{{end}}{{define "b"}}{{template "a"}}{{end}}{{template "a"}}';
    expect(errorOf(() => render(source)).code).toBe('ERR_GO_TEMPLATE_DEPTH');
  });

  it('of the template itself is stopped too', () => {
    expect(errorOf(() => render('{{template "expand"}}')).code).toBe('ERR_GO_TEMPLATE_DEPTH');
  });

  it('inside many blocks is stopped before the stack is full', () => {
    const inner = `${'{{if true}}'.repeat(200)}{{range 2}}{{template "t"}}{{end}}${'{{end}}'.repeat(200)}`;
    expect(errorOf(() => render(`{{define "t"}}${inner}{{end}}{{template "t"}}`)).code).toBe('ERR_GO_TEMPLATE_DEPTH');
  });

  it('that ends is run', () => {
    const source =
      '{{define "t"}}{{if lt (len .) 200}}{{template "t" (print . "x")}}{{else}}{{len .}}{{end}}{{end}}{{template "t" ""}}';
    expect(render(source)).toBe('200');
  });
});

describe('long sources', () => {
  it.each([
    ['a pipeline of 10,000 commands', `{{"x"${' | print'.repeat(10_000)}}}`, 'x'],
    ['a call with 20,000 arguments', `{{len (print${' "a"'.repeat(20_000)})}}`, '20000'],
    ['20,000 variables of one name', `${'{{$a := 1}}'.repeat(20_000)}{{$a}}`, '1'],
    ['a chain of 20,000 fields', `{{.a${'.b'.repeat(20_000)}}}`, '<no value>'],
    ['a comment of a megabyte', `a{{/*${'*'.repeat(1_000_000)}*/}}b`, 'ab'],
    ['a megabyte of text', 'x'.repeat(1_000_000), 'x'.repeat(1_000_000)],
  ])('%s are run', (_what, source, output) => {
    expect(render(source)).toBe(output);
  });

  it('name the right line of a mistake at their end', () => {
    expect(failure(`${'{{.a}}\r\n'.repeat(10_000)}{{oops}}`)).toBe(
      'template: expand:10001: function "oops" not defined',
    );
  });

  it('with very many variables do not take the square of the time', () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `{{$v${index} := 1}}`).join('');
    const uses = '{{$v0}}'.repeat(20_000);
    const error = errorOf(() => render(names + uses, null, { maxSteps: 100_000 }));
    expect(error.code).toBe('ERR_GO_TEMPLATE_STEPS');
  });
});

describe('line ends', () => {
  it('of Windows are kept in text and trimmed by markers', () => {
    expect(render('a\r\nb')).toBe('a\r\nb');
    expect(render('a \r\n{{- 1 -}} \r\n b')).toBe('a1b');
  });

  it('of Windows count as one line', () => {
    expect(failure('a\r\nb\r\n  {{.x.y}}', { x: 1 })).toBe(
      'template: expand:3:6: executing "expand" at <.x.y>: can\'t evaluate field y in type interface {}',
    );
  });

  it('of Windows disappear from raw strings, but not from quoted ones', () => {
    expect(render('{{printf "%q" `a\r\nb`}}')).toBe(String.raw`"a\nb"`);
    expect(render('{{printf "%q" "a\\r\\nb"}}')).toBe(String.raw`"a\r\nb"`);
  });

  it('inside actions separate words', () => {
    expect(render('{{if\n\r\ntrue}}{{print\n1\r\n2}}{{end\n}}')).toBe('1 2');
  });

  it('are counted where an action begins before the line of its mistake', () => {
    expect(failure('{{.x\n\n')).toBe('template: expand:3: unclosed action started at expand:1');
    expect(failure('{{print\n"a')).toBe('template: expand:2: unterminated quoted string in action started at expand:1');
    expect(failure('{{/* a\nb */}}\n{{oops}}')).toBe('template: expand:3: function "oops" not defined');
  });
});

describe('Unicode', () => {
  it('counts columns in bytes', () => {
    expect(failure('é🎉{{.a.b}}', { a: 1 })).toMatch(/^template: expand:1:10: /);
  });

  it('keeps what is not ASCII in names, text and strings', () => {
    expect(render('{{.été}} {{.名}} {{"🎉"}} {{len "🎉"}} {{$x := 1}}{{$x}}', { été: 'ok', 名: 2 })).toBe(
      'ok 2 🎉 4 1',
    );
  });

  it('does not trim spaces that are not ASCII', () => {
    expect(render('a\u00a0{{- 1 -}}\u2003b')).toBe('a\u00a01\u2003b');
    expect(failure('{{\u00a01}}')).toBe('template: expand:1: unrecognized character in action: U+00A0');
  });

  it('cuts characters in two and joins the halves again', () => {
    expect(render('{{slice "é" 0 1}}')).toBe('\uFFFD');
    expect(render('{{slice "é" 0 1}}{{slice "é" 1}}')).toBe('é');
    expect(render('{{$x := print (slice "世" 0 2) (slice "世" 2)}}{{$x}} {{len $x}} {{eq $x "世"}}')).toBe('世 3 true');
    expect(render(String.raw`{{"\xe4\xb8\x96"}} {{len "\xff\xfe"}} {{printf "%q" "\xff"}}`)).toBe(
      String.raw`世 2 "\xff"`,
    );
    expect(render(String.raw`{{lt "\xff" "é"}} {{lt "é" "\xff"}}`)).toBe('false true');
  });

  it('sorts keys by their bytes', () => {
    expect(render('{{.}} {{range $k, $v := .}}{{$v}}{{end}}', { '\u{10000}': 1, '\ufb00': 2, z: 3 })).toBe(
      'map[z:3 \ufb00:2 \u{10000}:1] 321',
    );
    expect(render('{{lt "\ufb00" "\u{10000}"}}')).toBe('true');
  });

  it('turns halves of pairs into replacement characters wherever they come from', () => {
    expect(render('a\ud800b{{"\udc00"}}')).toBe('a\uFFFDb\uFFFD');
    expect(render('{{.}} {{len .}}', '\ud800')).toBe('\uFFFD 3');
    expect(render('{{.}}{{html .}}{{urlquery .}}', '\udfff')).toBe('\uFFFD\uFFFD%EF%BF%BD');
    expect(failure('{{.a\ud800}}')).toBe("template: expand:1: bad character U+FFFD '\uFFFD'");
    expect(failure('{{range .}}{{end}}', '\ud800')).toMatch(/over \uFFFD$/);
  });

  it('has well-formed error messages even of bytes that are no text', () => {
    expect(failure(String.raw`{{range "\xff"}}{{end}}`)).toBe(
      String.raw`template: expand:1:8: executing "expand" at <"\xff">: range can't iterate over ` + '\uFFFD',
    );
  });
});

describe('names that JavaScript gives a meaning', () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__', 'prototype'];

  it.each(names)('%s is missing where it is not there', (name) => {
    expect(render(`{{.${name}}} {{.${name}.x}} {{index . "${name}"}} {{if .${name}}}yes{{end}}`, {})).toBe(
      '<no value> <no value> <no value> ',
    );
    expect(render(`{{.a.${name}}}`, new Map([['a', new Map()]]))).toBe('<no value>');
  });

  it.each(names)('%s is a key like any other where it is there', (name) => {
    const data = JSON.parse(`{"${name}": {"x": 1}}`) as unknown;
    expect(render(`{{.${name}.x}} {{.}} {{json .}} {{len .}}`, data)).toBe(
      `1 map[${name}:map[x:1]] {"${name}":{"x":1}} 1`,
    );
  });

  it.each(names)('%s is no function and no template', (name) => {
    expect(failure(`{{${name}}}`)).toBe(`template: expand:1: function "${name}" not defined`);
    expect(failure(`{{template "${name}"}}`)).toContain(`template "${name}" not defined`);
  });

  it('do not reach into arrays, numbers and texts', () => {
    for (const value of [[1], 'text', 5, true, 7n]) {
      expect(failure('{{.length}}', value)).toContain("can't evaluate field length in type");
      expect(failure('{{.constructor}}', value)).toContain("can't evaluate field constructor in type");
    }
  });
});

describe('what a template does to its data', () => {
  it('is nothing', () => {
    const data = Object.freeze({ list: Object.freeze([1, 2, 3]), map: Object.freeze({ a: 1 }) });
    const source = '{{$x := slice .list 1}}{{range $x = .list}}{{end}}{{with $m := .map}}{{$m = 1}}{{end}}{{.}}';
    expect(render(source, data)).toBe('map[list:[1 2 3] map:map[a:1]]');
  });

  it('is the same every time', () => {
    const template = parseTemplate('{{$n := 0}}{{range .}}{{$n = .}}{{end}}{{$n}}');
    for (let i = 0; i < 3; i += 1) expect(template.execute([1, 2])).toBe('2');
  });
});
