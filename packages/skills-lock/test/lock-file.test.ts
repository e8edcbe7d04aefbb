import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findEntry, putEntry, removeEntry } from '../src/lock/edit.js';
import { readLock, updateLock } from '../src/lock/file.js';
import { emptyLock, parseLock } from '../src/lock/parse.js';
import { serialiseLock } from '../src/lock/serialise.js';
import type { LockEntry } from '../src/lock/types.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const references = {
  kindOf(reference: string): 'oci' | 'git' {
    if (reference.startsWith('git://')) return 'git';
    if (/^[\w.:-]+\/[\w./-]+[:@]/.test(reference)) return 'oci';
    throw new Error('is neither a git nor a full OCI reference');
  },
};
const parse = (text: string) => parseLock(text, { path: 'toolhive.lock.yaml', references });
const entry = (name: string, more: Partial<LockEntry> = {}): LockEntry => ({
  name,
  source: name,
  digest: DIGEST,
  ...more,
});
const publicKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .publicKey.export({ format: 'der', type: 'spki' })
  .toString('base64');

const yaml = (lines: string) =>
  `version: 1\nskills:\n  - name: demo\n    source: demo\n    digest: ${DIGEST}\n${lines}`;

describe('a lock file', () => {
  it('reads what it writes, and writes the same bytes again', () => {
    const text = serialiseLock({
      ...emptyLock(),
      skills: [
        entry('zeta', { requiredBy: ['alpha'], version: '1.0', contentDigest: DIGEST }),
        entry('alpha', { explicit: true, provenance: { publicKey }, resolvedReference: 'ghcr.io/acme/alpha:1.0' }),
      ],
    });
    expect(parse(text).skills.map(({ name }) => name)).toEqual(['alpha', 'zeta']);
    expect(serialiseLock(parse(text))).toBe(text);
  });

  it('keeps digits that look like a number as text', () => {
    const commit = '1234567890'.repeat(4);
    const text = serialiseLock({ ...emptyLock(), skills: [entry('demo', { digest: commit, version: '1.10' })] });
    expect(parse(text).skills[0]).toMatchObject({ digest: commit, version: '1.10' });
  });

  it('keeps keys that it does not know, and drops those of an entry that is replaced', () => {
    const lock = parse(`${yaml('    later: {deep: [1, x]}\n')}future: value\n`);
    expect(serialiseLock(lock)).toMatch(/future: value/);
    expect(serialiseLock(putEntry(lock, entry('other')))).toMatch(/later:/);
    expect(serialiseLock(putEntry(lock, entry('demo')))).not.toMatch(/later:/);
  });

  it('validates and keeps plugins as a list of its own', () => {
    const text = `version: 1\nplugins:\n  - name: demo\n    source: demo\n    digest: ${DIGEST}\n`;
    expect(parse(`${yaml('')}${text.replace('version: 1\n', '')}`).plugins).toHaveLength(1);
    expect(() => parse(text.replace(DIGEST, 'nonsense'))).toThrow(/plugins|demo/);
  });

  it.each([
    ['no mapping', '- a', /must be a mapping/],
    ['a duplicate key', 'version: 1\nversion: 1\n', /:2:1: /],
    ['broken YAML', 'version: [1\n', /toolhive\.lock\.yaml:\d+:\d+/],
    ['an alias', `${yaml('')}x: &a 1\ny: *a\n`, /aliases are not allowed/],
    ['a name twice', `${yaml('')}  - name: demo\n    source: x\n    digest: ${DIGEST}\n`, /listed twice/],
    ['a bad name', yaml('').replace('name: demo', 'name: De_mo'), /is no skill name/],
    ['no source', yaml('').replace('source: demo', "source: ''"), /source is required/],
    ['a short digest', yaml('').replace(DIGEST, 'sha256:abc'), /5:13: .*neither sha256/],
    ['an upper-case digest', yaml('').replace(DIGEST, DIGEST.toUpperCase()), /neither sha256/],
    ['a content digest that is a commit', yaml(`    contentDigest: ${'a'.repeat(40)}\n`), /contentDigest/],
    ['a reference with a space', yaml('    resolvedReference: "ghcr.io/a/b:1 "\n'), /resolvedReference must be/],
    ['a reference that is none', yaml('    resolvedReference: nonsense\n'), /neither a git nor/],
    ['a registry digest for git', yaml('    resolvedReference: git://h/o/r@v1\n'), /does not fit/],
    [
      'unsigned and signed',
      yaml('    unsigned: true\n    provenance: {signerIdentity: a, certIssuer: b}\n'),
      /cannot stand beside/,
    ],
    ['a provenance without issuer', yaml('    provenance: {signerIdentity: a}\n'), /certIssuer is required/],
    ['an empty provenance', yaml('    provenance: {}\n'), /signerIdentity is required/],
    [
      'a key beside an identity',
      yaml(`    provenance: {publicKey: ${publicKey}, certIssuer: b}\n`),
      /carries no certificate/,
    ],
    ['a key that is none', yaml('    provenance: {publicKey: AAAA}\n'), /not the base64 text/],
    ['an identity with a space', yaml('    provenance: {signerIdentity: a b, certIssuer: c}\n'), /visible characters/],
    [
      'an identity with a bidi mark',
      yaml('    provenance: {signerIdentity: "a\u202Eb", certIssuer: c}\n'),
      /visible characters/,
    ],
    ['a parent that is itself', yaml('    requiredBy: [demo]\n'), /names the entry itself/],
    ['a parent that is missing', yaml('    requiredBy: [ghost]\n'), /"ghost" is not in/],
    ['a flag that is no boolean', yaml('    explicit: maybe\n'), /must be true or false/],
    [
      'a circle',
      `version: 1\nskills:\n${['aa', 'bb'].map((name, index) => `  - {name: ${name}, source: s, digest: "${DIGEST}", requiredBy: [${['bb', 'aa'][index]}]}\n`).join('')}`,
      /runs in a circle: aa -> bb -> aa/,
    ],
  ])('refuses %s with its place', (_, text, message) => {
    const read = () => parse(text);
    expect(read).toThrow(message);
    expect(read).toThrow(expect.objectContaining({ code: 'ERR_SKILLS_LOCK_FILE' }) as Error);
  });

  it('refuses a later version as such', () => {
    expect(() => parse('version: 2\nskills: nonsense\n')).toThrow(
      expect.objectContaining({ code: 'ERR_SKILLS_LOCK_VERSION' }) as Error,
    );
  });

  it('lists all problems at once', () => {
    try {
      parse(yaml('    contentDigest: x\n').replace(DIGEST, 'y'));
      expect.unreachable();
    } catch (error) {
      expect((error as { details: { problems: unknown[] } }).details.problems).toHaveLength(2);
    }
  });

  it('never crashes on text that is no lock file', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        try {
          parse(text);
        } catch (error) {
          expect(String((error as { code: string }).code)).toMatch(/^ERR_SKILLS_LOCK_(FILE|VERSION)$/);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('survives any source and version that it accepts', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), fc.string({ maxLength: 20 }), (source, version) => {
        const text = serialiseLock({ ...emptyLock(), skills: [entry('demo', { source, version })] });
        let read;
        try {
          read = parse(text);
        } catch {
          return;
        }
        expect(read.skills[0]?.source).toBe(source);
        expect(read.skills[0]?.version ?? '').toBe(version);
      }),
      { numRuns: 500 },
    );
  });
});

