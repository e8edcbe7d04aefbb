import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { directoryDigest, packSkill, readLayer, unpackSkill } from '@thv/oci-skills';
import { temporaryDirectory, writeSkillDirectory } from './support/skills.js';
import { end, layerOf, pax, rawEntry, skillFile } from './support/tar.js';

const file = (name: string | Buffer, body = 'x'): Buffer => rawEntry({ name, body });
const many = (count: number, make: (index: number) => Buffer): Buffer[] =>
  Array.from({ length: count }, (_, index) => make(index));
const skillTar = Buffer.concat([skillFile, end]);
const good = gzipSync(skillTar);
const UNSAFE = 'ERR_OCI_SKILLS_UNSAFE_ENTRY';
const ARCHIVE = 'ERR_OCI_SKILLS_ARCHIVE';
const LIMIT = 'ERR_OCI_SKILLS_LIMIT';
const MISSING = 'ERR_OCI_SKILLS_SKILL_MISSING';

const paths: readonly (readonly [string, string | Buffer])[] = [
  ['a parent', '../evil'],
  ['a parent inside', 'a/../evil.txt'],
  ['a parent at the end', 'a/..'],
  ['an absolute path', '/etc/evil'],
  ['an inner dot', 'a/./b'],
  ['a backslash', String.raw`..\evil`],
  ['two backslashes', String.raw`..\\evil`],
  ['a network path', String.raw`\\host\share`],
  ['an empty name', ''],
  ['a dot', '.'],
  ['a trailing slash', 'dir/'],
  ['an empty component', 'a//b'],
  ['a drive', 'C:../../evil'],
  ['a stream', 'a:b'],
  ['a home', '~/evil'],
  ['a leading space', ' /etc/x'],
  ['a trailing dot', 'a.'],
  ['a trailing space', 'b '],
  ['a line feed', 'a\nb'],
  ['an escape sequence', 'a\u{1b}[31m'],
  ['a bidirectional override', 'a\u{202e}txt.exe'],
  ['a device name', 'CON'],
  ['a device name with an extension', 'aux.txt'],
  ['a device name below', 'dir/NUL.md'],
  ["git's directory", '.git/config'],
  ["git's directory in capitals", 'a/.GIT/config'],
  ["git's directory in short", 'git~1/config'],
  ["git's directory with an invisible letter", '.g\u{200c}it/config'],
  ['a component of 300 bytes', 'a'.repeat(300)],
  ['a depth of 500', `${'d/'.repeat(500)}f`],
  ['a path of 1100 bytes', `${`${'p'.repeat(99)}/`.repeat(11)}f`],
];

