import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');

it('every rule stands in the README, and is reported by a test', () => {
  const declared = [...read('../src/issue.ts').matchAll(/'workflow\/([a-z-]+)'/g)].map(([, name = '']) => name);
  const table = read('../README.md')
    .split('\n')
    .filter((line) => line.startsWith('| `workflow/'));
  const described = table.flatMap((line) =>
    [...(line.split('|')[1] ?? '').matchAll(/`(?:workflow\/)?([a-z-]+)`/g)].map(([, name = '']) => name),
  );
  expect(described.toSorted()).toEqual(declared.toSorted());
  const tested = read('support/broken-definitions.ts') + read('support/doubtful-definitions.ts');
  for (const name of declared) expect(tested, `no test reports workflow/${name}`).toContain(`'workflow/${name}'`);
});
