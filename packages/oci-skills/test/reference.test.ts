import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  OciSkillsError,
  chooseBuildTag,
  formatReference,
  isPrivateAddress,
  isReference,
  isUnambiguousReference,
  parseReference,
  resolvePublicHost,
} from '@thv/oci-skills';

const hex = 'a'.repeat(64);

describe('references', () => {
  test.each([
    ['hello', 'index.docker.io', 'library/hello', 'latest', '', 'index.docker.io/library/hello:latest'],
    ['org/hello:1', 'index.docker.io', 'org/hello', '1', '', 'index.docker.io/org/hello:1'],
    ['docker.io/org/hello', 'index.docker.io', 'org/hello', 'latest', '', 'index.docker.io/org/hello:latest'],
    ['ghcr.io/a/b/hello:1.0.0', 'ghcr.io', 'a/b/hello', '1.0.0', '', 'ghcr.io/a/b/hello:1.0.0'],
    ['localhost/hello', 'localhost', 'hello', 'latest', '', 'localhost/hello:latest'],
    ['localhost:5000/hello', 'localhost:5000', 'hello', 'latest', '', 'localhost:5000/hello:latest'],
    ['[::1]:5000/hello:v1', '[::1]:5000', 'hello', 'v1', '', '[::1]:5000/hello:v1'],
    [`ghcr.io/a/hello@sha256:${hex}`, 'ghcr.io', 'a/hello', '', `sha256:${hex}`, `ghcr.io/a/hello@sha256:${hex}`],
    [`ghcr.io/a/hello:1@sha256:${hex}`, 'ghcr.io', 'a/hello', '1', `sha256:${hex}`, `ghcr.io/a/hello:1@sha256:${hex}`],
  ])('%s', (text, registry, repository, tag, digest, canonical) => {
    const reference = parseReference(text);
    expect(reference).toMatchObject({ source: text, registry, repository, name: 'hello', tag, digest });
    expect(formatReference(reference)).toBe(canonical);
    expect(formatReference(parseReference(canonical))).toBe(canonical);
  });

  test.each([
    '',
    'Hello',
    'a//b',
    'ghcr.io/',
    'ghcr.io/a:',
    'ghcr.io/a:-x',
    'ghcr.io/a@sha256:abc',
    `a@sha512:${hex}`,
    `a@sha256:${hex.toUpperCase()}`,
    'https://ghcr.io/a',
    'ghcr.io:99999/a',
    'a/../b',
    'a b',
    '-a.b/c',
    'a\n',
    `a/${'b'.repeat(300)}`,
    'user@host.io/a',
  ])('%j is none', (text) => {
    expect(() => parseReference(text)).toThrow(expect.objectContaining({ code: 'ERR_OCI_SKILLS_REFERENCE' }));
  });

  test('strict mode demands a tag or a digest', () => {
    expect(() => parseReference('ghcr.io/a/b', { mode: 'strict' })).toThrow(/neither a tag nor a digest/);
    expect(parseReference('ghcr.io/a/b:1', { mode: 'strict' }).tag).toBe('1');
  });

  test('what is printed is parsed to the same', () => {
    const part = fc.stringMatching(/^[a-z0-9]{1,8}((\.|_|__|-{1,2})[a-z0-9]{1,5}){0,2}$/);
    const registry = fc.constantFrom('ghcr.io', 'localhost:5000', 'registry.example:443', '127.0.0.1:80');
    const tag = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,20}$/);
    fc.assert(
      fc.property(registry, fc.array(part, { minLength: 1, maxLength: 4 }), tag, (host, parts, name) => {
        const text = `${host}/${parts.join('/')}:${name}`;
        expect(formatReference(parseReference(text))).toBe(text);
      }),
    );
  });

  test('no text throws anything else', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        try {
          parseReference(text);
        } catch (error) {
          expect(OciSkillsError.is(error)).toBe(true);
        }
      }),
    );
  });

  test.each([
    ['hello', false, false],
    ['org/hello', true, false],
    ['org/hello:1', true, true],
    ['a/b/c', true, true],
    ['hello@x', true, true],
  ])('%s is a reference %s, beyond doubt %s', (text, is, beyond) => {
    expect([isReference(text), isUnambiguousReference(text)]).toEqual([is, beyond]);
  });

  test('build tags', () => {
    expect(chooseBuildTag({ name: 'hello' })).toBe('hello');
    expect(chooseBuildTag({ name: 'hello', tag: 'v1' })).toBe('v1');
    expect(chooseBuildTag({ tag: 'ghcr.io/a/hello:1' })).toBe('ghcr.io/a/hello:1');
    expect(chooseBuildTag({})).toBe('');
    for (const tag of ['-x', 'ghcr.io/a/hello', 'a b', 'x'.repeat(129)])
      expect(() => chooseBuildTag({ tag })).toThrow(expect.objectContaining({ code: 'ERR_OCI_SKILLS_REFERENCE' }));
  });
});

describe('hosts', () => {
  const privates = [
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '192.168.1.1',
    '192.0.2.1',
    '198.51.100.1',
    '203.0.113.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fc00::1',
    '::ffff:10.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '2002:7f00:1::',
    '2001::1',
    '2001:db8::1',
    'ff02::1',
    'example.com',
  ];
  test.each(privates)('%s is private', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });
  test.each(['93.184.216.34', '2606:4700::1111', '64:ff9b::5db8:d822', '2002:5db8:d822::'])(
    '%s is public',
    (address) => {
      expect(isPrivateAddress(address)).toBe(false);
    },
  );

  test.each([
    '0x7f000001',
    '2130706433',
    '127.1',
    '0177.0.0.1',
    '',
    '[::ffff:127.0.0.1]:443',
    'localhost.',
    'a.localhost',
    '10.0.0.1:8080',
  ])('%j is refused', async (host) => {
    await expect(resolvePublicHost(host, { lookup: async () => [] })).rejects.toMatchObject({
      code: 'ERR_OCI_SKILLS_HOST',
    });
  });

  test('every address of a name counts', async () => {
    const lookup = async () => [
      { address: '93.184.216.34', family: 4 as const },
      { address: 'fd00::1', family: 6 as const },
    ];
    await expect(resolvePublicHost('example.com', { lookup })).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_HOST' });
    expect(await resolvePublicHost('example.com', { lookup, allowPrivateHosts: true })).toHaveLength(2);
    await expect(
      resolvePublicHost('example.com', { lookup: async () => Promise.reject(new Error('ENOTFOUND')) }),
    ).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_REGISTRY' });
    expect(await resolvePublicHost('127.0.0.1:5000', { allowLoopback: true })).toEqual([
      { address: '127.0.0.1', family: 4 },
    ]);
  });
});