const archives: readonly (readonly [string, string, Buffer])[] = [
  ...paths
    .map(
      ([what, name]) =>
        [
          `${what} by PAX`,
          name === '' ? ARCHIVE : UNSAFE,
          layerOf(skillFile, pax({ path: String(name) }), file('x')),
        ] as const,
    )
    .filter(([what]) => what !== 'an empty name by PAX'),
  ...paths
    .filter(([, name]) => name.length <= 100)
    .map(([what, name]) => [what, UNSAFE, layerOf(skillFile, file(name))] as const),
  ['a name that is not UTF-8', ARCHIVE, layerOf(skillFile, file(Buffer.from([0x61, 0xff])))],
  ['a prefix that leads out', UNSAFE, layerOf(skillFile, rawEntry({ name: 'evil', prefix: '../..' }))],
  ['a path in a global header', ARCHIVE, layerOf(pax({ path: '../evil' }, 'g'), skillFile)],
  ['a link path', ARCHIVE, layerOf(skillFile, pax({ linkpath: '/etc/passwd' }), rawEntry({ name: 'l', type: '2' }))],
  ['a path given twice', ARCHIVE, layerOf(skillFile, pax('13 path=good\n18 path=../../evil\n'), file('x'))],
  ...(
    [
      ['hard link', '1'],
      ['symbolic link', '2'],
      ['character device', '3'],
      ['block device', '4'],
      ['pipe', '6'],
      ['contiguous file', '7'],
      ['GNU long link', 'K'],
      ['GNU long name', 'L'],
      ['sparse file', 'S'],
      ['vendor type', 'Z'],
    ] as const
  ).map(
    ([what, type]) =>
      [`a ${what}`, ARCHIVE, layerOf(skillFile, rawEntry({ name: 'x', type, link: '/etc/passwd' }))] as const,
  ),
  ['a directory with content', ARCHIVE, layerOf(skillFile, rawEntry({ name: 'd/', type: '5', body: 'x' }))],
  ['a directory that leads out', UNSAFE, layerOf(skillFile, rawEntry({ name: '../outdir/', type: '5' }))],
  ['a second SKILL.md', UNSAFE, layerOf(skillFile, skillFile)],
  ['SKILL.md and skill.md', UNSAFE, layerOf(skillFile, file('skill.md'))],
  [
    'two spellings of a letter',
    UNSAFE,
    layerOf(skillFile, pax({ path: 'caf\u{e9}' }), file('x'), pax({ path: 'cafe\u{301}' }), file('y')),
  ],
  ['directories that fall together', UNSAFE, layerOf(skillFile, file('Docs/a'), file('docs/b'))],
  ['a file where a directory is', UNSAFE, layerOf(skillFile, file('a/b'), file('a'))],
  ['a directory where a file is', UNSAFE, layerOf(skillFile, file('a'), file('a/b'))],
  ['1001 files', LIMIT, layerOf(skillFile, ...many(1000, (index) => file(`f${index}`)))],
  [
    '5000 directories',
    LIMIT,
    layerOf(skillFile, ...many(5000, (index) => rawEntry({ name: `d${index}/`, type: '5' }))),
  ],
  [
    'a size beyond the data',
    ARCHIVE,
    gzipSync(Buffer.concat([skillFile, rawEntry({ name: 'x', size: '00000010000\0' })])),
  ],
  ['a negative binary size', ARCHIVE, layerOf(skillFile, rawEntry({ name: 'x', size: Buffer.alloc(12, 0xff) }))],
  [
    'a small binary size',
    ARCHIVE,
    layerOf(skillFile, rawEntry({ name: 'x', size: Buffer.from([0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]) })),
  ],
  ['a size that is no number', ARCHIVE, layerOf(skillFile, rawEntry({ name: 'x', size: '0000000abc9\0' }))],
  ['an empty size', ARCHIVE, layerOf(skillFile, rawEntry({ name: 'x', size: '\0'.repeat(12) }))],
  ['a huge size', LIMIT, layerOf(skillFile, rawEntry({ name: 'x', size: '77777777777\0' }))],
  ['a PAX size of 2^62', ARCHIVE, layerOf(skillFile, pax({ size: String(2n ** 62n) }), file('x'))],
  ['a PAX size below zero', ARCHIVE, layerOf(skillFile, pax({ size: '-1' }), file('x'))],
  ['a PAX size that contradicts', ARCHIVE, layerOf(skillFile, pax({ size: '1024' }), file('x'))],
  [
    'a PAX header before a long name',
    ARCHIVE,
    layerOf(skillFile, pax({ size: '1024' }), rawEntry({ name: 'x', type: 'L', body: 'long' }), file('y')),
  ],
  ['two PAX headers', ARCHIVE, layerOf(skillFile, pax({ path: 'a' }), pax({ path: 'b' }), file('x'))],
  ['a PAX header without an entry', ARCHIVE, layerOf(skillFile, pax({ path: 'a' }))],
  [
    'a PAX sparse file',
    ARCHIVE,
    layerOf(skillFile, pax({ 'GNU.sparse.major': '1', 'GNU.sparse.realsize': '1099511627776' }), file('x')),
  ],
  ['a PAX header that is too large', LIMIT, layerOf(skillFile, pax({ comment: 'x'.repeat(70_000) }), file('x'))],
  ...['x', '5 a=b', '99 path=x\n', '00012 path=x\n', '5 =x\n', '9 pathx\n\n'].map(
    (body) => [`the PAX record ${JSON.stringify(body)}`, ARCHIVE, layerOf(skillFile, pax(body), file('x'))] as const,
  ),
  ['a wrong checksum', ARCHIVE, layerOf(skillFile, rawEntry({ name: 'x', checksum: '000000\0 ' }))],
  ['an unknown format', ARCHIVE, layerOf(skillFile, rawEntry({ name: 'x', magic: 'tarry\u{0}00' }))],
  ['fields of GNU tar', ARCHIVE, layerOf(skillFile, rawEntry({ name: 'x', magic: 'ustar  \0', prefix: '../..' }))],
  ['no end blocks', ARCHIVE, gzipSync(skillFile)],
  ['one end block', ARCHIVE, gzipSync(Buffer.concat([skillFile, Buffer.alloc(512)]))],
  ['half a header', ARCHIVE, gzipSync(Buffer.concat([skillFile, Buffer.alloc(100, 65)]))],
  ['an entry after one end block', ARCHIVE, layerOf(skillFile, Buffer.alloc(512), file('x'))],
  ['a second archive', ARCHIVE, gzipSync(Buffer.concat([skillTar, skillTar]))],
  ['end blocks only', MISSING, layerOf()],
  ['gzip of nothing', ARCHIVE, gzipSync('')],
  ['nothing', ARCHIVE, Buffer.alloc(0)],
  ['no gzip', ARCHIVE, skillTar],
  ['text after the gzip', ARCHIVE, Buffer.concat([good, Buffer.from('hello')])],
  ['zeros after the gzip', ARCHIVE, Buffer.concat([good, Buffer.alloc(4)])],
  ['two gzip members', ARCHIVE, Buffer.concat([good, good])],
  ['an empty member first', ARCHIVE, Buffer.concat([...many(1000, () => gzipSync('')), good])],
  ['a wrong CRC', ARCHIVE, Buffer.concat([good.subarray(0, -8), Buffer.alloc(4), good.subarray(-4)])],
  ['a wrong length', ARCHIVE, Buffer.concat([good.subarray(0, -4), Buffer.alloc(4)])],
  ...[1, 5, 9, 10, 30, good.length - 9, good.length - 8, good.length - 1].map(
    (length) => [`a gzip cut after ${length} bytes`, ARCHIVE, good.subarray(0, length)] as const,
  ),
  ['reserved gzip flags', ARCHIVE, Buffer.concat([good.subarray(0, 3), Buffer.from([0xe0]), good.subarray(4)])],
  [
    'a gzip name without end',
    ARCHIVE,
    Buffer.concat([good.subarray(0, 3), Buffer.from([8]), good.subarray(4, 10), Buffer.alloc(70_000, 65)]),
  ],
  ['no SKILL.md', MISSING, layerOf(file('README.md'))],
  ['only skill.md', MISSING, layerOf(file('skill.md'))],
  ['a nested SKILL.md only', MISSING, layerOf(file('a/SKILL.md'))],
  ['a directory SKILL.md', MISSING, layerOf(rawEntry({ name: 'SKILL.md/', type: '5' }), file('x'))],
];

