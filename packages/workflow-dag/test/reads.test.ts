import { readFileSync } from 'node:fs';
import { extraFunctions, parseTemplate } from '@thv/go-template';
import { describe, expect, it } from 'vitest';
import { parseFile, validateFile } from '../src/index.js';
import { analyse } from '../src/validate/reads.js';
import { withSteps } from './support/marked.js';

interface Vector {
  readonly template: string;
  readonly refs?: readonly string[];
}

const path = new URL('fixtures/go-vectors.json', import.meta.url);
const { extractReferences: vectors } = JSON.parse(readFileSync(path, 'utf8')) as {
  extractReferences: readonly Vector[];
};
const readsOf = (source: string) =>
  analyse(parseTemplate(source, { name: 'extract', functions: extraFunctions })).reads;
const show = ({ path: parts }: { readonly path: readonly string[] }) => `.${parts.join('.')}`;

describe('what a template reads', () => {
  it.each(vectors.filter(({ refs }) => refs !== undefined))(
    'of steps, in $template, is what Go sees and more',
    ({ template, refs = [] }) => {
      const plain = readsOf(template).filter((read) => read.plain && read.path[0] === 'steps');
      expect(plain.map(show).toSorted()).toEqual(refs.filter((ref) => /^\.steps\b/.test(ref)).toSorted());
    },
  );

  it.each([
    ['{{$.steps.a.output.x}}', '.steps.a.output.x'],
    ['{{(.steps.a.output).x}}', '.steps.a.output.x'],
    ['{{(.steps).a.output.x}}', '.steps.a.output.x'],
    ['{{with .steps.a}}{{.output.x}}{{end}}', '.steps.a.output.x'],
    ['{{with $v := .steps.a.output}}{{$v.x}}{{end}}', '.steps.a.output.x'],
    ['{{$v := .steps.a}}{{if true}}{{$v.output.x}}{{end}}', '.steps.a.output.x'],
    ['{{index .steps.a.output "x" "y"}}', '.steps.a.output.x.y'],
    ['{{index .steps "a-b" "output" "x"}}', '.steps.a-b.output.x'],
    ['{{(index .steps "a-b").output.x}}', '.steps.a-b.output.x'],
    ['{{range .params.list}}{{$.steps.a.output.x}}{{end}}', '.steps.a.output.x'],
    ['{{if true}}{{else}}{{json (.steps.a.output).x}}{{end}}', '.steps.a.output.x'],
  ])('is found in %s', (source, expected) => {
    expect(readsOf(source).map(show)).toContain(expected);
  });

  it('is not guessed where dot is anything', () => {
    expect(readsOf('{{range .params.list}}{{.output.x}}{{end}}').map(show)).toEqual(['.params.list']);
    expect(readsOf('{{define "t"}}{{.output.x}}{{end}}{{template "t" .steps.a}}').map(show)).toEqual(['.steps.a']);
  });
});

describe('a step that may be skipped', () => {
  const file = (reader: string, rest = 'condition: "{{true}}"'): string =>
    withSteps(`- {id: a, tool: t, ${rest}}\n- {id: b, tool: t, dependsOn: [a], ${reader}}`);
  const severities = (text: string, strictReferences = false) => {
    const { errors, warnings } = validateFile(parseFile(text), { strictReferences });
    return [...errors, ...warnings]
      .filter(({ code }) => code === 'workflow/missing-default')
      .map(({ severity }) => severity);
  };

  it.each([
    ['condition: "{{eq .steps.a.output.x `y`}}"', ['error']],
    ['arguments: {q: "{{.steps.a.output.x}}"}', ['error']],
    ['arguments: {q: "{{.steps.a.output.x.deeper}}{{.steps.a.output.x}}"}', ['error']],
    ['arguments: {q: "{{.steps.a.output}}"}', []],
    ['arguments: {q: "{{.steps.a.status}}"}', []],
    ['arguments: {q: {r: "{{.steps.a.output.x}}"}}', ['warning']],
    ['arguments: {q: "{{$.steps.a.output.x}}"}', ['warning']],
    ['arguments: {q: "{{index .steps.a.output `x`}}"}', ['warning']],
  ])('needs a default for what %s reads', (reader, expected) => {
    expect(severities(file(reader))).toEqual(expected);
    expect(severities(file(reader), true)).toEqual(expected.map(() => 'error'));
    expect(severities(file(reader, 'condition: "{{true}}", defaultResults: {x: 1}'))).toEqual([]);
  });

  it('is one whose failure is ignored, too', () => {
    const reader = 'arguments: {q: "{{.steps.a.output.x}}"}';
    expect(severities(file(reader, 'onError: {action: continue}'))).toEqual(['error']);
    expect(severities(file(reader, 'onError: {action: retry, maxRetries: 1, onExhausted: continue}'))).toEqual([
      'warning',
    ]);
    expect(severities(`failureMode: continue\n${file(reader, 'timeout: 1s')}`)).toEqual(['warning']);
    expect(severities(file(reader, 'timeout: 1s'))).toEqual([]);
  });

  it('needs a default for what the output reads', () => {
    const text = `${file('timeout: 1s')}\noutput: {properties: {o: {type: string, value: "{{.steps.a.output.x}}"}}}`;
    const [issue] = validateFile(parseFile(text)).errors;
    expect(issue?.message).toBe(
      'steps[a].defaultResults[x] is required: step "a" may be skipped and field "x" is referenced by output',
    );
  });
});
