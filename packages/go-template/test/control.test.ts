import { GoInteger } from '@thv/go-template';
import { describe, expect, it } from 'vitest';
import { failure, render } from './support/render.js';

const data = { l: ['a', 'b', 'c'], m: { y: 2, x: 1 }, e: [], n: 3n, t: true, o: { k: 'v' } };

describe('range', () => {
  it.each([
    ['{{range $i, $v := .l}}{{$i}}{{$v}} {{end}}', '0a 1b 2c '],
    ['{{range $v := .m}}{{$v}}{{end}}', '12'],
    ['{{range $k, $v := .m}}{{$k}}{{$v}}{{end}}', 'x1y2'],
    ['{{range .n}}{{.}}{{end}} {{range 0}}x{{else}}none{{end}} {{range -5}}x{{else}}none{{end}}', '012 none none'],
    ['{{range $x := 2}}{{$x}}{{end}}', '01'],
    ['{{$v := 9}}{{range $v = .l}}{{end}}{{$v}}', 'c'],
    ['{{$i := 9}}{{$v := 9}}{{range $i, $v = .l}}{{end}}{{$i}}{{$v}}', '2c'],
    ['{{range $v := .e}}x{{else}}{{$v}}{{end}}', '[]'],
    ['{{range .l}}{{if eq . "b"}}{{continue}}{{end}}{{.}}{{end}}', 'ac'],
    ['{{range .l}}{{if eq . "b"}}{{break}}{{end}}{{.}}{{end}}', 'a'],
    ['{{range .l}}{{range $.n}}{{if .}}{{break}}{{end}}{{.}}{{end}}{{.}}{{end}}', '0a0b0c'],
    ['{{range .l}}{{with 1}}{{if .}}{{continue}}{{end}}{{end}}x{{end}}y', 'y'],
    // A `break` in an else list belongs to the range of that list, a `continue` to the one around it.
    ['{{range .l}}{{range $.e}}{{else}}{{break}}{{end}}{{.}}{{end}}', 'abc'],
    ['{{range .l}}{{range $.e}}{{else}}{{continue}}{{end}}{{.}}{{end}}', ''],
    ['{{range .missing}}x{{else}}none{{end}}', 'none'],
    ['{{range $i, $c := .l}}{{if $i}}, {{end}}{{$c}}{{end}}', 'a, b, c'],
  ])('%s gives %s', (source, output) => {
    expect(render(source, data)).toBe(output);
  });

  it('over a typed integer has elements of its type', () => {
    expect(render('{{range .}}{{printf "%T%v " . .}}{{end}}', new GoInteger('int64', 2n))).toBe('int640 int641 ');
    expect(render('{{range (index "\\x02" 0)}}{{printf "%T " .}}{{end}}')).toBe('uint8 uint8 ');
  });

  it.each([
    ['{{range .t}}{{end}}', "<.t>: range can't iterate over true"],
    ['{{range 1.5}}{{end}}', "<1.5>: range can't iterate over 1.5"],
    ['{{range print "a" "b"}}{{end}}', '<"b">: range can\'t iterate over ab'],
    ['{{range $i, $v := 3}}{{end}}', "<3>: can't use 3 to iterate over more than one variable"],
    ['{{range .l}}{{.x}}{{end}}', "<.x>: can't evaluate field x in type interface {}"],
    ['{{range 1}}{{.x}}{{end}}', "<.x>: can't evaluate field x in type int"],
    ['{{range $k, $v := .m}}{{$k.x}}{{end}}', "<$k.x>: can't evaluate field x in type string"],
    ['{{range $v := .l}}{{$v.x}}{{end}}', "<$v.x>: can't evaluate field x in type interface {}"],
    ['{{range $v := .l}}{{$v = "s"}}{{$v.x}}{{end}}', "<$v.x>: can't evaluate field x in type string"],
    ['{{range .l}}{{with .}}{{.x}}{{end}}{{end}}', "<.x>: can't evaluate field x in type string"],
  ])('%s fails', (source, problem) => {
    expect(failure(source, data)).toContain(`at ${problem}`);
  });

  it.each([
    ['{{range .l}}{{end}}{{break}}', '{{break}} outside {{range}}'],
    ['{{range .l}}{{else}}{{break}}{{end}}', '{{break}} outside {{range}}'],
    ['{{range .l}}{{block "b" .}}{{continue}}{{end}}{{end}}', '{{continue}} outside {{range}}'],
    ['{{range .l}}{{continue 1}}{{end}}', 'unexpected "1" in {{continue}}'],
    ['{{range $i, := .l}}{{end}}', 'range can only initialize variables'],
    ['{{range $a, $b, $c := .l}}{{end}}', 'too many declarations in range'],
    ['{{with $a, $b := .l}}{{end}}', 'too many declarations in with'],
    ['{{range .l}}{{else range .m}}{{end}}', 'unexpected <range> in else'],
  ])('%s is refused', (source, problem) => {
    expect(failure(source, data)).toBe(`template: expand:1: ${problem}`);
  });
});

