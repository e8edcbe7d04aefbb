import { createHash } from 'node:crypto';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { extract } from 'tar-stream';
import { describe, expect, test } from 'vitest';
import { contentDigest, directoryDigest, packSkill, readLayer } from '@thv/oci-skills';
import { helloFile, writeSkillDirectory } from './support/skills.js';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
const diffId = 'sha256:984109c86e43905c1476f11585ea624aff848b2ba3397f2037b1094803d1f0d4';

/** Bytes that look random but are the same everywhere. */
function noise(length: number, seed: string): Buffer {
  return createHash('shake256', { outputLength: length }).update(seed).digest();
}

describe('the worked example', () => {
  test('archive, configs and content have the known digests', async () => {
    const packed = await packSkill(await writeSkillDirectory());
    expect(packed.diffId).toBe(diffId);
    expect(packed.configs.map(({ size, digest }) => [size, digest])).toEqual([
      [575, 'sha256:f44c3f297cd421574e9e22eeffa16e21c775e9327de64888a5f5f747f668c7b7'],
      [575, 'sha256:a3f313415c66ba6474fd5a86721338ae4bc61c0b4a555c1594880df9a9106d64'],
    ]);
    expect(packed.contentDigest).toBe('sha256:bce5f671a5be528631f5557bf2bf8e36fd529f7a4f89c243a577284f14abc8ac');
    expect([packed.manifests[0]?.size, packed.index.size]).toEqual([706, 732]);
    expect(`sha256:${createHash('sha256').update(gunzipSync(packed.layer.bytes)).digest('hex')}`).toBe(diffId);
  });

  test('objects are compact JSON with their keys in the known order', async () => {
    const { index, manifests, configs, layer } = await packSkill(await writeSkillDirectory());
    const annotations =
      '{"dev.toolhive.skills.description":"Says hello.","dev.toolhive.skills.name":"hello-skill","dev.toolhive.skills.version":"1.0.0","org.opencontainers.image.created":"1970-01-01T00:00:00Z"}';
    expect(text(configs[0]?.bytes ?? new Uint8Array())).toBe(
      `{"created":"1970-01-01T00:00:00Z","architecture":"amd64","os":"linux","config":{"Labels":{"dev.toolhive.skills.allowedTools":"[\\"Read\\",\\"Grep\\"]","dev.toolhive.skills.description":"Says hello.","dev.toolhive.skills.files":"[\\"SKILL.md\\",\\"refs/guide.md\\"]","dev.toolhive.skills.license":"Apache-2.0","dev.toolhive.skills.name":"hello-skill","dev.toolhive.skills.version":"1.0.0"}},"rootfs":{"type":"layers","diff_ids":["${diffId}"]},"history":[{"created":"1970-01-01T00:00:00Z","created_by":"toolhive package"}]}`,
    );
    expect(text(manifests[0]?.bytes ?? new Uint8Array())).toBe(
      `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","artifactType":"dev.toolhive.skills.v1","config":{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"${configs[0]?.digest}","size":575},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"${layer.digest}","size":${layer.size},"annotations":{"org.opencontainers.image.title":"skill.tar.gz"}}],"annotations":${annotations}}`,
    );
    expect(text(index.bytes)).toMatch(
      /"manifests":\[\{"mediaType":"[^"]+","digest":"[^"]+","size":706,"platform":\{"architecture":"amd64","os":"linux"\}\},/,
    );
  });

  test('the compressed layer has the same bytes on every Node version', async () => {
    const { layer } = await packSkill(await writeSkillDirectory());
    expect([...layer.bytes.subarray(0, 10)]).toEqual([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff]);
    expect(layer.digest).toBe('sha256:b0f6ba14e3baf31295fa1b116f89d831db4feb078525c02b0f1ccaa11b875591');
  });

  test('a mixture of text and noise has the same bytes on every Node version', async () => {
    const words = Array.from({ length: 20_000 }, (_, index) => `word${(index * index * 31) % 997}`).join(' ');
    const files = {
      'SKILL.md': helloFile,
      'a.bin': noise(100_000, 'a'),
      'b.txt': words,
      'c.bin': noise(33_333, 'c'),
      'd.txt': words.slice(0, 50_000),
    };
    const { layer } = await packSkill(await writeSkillDirectory('hello-skill', files));
    expect(layer.digest).toBe('sha256:bb72069c5f272b9eae7bbb4bad340bba448955f08caf83d29383f76796f6dbee');
    expect((await readLayer(layer.bytes)).contentDigest).toBe(
      contentDigest(Object.entries(files).map(([path, content]) => ({ path, bytes: Buffer.from(content) }))),
    );
  });
});

describe('options', () => {
  test('SOURCE_DATE_EPOCH dates the artifact', async () => {
    const directory = await writeSkillDirectory();
    const packed = await packSkill(directory, { env: { SOURCE_DATE_EPOCH: '1700000000' } });
    expect(text(packed.index.bytes)).toContain('"org.opencontainers.image.created":"2023-11-14T22:13:20Z"');
    expect(Buffer.from(packed.layer.bytes).readUInt32LE(4)).toBe(1_700_000_000);
    expect((await packSkill(directory, { epochSeconds: 1_700_000_000 })).digest).toBe(packed.digest);
    const old = await packSkill(directory, { epochSeconds: -5 });
    expect(gunzipSync(old.layer.bytes).toString('latin1')).toContain('12 mtime=-5\n');
    expect((await readLayer(old.layer.bytes)).files).toHaveLength(2);
  });

  test.each([
    { env: { SOURCE_DATE_EPOCH: 'now' } },
    { epochSeconds: 0.5 },
    { epochSeconds: 1e12 },
    { platforms: [] },
    { platforms: ['linux'] },
  ])('%j is refused', async (options) => {
    await expect(packSkill(await writeSkillDirectory(), options)).rejects.toMatchObject({
      code: 'ERR_OCI_SKILLS_ARGUMENT',
    });
  });

  test('platforms are those asked for', async () => {
    const packed = await packSkill(await writeSkillDirectory(), { platforms: ['linux/riscv64'] });
    expect(packed.manifests).toHaveLength(1);
    expect(text(packed.index.bytes)).toContain('"platform":{"architecture":"riscv64","os":"linux"}');
  });

  test('a signal ends it with its reason', async () => {
    const reason = new Error('enough');
    await expect(packSkill(await writeSkillDirectory(), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('dependencies', () => {
  test.each([
    ['as a field', 'toolhive.requires: ghcr.io/org/base:v1 other-skill\n'],
    ['as metadata', 'metadata:\n  toolhive.requires: |\n    ghcr.io/org/base:v1\n    other-skill\n'],
  ])('%s become an annotation', async (_, lines) => {
    const file = `---\nname: hello-skill\ndescription: A <b> & c\n${lines}---\n`;
    const { index } = await packSkill(await writeSkillDirectory('hello-skill', { 'SKILL.md': file }));
    expect(text(index.bytes)).toContain(
      String.raw`"dev.toolhive.skills.requires":"[\"ghcr.io/org/base:v1\",\"other-skill\"]"`,
    );
    expect(text(index.bytes)).toContain(String.raw`A \u003cb\u003e \u0026 c`);
  });
});

describe('what is refused', () => {
  test('an invalid skill, with every finding', async () => {
    const directory = await writeSkillDirectory('hello-skill', { 'SKILL.md': '---\nname: Other\n---\n' });
    await expect(packSkill(directory)).rejects.toMatchObject({
      code: 'ERR_OCI_SKILLS_INVALID_SKILL',
      details: {
        diagnostics: [
          { rule: 'skill/name-format', line: 2 },
          { rule: 'skill/description-required' },
          { rule: 'skill/name-directory' },
        ],
      },
    });
  });

  test('a symbolic link', async () => {
    const directory = await writeSkillDirectory();
    await symlink('/etc/passwd', join(directory, 'refs/link.md'));
    await expect(packSkill(directory)).rejects.toMatchObject({
      code: 'ERR_OCI_SKILLS_INVALID_SKILL',
      message: expect.stringContaining('`refs/link.md` is a symbolic link') as string,
    });
  });

  test('a directory that does not exist', async () => {
    await expect(packSkill('/nonexistent/hello-skill')).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_SKILL_MISSING' });
  });

  test('more than 1000 files', async () => {
    const directory = await writeSkillDirectory();
    for (let index = 0; index < 999; index += 1) await writeFile(join(directory, `f${index}`), '');
    await expect(packSkill(directory)).rejects.toMatchObject({
      message: expect.stringContaining('1001 files') as string,
    });
  });
});

test('hidden files stay out and are named', async () => {
  const directory = await writeSkillDirectory('hello-skill', {
    'SKILL.md': helloFile,
    '.env': 'x',
    '.git/config': 'x',
  });
  const { files, warnings } = await packSkill(directory);
  expect(files).toEqual([{ path: 'SKILL.md', size: 119 }]);
  expect(warnings.map(({ file }) => file)).toEqual(['.env', '.git']);
});

test('what is packed is read back, by this package and by tar-stream', async () => {
  const name = fc.string({
    unit: fc.constantFrom('a', 'b', 'é', '日', '😀', '-', '_', 'Z'),
    minLength: 1,
    maxLength: 40,
  });
  const path = fc.array(name, { minLength: 1, maxLength: 5 }).map((parts) => `x/${parts.join('/')}.txt`);
  const content = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc.nat(60_000).map((length) => 'text '.repeat(length / 5)),
  );
  const files = fc.uniqueArray(fc.tuple(path, content), { selector: ([key]) => key.toLowerCase(), maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(files, async (entries) => {
      const skill = Object.fromEntries([
        ['SKILL.md', helloFile],
        ...entries.filter(
          ([key], at) =>
            !entries.some(([other], index) => index !== at && key.toLowerCase().startsWith(`${other.toLowerCase()}/`)),
        ),
      ]) as Record<string, string>;
      const lower = Object.keys(skill).flatMap((key) =>
        key.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/')),
      );
      const folded = new Map(lower.map((key) => [key.toUpperCase().toLowerCase(), key]));
      fc.pre(lower.every((key) => folded.get(key.toUpperCase().toLowerCase()) === key));
      const directory = await writeSkillDirectory('hello-skill', skill);
      const packed = await packSkill(directory);
      expect(packed.contentDigest).toBe(await directoryDigest(directory));
      const read = await readLayer(packed.layer.bytes);
      expect(Object.fromEntries(read.files.map((file) => [file.path, text(file.bytes)]))).toEqual(skill);
      const seen: string[] = [];
      const reader = extract();
      reader.on('entry', (header, stream, next) => {
        seen.push(header.name);
        stream.on('end', next).resume();
      });
      reader.end(gunzipSync(packed.layer.bytes));
      await new Promise<void>((resolve, reject) => void reader.on('finish', () => resolve()).on('error', reject));
      expect(seen).toEqual(packed.files.map((file) => file.path));
    }),
    { numRuns: 40 },
  );
});

describe('contentDigest', () => {
  const digest = (files: Readonly<Record<string, string>>): string =>
    contentDigest(Object.entries(files).map(([path, content]) => ({ path, bytes: Buffer.from(content) })));

  test('has the known values', () => {
    expect(digest({ 'a.txt': 'hello world' })).toBe(
      'sha256:79d1b89c9733bc5a3c51bd715612a85ab13add6933cb9aa7cc1ae44fd5d181a3',
    );
    expect(digest({ 'refs/guide.md': 'guide', 'SKILL.md': '# Skill' })).toBe(
      'sha256:9b46342aaebede490f12bf67a5ecb4be507c7684ee5e11a0511b54c701f464bd',
    );
  });

  test('does not depend on the order, and sorts by bytes', () => {
    const files = { '\u{ffff}': '1', '\u{10000}': '2', a: '3' };
    const sum = createHash('sha256');
    for (const [path, content] of [
      ['a', '3'],
      ['\u{ffff}', '1'],
      ['\u{10000}', '2'],
    ] as const) {
      sum.update(path).update('\0').update(createHash('sha256').update(content).digest()).update('\n');
    }
    expect(digest(files)).toBe(`sha256:${sum.digest('hex')}`);
    fc.assert(
      fc.property(
        fc.uniqueArray(
          fc.string({ minLength: 1 }).filter((path) => /^[^/.\u{0}-\u{1f}\u{7f}]+$/u.test(path)),
          { minLength: 1 },
        ),
        (paths) => {
          const all = paths.map((path) => ({ path, bytes: Buffer.from(path) }));
          expect(contentDigest([...all].reverse())).toBe(contentDigest(all));
        },
      ),
    );
  });

  test.each(['', '..', '../a', '/a', 'a/../b', 'a/..', 'a\nb', 'a\u{7f}'])('%j has none', (path) => {
    expect(() => contentDigest([{ path, bytes: Buffer.alloc(0) }])).toThrow(
      expect.objectContaining({ code: 'ERR_OCI_SKILLS_UNSAFE_FILE' }),
    );
  });

  test('a leading dot is cut off, a path counts once, and nothing has no digest', () => {
    expect(digest({ './a.txt': 'hello world' })).toBe(digest({ 'a.txt': 'hello world' }));
    expect(() => digest({ './a': '1', a: '2' })).toThrow(/twice/);
    expect(() => contentDigest([])).toThrow(/empty/);
  });
});
