import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { sourceFiles } from './support/files.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const table = readFileSync(`${root}docs/errors.md`, 'utf8');
const sectionOf = (name: string) => table.split(`\n## @thv/${name}\n`)[1]?.split('\n## ')[0] ?? '';
const codesIn = (text: string) => [...new Set(text.match(/\bERR_[A-Z][A-Z0-9_]*[A-Z0-9]\b/g) ?? [])].toSorted();

const owners = ['packages', 'apps'].flatMap((parent) =>
  readdirSync(`${root}${parent}`).map((name) => ({ parent, name })),
);

describe('docs/errors.md', () => {
  it.each(owners)('lists every code that $name declares, and no other', ({ parent, name }) => {
    const declared = sourceFiles(`${root}${parent}/${name}/src`)
      .filter((path) => path.endsWith('/errors.ts'))
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n');
    const documented = codesIn(
      sectionOf(name)
        .split('\n')
        .filter((line) => line.startsWith('| `'))
        .map((line) => line.split('|')[1] ?? '')
        .join('\n'),
    );
    expect(documented).toEqual(codesIn(declared));
  });

  it.each(owners)('names no code of $name that no test mentions', ({ parent, name }) => {
    const tests = sourceFiles(`${root}${parent}/${name}/test`)
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n');
    const declared = sourceFiles(`${root}${parent}/${name}/src`)
      .filter((path) => path.endsWith('/errors.ts'))
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n');
    const tested = codesIn(tests);
    for (const code of codesIn(declared)) expect(tested, `no test in ${parent}/${name} names ${code}`).toContain(code);
  });

  it('gives a meaning and a remedy for every code', () => {
    for (const line of table.split('\n').filter((row) => row.startsWith('| `ERR_'))) {
      const [, , meaning = '', remedy = ''] = line.split('|').map((cell) => cell.trim());
      expect(meaning, line).not.toBe('');
      expect(remedy, line).not.toBe('');
    }
  });
});
