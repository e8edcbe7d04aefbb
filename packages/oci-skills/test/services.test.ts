import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createKeyPair, createRegistry, openStore, packSkill, signArtifact, verifySignature } from '@thv/oci-skills';
import { helloFile, temporaryDirectory, writeSkillDirectory } from './support/skills.js';

const run = promisify(execFile);
const isRequired = process.env['THV_TEST_SERVICES'] === 'required';
const missing = ['docker-registry', 'skopeo', 'umoci'].filter(
  (name) => spawnSync(name, ['--version']).error !== undefined,
);
const reason = missing.length === 0 ? '' : ` (not on PATH: ${missing.join(', ')})`;

test.runIf(isRequired)('the services that these tests need are installed', () => {
  expect(missing).toEqual([]);
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));
  return port;
}

/** Debian's registry on a free loopback port. */
async function startDistribution(): Promise<string> {
  const directory = await temporaryDirectory();
  const host = `127.0.0.1:${await freePort()}`;
  await mkdir(join(directory, 'data'));
  const config = `version: 0.1\nlog: {level: error}\nhttp: {addr: "${host}"}\nstorage: {filesystem: {rootdirectory: "${directory}/data"}, delete: {enabled: true}}\n`;
  await writeFile(join(directory, 'config.yml'), config);
  const child = spawn('docker-registry', ['serve', join(directory, 'config.yml')], { stdio: 'ignore' });
  onTestFinished(async () => {
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await exited;
  });
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const isUp = await fetch(`http://${host}/v2/`).then(
      (response) => response.ok,
      () => false,
    );
    if (isUp) return host;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('docker-registry did not start');
}

test.skipIf(missing.length > 0)(
  `Debian's registry takes, signs and gives back a skill that skopeo and umoci read${reason}`,
  async () => {
    const host = await startDistribution();
    const registry = createRegistry({ allowLoopback: true });
    onTestFinished(() => registry.close());
    const packed = await packSkill(await writeSkillDirectory());
    const reference = `${host}/acme/hello-skill:1.0.0`;
    expect(await registry.push(reference, packed)).toMatchObject({ digest: packed.digest, uploaded: 6 });
    expect((await registry.pull(reference)).diffId).toBe(packed.diffId);

    const { privateKey, publicKey } = await createKeyPair();
    for (const layout of ['signature-tag', 'referrer'] as const) {
      await signArtifact(reference, packed.digest, { registry, layout, method: { kind: 'key', privateKey } });
    }
    expect(
      (await verifySignature(reference, packed.digest, { registry, policy: { kind: 'key', publicKey } })).layout,
    ).toBe('signature-tag');
    expect(await registry.referrers(reference, packed.digest)).toHaveLength(1);

    const source = `docker://${reference}`;
    const raw = await run('skopeo', ['inspect', '--tls-verify=false', '--raw', source]);
    expect(raw.stdout).toBe(Buffer.from(packed.index.bytes).toString());
    const inspected = await run('skopeo', [
      'inspect',
      '--tls-verify=false',
      '--override-arch',
      'amd64',
      '--override-os',
      'linux',
      source,
    ]);
    expect(JSON.parse(inspected.stdout)).toMatchObject({
      Labels: { 'dev.toolhive.skills.name': 'hello-skill' },
      Layers: [packed.layer.digest],
    });
    const layout = join(await temporaryDirectory(), 'layout');
    await run('skopeo', [
      'copy',
      '--src-tls-verify=false',
      '--override-arch',
      'amd64',
      '--override-os',
      'linux',
      source,
      `oci:${layout}:hello`,
    ]);
    const bundle = join(await temporaryDirectory(), 'bundle');
    await run('umoci', ['unpack', '--rootless', '--image', `${layout}:hello`, bundle]);
    expect(await readFile(join(bundle, 'rootfs/SKILL.md'), 'utf8')).toBe(helloFile);
  },
);

test.skipIf(missing.length > 0)(`skopeo reads the local store${reason}`, async () => {
  const store = await openStore(join(await temporaryDirectory(), 'store'));
  const packed = await packSkill(await writeSkillDirectory());
  await store.put(packed, { tag: 'hello-skill', localBuild: true });
  const { stdout } = await run('skopeo', ['inspect', '--raw', `oci:${store.directory}:hello-skill`]);
  expect(stdout).toBe(Buffer.from(packed.index.bytes).toString());
});