describe('removing an entry', () => {
  const lock = {
    ...emptyLock(),
    skills: [
      entry('top', { explicit: true }),
      entry('leaf', { requiredBy: ['middle'] }),
      entry('middle', { requiredBy: ['top'] }),
      entry('wanted', { requiredBy: ['top'], explicit: true }),
      entry('shared', { requiredBy: ['other', 'top'] }),
      entry('other', { explicit: true }),
    ],
  };

  it('takes along what was there only for it', () => {
    const { lock: left, gone } = removeEntry(lock, 'top');
    expect(gone.toSorted()).toEqual(['leaf', 'middle', 'top']);
    expect(left.skills.map(({ name }) => name).toSorted()).toEqual(['other', 'shared', 'wanted']);
    expect(findEntry(left, 'shared')?.requiredBy).toEqual(['other']);
    expect(findEntry(left, 'wanted')).not.toHaveProperty('requiredBy');
  });

  it('answers the same lock for a name that is not there', () => {
    expect(removeEntry(lock, 'ghost').lock).toBe(lock);
  });
});

describe('the file of a project', () => {
  let root = '';
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'thv-lock-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));
  const path = () => join(root, 'toolhive.lock.yaml');

  it('is an empty lock where it is missing', async () => {
    expect((await readLock(root, { references })).skills).toEqual([]);
  });

  it('stays untouched when the change throws or changes nothing', async () => {
    await updateLock(root, (lock) => putEntry(lock, entry('demo')), { references });
    const before = readFileSync(path(), 'utf8');
    await expect(updateLock(root, () => Promise.reject(new Error('no')), { references })).rejects.toThrow('no');
    await updateLock(root, (lock) => lock, { references });
    expect(readFileSync(path(), 'utf8')).toBe(before);
  });

  it('stays untouched when the new lock breaks a rule', async () => {
    await updateLock(root, (lock) => putEntry(lock, entry('demo')), { references });
    const before = readFileSync(path(), 'utf8');
    await expect(
      updateLock(root, (lock) => putEntry(lock, entry('demo', { digest: 'x' })), { references }),
    ).rejects.toMatchObject({ code: 'ERR_SKILLS_LOCK_FILE' });
    expect(readFileSync(path(), 'utf8')).toBe(before);
    expect(readdirSync(root)).toEqual(['toolhive.lock.yaml']);
  });

  it('is not read through a link', async () => {
    writeFileSync(join(root, 'elsewhere'), 'version: 1\n');
    symlinkSync(join(root, 'elsewhere'), path());
    await expect(readLock(root, { references })).rejects.toMatchObject({ code: 'ERR_SKILLS_LOCK_FILE' });
  });

  it('reports a folder that cannot be written', async () => {
    const missing = join(root, 'missing');
    await expect(updateLock(missing, (lock) => putEntry(lock, entry('demo')), { references })).rejects.toMatchObject({
      code: 'ERR_SKILLS_LOCK_WRITE',
    });
  });

  it('loses no entry when many change it at once', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `skill-${index}`);
    await Promise.all(
      names.map((name) =>
        updateLock(root, (lock) => putEntry(lock, entry(name)), { references, pollMs: 1, timeoutMs: 20_000 }),
      ),
    );
    expect((await readLock(root, { references })).skills.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
  });

  it('takes the lock over from a process that is gone, and waits for one that lives', async () => {
    const dead = { pid: 2 ** 22 + 1, host: (await import('node:os')).hostname(), nonce: 'x', started: '1' };
    writeFileSync(`${path()}.lock`, JSON.stringify(dead));
    await updateLock(root, (lock) => putEntry(lock, entry('demo')), { references });
    writeFileSync(`${path()}.lock`, JSON.stringify({ ...dead, pid: process.pid, started: '' }));
    await expect(
      updateLock(root, (lock) => putEntry(lock, entry('other')), { references, timeoutMs: 60, pollMs: 10 }),
    ).rejects.toMatchObject({ code: 'ERR_SKILLS_LOCK_BUSY' });
  });
});
