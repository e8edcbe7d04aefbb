import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkSkillFile, parseSkill, validateSkill } from '@thv/oci-skills';
import type { SkillFileOptions } from '@thv/oci-skills';
import { helloFile, writeSkillDirectory } from './support/skills.js';

const file = (...lines: readonly string[]): string => ['---', ...lines, '---', '# Body', ''].join('\n');
const named = (...lines: readonly string[]): string => file('name: my-skill', 'description: Does it.', ...lines);
const places = (source: string | Uint8Array, options?: SkillFileOptions) => {
  const { errors, warnings } = checkSkillFile(source, options);
  return {
    errors: errors.map(({ rule, line, column }) => `${rule} ${line}:${column}`),
    warnings: warnings.map(({ rule, line, column }) => `${rule} ${line}:${column}`),
  };
};

describe('front matter', () => {
  test('texts are kept as written', () => {
    const skill = parseSkill(
      file(
        'name: 123',
        'description: yes',
        'version: 1.10',
        'license: null',
        'compatibility: "null"',
        'metadata:',
        '  a: 0x10',
        '  b: ~',
        '  c:',
      ),
    );
    expect(skill).toMatchObject({
      name: '123',
      description: 'yes',
      version: '1.10',
      license: '',
      compatibility: 'null',
      body: '# Body',
    });
    expect([...skill.metadata]).toEqual([
      ['a', '0x10'],
      ['b', ''],
      ['c', ''],
    ]);
  });

  test.each([
    ['Windows line ends', named().replaceAll('\n', '\r\n')],
    ['blank lines before', `\n\n${named()}`],
    ['dashes in a value', file('name: my-skill', 'description: a --- b')],
    ['dashes in a block', file('name: my-skill', 'description: |', '  ---', '  b')],
    ['nothing after', '---\nname: my-skill\ndescription: d\n---'],
  ])('%s are read', (_, source) => {
    expect(places(source)).toEqual({ errors: [], warnings: [] });
    expect(parseSkill(source).name).toBe('my-skill');
  });

  const faults: readonly (readonly [string, string | Uint8Array, readonly string[]])[] = [
    ['nothing', '', ['skill/front-matter-missing 1:1']],
    ['only Markdown', '# Hello\n', ['skill/front-matter-missing 1:1']],
    ['no end', '---\nname: my-skill\n', ['skill/front-matter-open 1:1']],
    ['too much', `---\nname: ${'x'.repeat(70_000)}\n---\n`, ['skill/front-matter-size 1:1']],
    ['bytes that are not UTF-8', Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff]), ['skill/encoding 1:1']],
    ['a list', file('- a'), ['skill/front-matter-mapping 2:1']],
    ['nothing inside', '---\n---\n', ['skill/front-matter-mapping 2:1']],
    ['a colon in a value', file('name: my-skill', 'description: Use when: asked'), ['skill/yaml 3:14']],
    ['a reserved character', file('name: my-skill', 'description: @team does it'), ['skill/yaml 3:14']],
    ['a tab', file('name: my-skill', 'metadata:', '\ta: b'), ['skill/yaml 4:1']],
    ['a key given twice', file('name: a1', 'name: b2'), ['skill/yaml 3:1']],
    [
      'an anchor and an alias',
      file('name: &a my-skill', 'description: *a'),
      ['skill/yaml-feature 2:10', 'skill/yaml-feature 3:14'],
    ],
    ['a tag', file('name: !!str my-skill'), ['skill/yaml-feature 2:13']],
    ['a merge key', named('<<: {a: b}'), ['skill/yaml-feature 4:1']],
    [
      'a list where a text is due',
      file('name: [a]', 'description: d'),
      ['skill/field-type 2:7', 'skill/name-required 2:7'],
    ],
    ['a mapping of tools', named('allowed-tools: {a: b}'), ['skill/list 4:16']],
    ['metadata that is a list', named('metadata: [a]'), ['skill/metadata 4:11']],
    ['metadata with a list inside', named('metadata:', '  tags:', '    - a'), ['skill/metadata 5:3']],
    [
      '101 dependencies',
      named(`toolhive.requires: [${Array.from({ length: 101 }, () => "''").join(', ')}]`),
      ['skill/requires-count 4:20'],
    ],
  ];
  test.each(faults)('%s is an error with its place', (_, source, errors) => {
    expect(places(source).errors).toEqual(errors);
    expect(() => parseSkill(source)).toThrow(expect.objectContaining({ code: 'ERR_OCI_SKILLS_INVALID_SKILL' }));
  });

  test('an unquoted colon is explained', () => {
    expect(checkSkillFile(file('name: x', 'description: Use when: asked')).errors[0]?.message).toMatch(
      /must stand in quotes/,
    );
  });

  test('nesting without end is one fault, quickly', () => {
    expect(checkSkillFile(file(`name: ${'['.repeat(60_000)}`)).errors.length).toBeLessThanOrEqual(3);
  });

  test('no text makes it throw', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc
            .array(fc.constantFrom('---', '\n', 'name:', ' ', 'a', '[', '{', '"', '&', '*', '- ', ': ', '|', '\t'))
            .map((parts) => `---\n${parts.join('')}\n---\n`),
        ),
        (source) => {
          const { skill, errors } = checkSkillFile(source);
          expect(skill !== undefined || errors.length > 0).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('fields', () => {
  test.each([
    ['a', ['skill/name-length 2:7']],
    ['a'.repeat(65), ['skill/name-length 2:7']],
    ['My-Skill', ['skill/name-format 2:7']],
    ['-a', ['skill/name-format 2:7']],
    ['a-', ['skill/name-format 2:7']],
    ['a--b', ['skill/name-hyphens 2:7']],
    ['ab', []],
    ['a'.repeat(64), []],
  ])('the name %s', (name, errors) => {
    expect(places(file(`name: ${name}`, 'description: d')).errors).toEqual(errors);
  });

  test('lengths count characters, and bytes give a warning', () => {
    const text = (length: number): string => file('name: my-skill', `description: ${'é'.repeat(length)}`);
    expect(places(text(1024))).toEqual({ errors: [], warnings: ['skill/description-bytes 3:14'] });
    expect(places(text(1025)).errors).toEqual(['skill/description-length 3:14']);
    expect(places(named(`compatibility: ${'x'.repeat(501)}`)).errors).toEqual(['skill/compatibility-length 4:16']);
    expect(places(file('name: my-skill', 'description: "  "')).errors).toEqual(['skill/description-required 3:14']);
  });

  const lists: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['Read Grep  Glob', ['Read', 'Grep', 'Glob'], ['Read', 'Grep', 'Glob']],
    ['Read, Grep,, Glob', ['Read', 'Grep', 'Glob'], ['Read', 'Grep', 'Glob']],
    ['Read,Glob Grep', ['Read', 'Glob Grep'], ['Read', 'Glob Grep']],
    ['Bash(git add:*) Read', ['Bash(git add:*)', 'Read'], ['Bash(git', 'add:*)', 'Read']],
    ['Bash(a, b), Read', ['Bash(a, b)', 'Read'], ['Bash(a', 'b)', 'Read']],
    ['Bash(a Read', ['Bash(a', 'Read'], ['Bash(a', 'Read']],
    ['""', [], []],
    ['[" a ", ""]', [' a ', ''], [' a ', '']],
  ];
  test.each(lists)('the tools %s', (text, tools, plain) => {
    expect(parseSkill(named(`allowed-tools: ${text}`)).allowedTools).toEqual(tools);
    expect(parseSkill(named(`allowed-tools: ${text}`), { toolSplitting: 'plain' }).allowedTools).toEqual(plain);
  });

  test('dependencies come from the field first, then from metadata', () => {
    const metadata = ['metadata:', '  toolhive.requires: |', '    one', '', '    two'];
    expect(parseSkill(named(...metadata)).requires).toEqual([{ reference: 'one' }, { reference: 'two' }]);
    expect(parseSkill(named('toolhive.requires: ["three", ""]', ...metadata)).requires).toEqual([
      { reference: 'three' },
    ]);
  });

  test('warnings do not make a skill invalid', () => {
    expect(
      places(`\u{feff}${named('allowed-tools: Read, Grep', 'allowed_tools: x', 'model: fast')}${'line\n'.repeat(500)}`),
    ).toEqual({
      errors: [],
      warnings: [
        'skill/byte-order-mark 1:1',
        'skill/unknown-field 5:1',
        'skill/allowed-tools-commas 4:16',
        'skill/length 501:1',
      ],
    });
  });

  test('strict mode names the fields that the specification does not know', () => {
    const source = named('version: "1"', 'model: fast', 'toolhive.requires: a');
    expect(places(source).errors).toEqual([]);
    expect(places(source, { strict: true }).errors).toEqual([
      'skill/unknown-field 4:1',
      'skill/unknown-field 5:1',
      'skill/unknown-field 6:1',
    ]);
  });
});

