import { describe, expect, it } from 'vitest';
import { parseFile, validateFile } from '../src/index.js';
import { broken } from './support/broken-definitions.js';
import { doubtful } from './support/doubtful-definitions.js';
import { marked, withSteps } from './support/marked.js';

describe('a broken definition', () => {
  it.each(broken.map(([rule, file, ...rest]) => [rule, ...rest, file] as const))(
    'is told about %s at its place: %s',
    (rule, message, remedy, file) => {
      const { source, line, column } = marked(file);
      const { errors, ok } = validateFile(parseFile(source));
      expect(ok).toBe(false);
      const found = errors.find((issue) => issue.message === message);
      expect(found, JSON.stringify(errors, undefined, 1)).toBeDefined();
      expect({ rule: found?.code, line: found?.line, column: found?.column }).toEqual({ rule, line, column });
      expect(found?.hint).toMatch(/./);
      expect(found?.hint).toContain(remedy);
    },
  );

  it('is told all its problems at once, in the order of the file', () => {
    const { errors } = validateFile(
      parseFile(withSteps('- {id: a, tool: "a b", dependsOn: [nowhere]}\n- {id: a, type: elicitation, timeout: 1}')),
    );
    expect(errors.map(({ code }) => code).toSorted()).toEqual([
      'workflow/duplicate-step',
      'workflow/duration',
      'workflow/required',
      'workflow/schema',
      'workflow/tool',
      'workflow/unknown-dependency',
    ]);
    const lines = errors.map(({ line }) => line ?? 0);
    expect(lines).toEqual(lines.toSorted((a, b) => a - b));
  });
});

describe('what is wrong once', () => {
  it.each([
    [
      'a type that JSON Schema does not have',
      `${withSteps('- {id: a, tool: b.c}')}parameters: {type: object, properties: {a: {type: strng}}}\n`,
      1,
    ],
    ['a text that is no YAML', '# Title\n\nText: with: colons\n- and a list\n```\ncode: [\n```\n'.repeat(5), 3],
  ])('is not told many times: %s', (_, source, count) => {
    expect(validateFile(parseFile(source)).errors).toHaveLength(count);
  });
});

describe('a doubtful definition', () => {
  it.each(doubtful.map(([rule, file, message]) => [rule, message, file] as const))(
    'is warned about %s at its place: %s',
    (rule, message, file) => {
      const { source, line, column } = marked(file);
      const { warnings: found, errors } = validateFile(parseFile(source));
      expect(errors).toEqual([]);
      const warning = found.find((issue) => issue.message === message);
      expect(warning, JSON.stringify(found, undefined, 1)).toBeDefined();
      expect({ rule: warning?.code, line: warning?.line, column: warning?.column }).toEqual({ rule, line, column });
      expect(warning?.hint).toBeTypeOf('string');
    },
  );
});
