import {
  extraFunctions,
  GoTemplateError,
  parseTemplate,
  references,
  templateTrees,
  type Template,
} from '@thv/go-template';
import { describe, expect, it } from 'vitest';
import { errorOf } from './support/render.js';
import { readFixture } from './support/vectors.js';

interface ReferenceVector {
  readonly template: string;
  readonly refs?: readonly string[];
  readonly error?: string;
}

const { extractReferences } = readFixture('go-aux-vectors.json') as {
  readonly extractReferences: readonly ReferenceVector[];
};

describe('references', () => {
  it.each(extractReferences)('of $template', ({ template, refs, error }) => {
    const action = (): readonly string[] =>
      references(parseTemplate(template, { name: 'extract', functions: extraFunctions }));
    if (error === undefined) expect(action()).toEqual(refs);
    else expect(errorOf(action).message).toBe(error);
  });

  it.each([
    ['{{if .a}}{{.b}}{{else if .c}}{{.d}}{{else}}{{.e}}{{end}}', ['.a', '.b', '.c', '.d', '.e']],
    ['{{range .l}}{{break}}{{else}}{{.none}}{{end}}', ['.l', '.none']],
    ['{{print (len .x) | printf .f}}', ['.f', '.x']],
    ['{{.a}}{{.a}}{{.a.b}}', ['.a', '.a.b']],
    ['{{$x := .a}}{{$x = .b}}{{$x.c}}', ['.a', '.b']],
    ['no action', []],
  ])('of %s are found in every place', (source, expected) => {
    expect(references(parseTemplate(source))).toEqual(expected);
  });

  it('come in the order of their bytes', () => {
    expect(references(parseTemplate('{{.𐀀}}{{.ﬀ}}{{.b}}{{.a}}'))).toEqual(['.a', '.b', '.ﬀ', '.𐀀']);
  });

  it('are refused of something that is no template', () => {
    for (const value of [undefined, null, {}, { name: 'x', execute: () => '' }]) {
      const error = errorOf(() => references(value as Template));
      expect(GoTemplateError.is(error)).toBe(true);
      expect(error.code).toBe('ERR_GO_TEMPLATE_ARGUMENT');
      expect(error.message).toContain('`template`');
    }
  });
});

describe('templateTrees', () => {
  it('gives the trees of a template and of what it defines, by name', () => {
    const trees = templateTrees(parseTemplate('{{.a}}{{define "t"}}{{.b}}{{end}}', { name: 'main' }));
    expect([...trees.keys()].toSorted()).toEqual(['main', 't']);
    expect(trees.get('t')?.[0]).toMatchObject({ kind: 'action', pipe: { commands: [{ args: [{ path: ['b'] }] }] } });
  });
});