async function target(): Promise<{ readonly parent: string; readonly directory: string }> {
  const parent = join(await temporaryDirectory(), 'skills');
  await mkdir(parent);
  return { parent, directory: join(parent, 'my-skill') };
}

describe('what is refused', () => {
  test.each(archives)('%s', async (_, code, layer) => {
    const { parent, directory } = await target();
    await expect(unpackSkill(layer, directory)).rejects.toMatchObject({ code, name: 'OciSkillsError' });
    await expect(readLayer(layer)).rejects.toMatchObject({ code });
    expect(await readdir(parent)).toEqual([]);
    expect(await readdir(join(parent, '..'))).toEqual(['skills']);
  });

  test('a bomb, while the memory stays small', async () => {
    const { parent, directory } = await target();
    const zeros = Buffer.alloc(96 * 1024 * 1024);
    const layer = gzipSync(
      Buffer.concat([skillFile, ...many(6, (index) => rawEntry({ name: `f${index}`, body: zeros })), end]),
    );
    const before = process.memoryUsage().rss;
    await expect(unpackSkill(layer, directory)).rejects.toMatchObject({ code: LIMIT });
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    expect(await readdir(parent)).toEqual([]);
  });

  test('an existing empty directory stays empty', async () => {
    const { parent, directory } = await target();
    await mkdir(directory);
    await expect(unpackSkill(layerOf(skillFile, file('../x')), directory)).rejects.toMatchObject({ code: UNSAFE });
    expect(await readdir(directory)).toEqual([]);
    expect(await readdir(parent)).toEqual(['my-skill']);
  });

  test('a source that fails half-way leaves nothing', async () => {
    const { parent, directory } = await target();
    const failing = (async function* () {
      yield good.subarray(0, 40);
      throw new Error('connection lost');
    })();
    await expect(unpackSkill(failing, directory)).rejects.toThrow('connection lost');
    expect(await readdir(parent)).toEqual([]);
  });

  test('a missing parent is not left behind', async () => {
    const { parent } = await target();
    await expect(unpackSkill(gzipSync(''), join(parent, 'a/b/my-skill'))).rejects.toMatchObject({ code: ARCHIVE });
    expect(await readdir(parent)).toEqual([]);
  });

  test('random damage is never accepted with other content', async () => {
    const packed = await packSkill(await writeSkillDirectory());
    const bytes = Buffer.from(packed.layer.bytes);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] as number) ^ change;
        const read = await readLayer(damaged).catch((error: unknown) => error);
        if (read instanceof Error) expect(read).toMatchObject({ name: 'OciSkillsError' });
        else expect(read).toMatchObject({ contentDigest: packed.contentDigest });
      }),
      { numRuns: 300 },
    );
  });
});

