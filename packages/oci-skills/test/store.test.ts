import { spawn } from 'node:child_process';
import { mkdir, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { createRegistry, defaultStoreDirectory, openStore, packSkill } from '@thv/oci-skills';
import type { PackedSkill, SkillStore } from '@thv/oci-skills';
import { startRegistry } from './support/registry.js';
import { helloFile, temporaryDirectory, writeSkillDirectory } from './support/skills.js';

async function open(): Promise<{ store: SkillStore; packed: PackedSkill; other: PackedSkill }> {
  const store = await openStore(join(await temporaryDirectory(), 'store'));
  onTestFinished(() => store.close());
  const packed = await packSkill(await writeSkillDirectory());
  const other = await packSkill(
    await writeSkillDirectory('hello-skill', {
      'SKILL.md': helloFile.replace('1.0.0', '2.0.0'),
      'refs/guide.md': 'guide\n',
    }),
  );
  return { store, packed, other };
}

const blobs = (store: SkillStore): Promise<string[]> => readdir(join(store.directory, 'blobs/sha256'));

test('what is put is found by tag and by digest, and read back whole', async () => {
  const { store, packed } = await open();
  await store.put(packed, { tag: 'hello-skill', localBuild: true });
  expect((await store.resolve('hello-skill')).digest).toBe(packed.digest);
  for (const name of ['hello-skill', packed.digest]) {
    const read = await store.read(name);
    expect(read).toMatchObject({
      digest: packed.digest,
      diffId: packed.diffId,
      labels: { name: 'hello-skill', version: '1.0.0' },
    });
    expect(Buffer.from(read.layer.bytes).equals(packed.layer.bytes)).toBe(true);
  }
  expect(await store.listBuilds()).toEqual([
    { tag: 'hello-skill', digest: packed.digest, name: 'hello-skill', description: 'Says hello.', version: '1.0.0' },
  ]);
  expect(JSON.parse(await readFile(join(store.directory, 'oci-layout'), 'utf8'))).toEqual({
    imageLayoutVersion: '1.0.0',
  });
});

test('a tag moves, an artifact may have several, and pulled ones are no builds', async () => {
  const { store, packed, other } = await open();
  await store.put(packed, { tag: 'a', localBuild: true });
  await store.put(other, { tag: 'a', localBuild: true });
  await store.put(packed, { tag: 'ghcr.io/acme/hello-skill:1.0.0' });
  await store.tag(other.digest, { tag: 'b' });
  expect(
    (await store.listTags()).map(({ tag, localBuild, descriptor }) => [tag, localBuild, descriptor.digest]),
  ).toEqual([
    ['a', true, other.digest],
    ['b', false, other.digest],
    ['ghcr.io/acme/hello-skill:1.0.0', false, packed.digest],
  ]);
  expect((await store.listBuilds()).map(({ tag }) => tag)).toEqual(['a']);
});

test('removing a tag keeps what another one shares', async () => {
  const { store, packed, other } = await open();
  await store.put(packed, { tag: 'a' });
  const before = await blobs(store);
  await store.put(other, { tag: 'b' });
  await store.tag(packed.digest, { tag: 'c' });
  await store.remove('b');
  expect((await blobs(store)).sort()).toEqual(before.sort());
  await store.remove('a');
  expect((await store.read('c')).digest).toBe(packed.digest);
  await store.remove('c');
  expect(await blobs(store)).toEqual([]);
  expect(await store.listTags()).toEqual([]);
  await expect(store.remove('c')).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_NOT_FOUND' });
});

test('a blob that was changed or removed on disk is noticed, and hides no other build', async () => {
  const { store, packed, other } = await open();
  await store.put(packed, { tag: 'a', localBuild: true });
  await store.put(other, { tag: 'b', localBuild: true });
  const path = (digest = ''): string => join(store.directory, 'blobs/sha256', digest.slice(7));
  await writeFile(path(packed.configs[0]?.digest), 'changed');
  await expect(store.read('a')).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_STORE' });
  expect((await store.listBuilds()).map(({ tag }) => tag)).toEqual(['b']);
  await rm(path(other.layer.digest));
  await expect(store.read('b')).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_STORE' });
  await store.put(packed, { tag: 'a' });
  expect((await store.read('a')).digest).toBe(packed.digest);
});

test('names that are none are refused', async () => {
  const { store, packed } = await open();
  for (const tag of ['', 'a b', 'a\n'])
    await expect(store.put(packed, { tag })).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_ARGUMENT' });
  await expect(store.readBlob('sha256:../../../etc/passwd')).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_ARGUMENT' });
  await expect(store.resolve('nothing')).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_NOT_FOUND' });
  await expect(store.tag(packed.digest, { tag: 'x' })).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_NOT_FOUND' });
  await expect(openStore('relative')).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_ARGUMENT' });
});

test('a damaged layout is an error that says so', async () => {
  const { store } = await open();
  await writeFile(join(store.directory, 'index.json'), '{"manifests":[{"digest":"sha256:../x"}]}');
  await expect(store.listTags()).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_STORE' });
  await writeFile(join(store.directory, 'oci-layout'), '{"imageLayoutVersion":"9"}');
  await expect(openStore(store.directory)).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_STORE' });
  await mkdir(join(store.directory, 'empty'));
  await expect(openStore(join(store.directory, 'empty'), { create: false })).rejects.toMatchObject({
    code: 'ERR_OCI_SKILLS_STORE',
  });
});

test('a pull keeps the artifact under its full reference, without the mark of a build', async () => {
  const { store, packed } = await open();
  const there = await startRegistry();
  const registry = createRegistry({ allowLoopback: true });
  onTestFinished(() => registry.close());
  onTestFinished(() => there.close());
  const reference = `${there.host}/acme/hello-skill:1.0.0`;
  await store.put(packed, { tag: reference, localBuild: true });
  await registry.push(reference, await store.read(reference));
  for (const { bytes } of there.manifests.values()) expect(bytes.toString()).not.toContain('local-build');
  await store.remove(reference);
  await registry.pull(reference, { store });
  expect(await store.listTags()).toMatchObject([{ tag: reference, localBuild: false }]);
});

test('the lock of a process that died is taken over, that of a living one is waited for', async () => {
  const { store, packed } = await open();
  const dead = spawn(process.execPath, ['-e', '']);
  await new Promise((resolve) => dead.once('exit', resolve));
  const holder = (pid: number | undefined) => JSON.stringify({ pid, host: hostname(), nonce: 'n', started: '' });
  await writeFile(join(store.directory, '.lock'), holder(dead.pid));
  await store.put(packed, { tag: 'a' });
  await writeFile(join(store.directory, '.lock'), holder(process.pid));
  const hasty = await openStore(store.directory, { lockTimeoutMs: 30 });
  await expect(hasty.remove('a')).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_STORE_BUSY' });
  await rm(join(store.directory, '.lock'));
});

test('a lock file that names nobody is left alone while somebody may be writing it, and then taken over', async () => {
  const { store, packed } = await open();
  const path = join(store.directory, '.lock');
  await writeFile(path, '');
  const hasty = await openStore(store.directory, { lockTimeoutMs: 30 });
  await expect(hasty.put(packed, { tag: 'a' })).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_STORE_BUSY' });
  await utimes(path, 1, 1);
  await hasty.put(packed, { tag: 'a' });
});

test('several processes lose nothing', async () => {
  const { store } = await open();
  const skill = await writeSkillDirectory();
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const program = `
    import { openStore, packSkill } from '@thv/oci-skills';
    const store = await openStore(${JSON.stringify(store.directory)}, { lockTimeoutMs: 60000 });
    const packed = await packSkill(${JSON.stringify(skill)});
    for (let index = 0; index < 10; index += 1) {
      await store.put(packed, { tag: process.argv[1] + index });
      await store.put(packed, { tag: 'temporary-' + process.argv[1] });
      await store.remove('temporary-' + process.argv[1]);
    }`;
  const run = (name: string): Promise<number | null> =>
    new Promise((resolve) => {
      const child = spawn(
        process.execPath,
        ['--import', 'tsx', '-C', '@thv/source', '--input-type=module', '-e', program, name],
        { cwd: join(root, 'packages/oci-skills/test'), stdio: 'inherit' },
      );
      child.once('exit', resolve);
    });
  expect(await Promise.all([run('a'), run('b')])).toEqual([0, 0]);
  expect((await store.listTags()).map(({ tag }) => tag)).toEqual(
    [...'ab'].flatMap((name) => Array.from({ length: 10 }, (_, index) => `${name}${index}`)),
  );
});

test('the default directory follows XDG', () => {
  expect(defaultStoreDirectory({ home: '/home/ann' })).toBe('/home/ann/.local/share/toolhive/skills');
  expect(defaultStoreDirectory({ home: '/home/ann', env: { XDG_DATA_HOME: '/data' } })).toBe('/data/toolhive/skills');
  expect(defaultStoreDirectory({ home: '/home/ann', env: { XDG_DATA_HOME: 'relative' } })).toBe(
    '/home/ann/.local/share/toolhive/skills',
  );
});