describe('if and with', () => {
  it.each([
    ['{{if .e}}a{{else if .missing}}b{{else if .t}}c{{else}}d{{end}}', 'c'],
    ['{{with .e}}a{{else with .o}}{{.k}}{{else}}d{{end}}', 'v'],
    ['{{with $x := .o}}{{$x.k}}{{.k}}{{end}}', 'vv'],
    ['{{if $x := .n}}{{$x}}{{end}}', '3'],
    ['{{$x := 1}}{{if true}}{{$x = 2}}{{$x := 3}}{{$x}}{{end}}{{$x}}', '32'],
    ['{{with .o}}{{$.n}}{{end}}', '3'],
    ['{{if and .t (not .e)}}yes{{end}}', 'yes'],
    ['{{or .e .missing 0 "" "last"}}', 'last'],
    ['{{and 1 .e (index .e 5)}}', '[]'],
    ['{{1 | and 2}}{{0 | or 0}}', '10'],
    // A variable of a pipeline in parentheses lives on, but only if that pipeline was run.
    ['{{print ($y := 1)}}{{$y}}', '11'],
  ])('%s gives %s', (source, output) => {
    expect(render(source, data)).toBe(output);
  });

  it.each([
    ['{{and false ($y := 1)}}{{$y}}', '<$y>: undefined variable: $y'],
    ['{{$x := $x}}', '<$x>: undefined variable: $x'],
    ['{{$x = 1}}', '<1>: undefined variable: $x'],
    ['{{(1) 2}}', "<(1) 2>: can't give argument to non-function 1"],
    ['{{.o.k 1}}', '<.o.k>: k is not a method but has arguments'],
    ['{{1 | .o.k}}', '<.o.k>: k is not a method but has arguments'],
    ['{{slice .l .n}}', '<slice .l .n>: error calling slice: cannot index slice/array with type interface {}'],
  ])('%s fails', (source, problem) => {
    expect(failure(source, data)).toContain(`at ${problem}`);
  });
});

describe('templates', () => {
  it.each([
    ['{{define "t"}}[{{.}}]{{end}}{{template "t" .n}}{{template "t"}}', '[3][<no value>]'],
    ['{{template "late" 1}}{{define "late"}}{{.}}{{end}}', '1'],
    ['{{block "b" .o}}{{.k}}{{end}}{{template "b" .o}}', 'vv'],
    ['{{block "b" 1}}x{{end}}{{define "b"}} {{/* blank */}} {{end}}', 'x'],
    ['{{define `raw`}}r{{end}}{{template `raw`}}', 'r'],
    ['{{define "a\\"b"}}q{{end}}{{template "a\\"b"}}', 'q'],
    ['{{define "expand"}}self{{end}} ', 'self'],
    ['{{$x := 1}}{{define "t"}}{{$x := 2}}{{$x}}{{end}}{{template "t"}}{{$x}}', '21'],
    ['{{define "t"}}{{$.k}}{{end}}{{template "t" .o}}', 'v'],
    ['{{define ""}}empty{{end}}{{template ""}}', 'empty'],
  ])('%s gives %s', (source, output) => {
    expect(render(source, data)).toBe(output);
  });

  it('do not see the variables of their caller', () => {
    expect(failure('{{$x := 1}}{{define "t"}}{{$x}}{{end}}{{template "t"}}')).toBe(
      'template: expand:1: undefined variable "$x"',
    );
  });

  it('are named in errors', () => {
    expect(failure('{{define "a \\"b\\""}}\n {{.x}}{{end}}{{template "a \\"b\\"" 1}}')).toBe(
      'template: expand:2:3: executing "a \\"b\\"" at <.x>: can\'t evaluate field x in type int',
    );
  });
});