const accepted: readonly (readonly [string, Buffer, readonly string[]])[] = [
  [
    'files in directories',
    layerOf(
      rawEntry({ name: './', type: '5' }),
      rawEntry({ name: 'refs/', type: '5' }),
      skillFile,
      file('refs/guide.md'),
    ),
    ['SKILL.md', 'refs/guide.md'],
  ],
  ['a leading dot', layerOf(rawEntry({ name: './SKILL.md', body: 'x' }), file('./a/b')), ['SKILL.md', 'a/b']],
  ['a zero type', layerOf(rawEntry({ name: 'SKILL.md', type: '\0', body: 'x' })), ['SKILL.md']],
  ['dots in names', layerOf(skillFile, file('a..b/..c')), ['SKILL.md', 'a..b/..c']],
  ['a time before 1970', layerOf(pax({ mtime: '-1' }), skillFile), ['SKILL.md']],
  ['extended attributes', layerOf(pax({ 'SCHILY.xattr.security.capability': 'x' }), skillFile), ['SKILL.md']],
  ['a global comment', layerOf(pax({ comment: 'abc' }, 'g'), skillFile), ['SKILL.md']],
  ['GNU tar without its fields', layerOf(rawEntry({ name: 'SKILL.md', magic: 'ustar  \0', body: 'x' })), ['SKILL.md']],
  ['padding to a record', layerOf(skillFile, Buffer.alloc(9216)), ['SKILL.md']],
  [
    '1000 files',
    layerOf(skillFile, ...many(999, (index) => file(`f${index}`))),
    ['SKILL.md', ...many(999, (index) => file(`f${index}`)).map((_, index) => `f${index}`)],
  ],
];