describe('directories', () => {
  test('a good one is valid', async () => {
    const { valid, skill, errors, warnings } = await validateSkill(await writeSkillDirectory());
    expect({ valid, name: skill?.name, errors, warnings }).toEqual({
      valid: true,
      name: 'hello-skill',
      errors: [],
      warnings: [],
    });
  });

  test.each([
    ['without SKILL.md', 'hello-skill', { 'README.md': 'x' }, ['skill/missing']],
    ['with a small skill.md', 'hello-skill', { 'skill.md': helloFile }, ['skill/missing']],
    ['with another name', 'other', { 'SKILL.md': helloFile }, ['skill/name-directory']],
    ['with a device name', 'hello-skill', { 'SKILL.md': helloFile, 'aux.md': 'x' }, ['skill/file-name']],
    [
      'with names that fall together',
      'hello-skill',
      { 'SKILL.md': helloFile, 'A.md': 'x', 'a.md': 'x' },
      ['skill/file-collision'],
    ],
  ] as const)('one %s is not', async (_, name, files, rules) => {
    const { valid, errors } = await validateSkill(await writeSkillDirectory(name, files));
    expect({ valid, rules: errors.map(({ rule }) => rule) }).toEqual({ valid: false, rules });
  });

  test('links, also dangling ones, are errors', async () => {
    const directory = await writeSkillDirectory();
    await symlink('nowhere', join(directory, 'dangling'));
    await symlink('refs', join(directory, 'linked'));
    expect((await validateSkill(directory)).errors.map(({ rule, file: path }) => [rule, path])).toEqual([
      ['skill/symlink', 'dangling'],
      ['skill/symlink', 'linked'],
    ]);
  });

  test('a broken front matter hides no other fault, and a repeated field says where it stood first', async () => {
    const directory = await writeSkillDirectory('hello-skill', { 'SKILL.md': '---\nname: a\nname: b\n---\n' });
    await symlink('nowhere', join(directory, 'dangling'));
    const { errors } = await validateSkill(directory);
    expect(errors.map(({ rule }) => rule)).toEqual(['skill/yaml', 'skill/symlink']);
    expect(errors[0]).toMatchObject({ line: 3, message: expect.stringContaining('first in line 2') as string });
  });

  test('a relative path and a missing directory are no verdicts', async () => {
    await expect(validateSkill('hello-skill')).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_ARGUMENT' });
    await expect(validateSkill('/nonexistent/hello-skill')).rejects.toMatchObject({
      code: 'ERR_OCI_SKILLS_SKILL_MISSING',
    });
    const reason = new Error('enough');
    await expect(validateSkill('/tmp', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
