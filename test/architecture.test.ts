import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { sourceFiles } from './support/files.js';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Who may import whom; an arrow that is missing here is refused. The picture is in docs/architecture.md. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  transport: [],
  dispatcher: ['transport'],
  mrtr: [],
  'go-template': [],
  'workflow-dag': ['go-template'],
  'oci-skills': [],
  'skills-lock': ['oci-skills'],
  auth: [],
  middleware: ['transport', 'auth'],
  gateway: ['transport', 'dispatcher', 'middleware', 'mrtr'],
  workloads: ['transport', 'dispatcher', 'gateway', 'auth'],
  vmcp: ['transport', 'dispatcher', 'gateway', 'mrtr', 'workflow-dag'],
};

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(`${root}${path}`, 'utf8'));
const manifestOf = (folder: string) => readJson(`${folder}/package.json`) as Manifest;
const internal = (manifest: Manifest) =>
  Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    .filter((name) => name.startsWith('@thv/'))
    .map((name) => name.slice('@thv/'.length))
    .toSorted();
const referencesOf = (folder: string) =>
  ((readJson(`${folder}/tsconfig.json`) as { references?: readonly { path: string }[] }).references ?? [])
    .map(({ path }) => path.split('/').at(-1) ?? '')
    .toSorted();
const packages = readdirSync(`${root}packages`);
const apps = readdirSync(`${root}apps`);

describe('the packages', () => {
  it.each(packages)('%s imports only what its arrows allow', (name) => {
    const allowed = arrows[name];
    expect(allowed, `"${name}" has no row in the table of arrows`).toBeDefined();
    for (const imported of internal(manifestOf(`packages/${name}`))) expect(allowed).toContain(imported);
  });

  it.each([...packages.map((name) => `packages/${name}`), ...apps.map((name) => `apps/${name}`)])(
    '%s references in tsconfig.json what package.json depends on',
    (folder) => {
      expect(referencesOf(folder)).toEqual(internal(manifestOf(folder)));
    },
  );

  it.each([...packages.map((name) => `packages/${name}`), ...apps.map((name) => `apps/${name}`)])(
    '%s imports no package of the workspace that its manifest does not name',
    (folder) => {
      const named = new Set(internal(manifestOf(folder)));
      for (const path of sourceFiles(`${root}${folder}/src`)) {
        for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(/(?:from|import\()\s*'@thv\/([a-z-]+)/g)) {
          expect(named, `${path} imports @thv/${name}`).toContain(name);
        }
      }
    },
  );

  it('are all referenced by the root project', () => {
    const { references } = readJson('tsconfig.json') as { references: readonly { path: string }[] };
    expect(references.map(({ path }) => path).toSorted()).toEqual(
      [...packages.map((name) => `packages/${name}`), ...apps.map((name) => `apps/${name}`)].toSorted(),
    );
  });

  it.each(packages)('%s has a README, sources with an index, and tests', (name) => {
    for (const part of ['README.md', 'package.json', 'tsconfig.json', 'src/index.ts', 'test']) {
      expect(existsSync(`${root}packages/${name}/${part}`), `packages/${name}/${part}`).toBe(true);
    }
  });
});

describe('the sources', () => {
  const libraries = packages.flatMap((name) => sourceFiles(`${root}packages/${name}/src`));
  const all = [...libraries, ...apps.flatMap((name) => sourceFiles(`${root}apps/${name}/src`))];

  it('keep files at 400 lines or fewer', () => {
    const long = all.filter((path) => readFileSync(path, 'utf8').split('\n').length > 401);
    expect(long).toEqual([]);
  });

  it('use named exports alone, listed one by one', () => {
    const offenders = all.filter((path) => /^export (?:default|\* )/m.test(readFileSync(path, 'utf8')));
    expect(offenders).toEqual([]);
  });

  it('read no environment variable and print nothing in a library', () => {
    const offenders = libraries.filter((path) => /\bprocess\.env\b|\bconsole\./.test(stripComments(path)));
    expect(offenders).toEqual([]);
  });
});

function stripComments(path: string): string {
  return readFileSync(path, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '');
}
