import { readFileSync } from 'node:fs';
import { format } from 'node:util';
import * as goTemplate from '@thv/go-template';
import { describe, expect, it } from 'vitest';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const examples = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code);

describe('README.md', () => {
  it('has examples', () => {
    expect(examples.length).toBeGreaterThanOrEqual(3);
  });

  it.each(examples)('shows what its example prints: %#', (code) => {
    const imported = /import \{ (.+) \} from '@thv\/go-template';\n/.exec(code);
    expect(imported).not.toBeNull();
    const names = (imported?.[1] ?? '').split(', ');
    const printed: string[] = [];
    const log = (...values: unknown[]): void => void printed.push(format(...values));
    const body = code.replace(imported?.[0] ?? '', '');
    const run = new Function('console', ...names, body) as (...args: readonly unknown[]) => void;
    const exported: Readonly<Record<string, unknown>> = { ...goTemplate };
    for (const name of names) expect(exported).toHaveProperty(name);
    run({ log }, ...names.map((name) => exported[name]));
    expect(printed).toEqual([...code.matchAll(/console\.log\(.*\/\/ → (.*)$/gm)].map(([, text]) => text));
  });

  it('lists every code', () => {
    const codes = readFileSync(new URL('../src/errors.ts', import.meta.url), 'utf8').match(/ERR_GO_TEMPLATE_[A-Z]+/g);
    for (const code of new Set(codes)) expect(readme).toContain(`\`${code}\``);
  });
});