describe('what is accepted', () => {
  test.each(accepted)('%s', async (_, layer, names) => {
    const { parent, directory } = await target();
    const unpacked = await unpackSkill(layer, directory);
    expect(unpacked.files.map(({ path }) => path)).toEqual(names);
    expect(unpacked.contentDigest).toBe(await directoryDigest(directory));
    expect((await readLayer(layer)).contentDigest).toBe(unpacked.contentDigest);
    expect(await readdir(parent)).toEqual(['my-skill']);
  });

  test('set-user-id modes are cut to 0644', async () => {
    const { directory } = await target();
    await unpackSkill(layerOf(skillFile, rawEntry({ name: 'run.sh', mode: '0006755', body: 'x' })), directory);
    expect((await stat(join(directory, 'run.sh'))).mode & 0o7777 & ~0o644).toBe(0);
  });

  test('one file of 100 MiB', async () => {
    const { directory } = await target();
    const layer = layerOf(skillFile, rawEntry({ name: 'big', body: Buffer.alloc(100 * 1024 * 1024) }));
    expect((await unpackSkill(layer, directory)).totalBytes).toBeGreaterThan(100 * 1024 * 1024);
  });

  test('hidden files come with a warning', async () => {
    const { directory } = await target();
    const { warnings } = await unpackSkill(layerOf(skillFile, file('.env')), directory);
    expect(warnings).toMatchObject([{ rule: 'skill/hidden-file', file: '.env' }]);
  });

  test('bytes that come one by one', async () => {
    const { directory } = await target();
    const layer = layerOf(skillFile, pax({ path: 'é' }), file('x'), file('refs/guide.md', 'y'.repeat(3000)));
    const slow = (async function* () {
      for (const byte of layer) yield Uint8Array.of(byte);
    })();
    expect((await unpackSkill(slow, directory)).contentDigest).toBe((await readLayer(layer)).contentDigest);
  });
});

describe('digests and names', () => {
  test('the layer, the archive and the name must be the expected ones', async () => {
    const { digest, diffId } = await packSkill(await writeSkillDirectory()).then(({ layer, diffId: id }) => ({
      digest: layer,
      diffId: id,
    }));
    const { directory, parent } = await target();
    const wrong = `sha256:${'0'.repeat(64)}`;
    const cases = [
      [{ digest: wrong }, 'ERR_OCI_SKILLS_DIGEST'],
      [{ diffId: wrong }, 'ERR_OCI_SKILLS_DIGEST'],
      [{ expectedName: 'other' }, 'ERR_OCI_SKILLS_INVALID_SKILL'],
      [{ digest: 'sha256:../../x' }, 'ERR_OCI_SKILLS_ARGUMENT'],
      [{ maxFiles: 0 }, 'ERR_OCI_SKILLS_ARGUMENT'],
      [{ maxFiles: 1 }, LIMIT],
      [{ maxTotalBytes: 10 }, LIMIT],
      [{ maxCompressedBytes: 10 }, LIMIT],
    ] as const;
    for (const [options, code] of cases)
      await expect(unpackSkill(digest.bytes, directory, options)).rejects.toMatchObject({ code });
    expect(await readdir(parent)).toEqual([]);
    await unpackSkill(digest.bytes, directory, { digest: digest.digest, diffId, expectedName: 'hello-skill' });
  });

  test('a signal ends it with its reason', async () => {
    const { directory, parent } = await target();
    const reason = new Error('enough');
    await expect(unpackSkill(good, directory, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const endless = (async function* () {
      yield good.subarray(0, 20);
      controller.abort(reason);
      yield good.subarray(20);
    })();
    await expect(unpackSkill(endless, directory, { signal: controller.signal })).rejects.toBe(reason);
    expect(await readdir(parent)).toEqual([]);
  });
});
