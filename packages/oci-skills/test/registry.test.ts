import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createRegistry, packSkill } from '@thv/oci-skills';
import type { Clock, RegistryOptions } from '@thv/oci-skills';
import { startRegistry } from './support/registry.js';
import type { FaultRule, TestRegistryOptions } from './support/registry.js';
import { temporaryDirectory, writeSkillDirectory } from './support/skills.js';

const user = { username: 'ann', password: 's3cret' };

function instantClock(): Clock & { readonly waits: number[] } {
  const waits: number[] = [];
  return { waits, now: () => 0, sleep: async (milliseconds) => void waits.push(milliseconds) };
}

async function open(server: TestRegistryOptions = {}, options: RegistryOptions = {}) {
  const there = await startRegistry(server);
  const clock = instantClock();
  const registry = createRegistry({ allowLoopback: true, clock, ...options });
  onTestFinished(() => registry.close());
  onTestFinished(() => there.close());
  const packed = await packSkill(await writeSkillDirectory());
  return { there, registry, packed, clock, reference: `${there.host}/acme/hello-skill:1.0.0` };
}

describe('push and pull', () => {
  test('a pushed skill comes back byte for byte', async () => {
    const { registry, packed, reference, there } = await open();
    const pushed = await registry.push(reference, packed);
    expect(pushed).toEqual({
      digest: packed.digest,
      pinned: `${there.host}/acme/hello-skill@${packed.digest}`,
      uploaded: 6,
      skipped: 0,
    });
    const pulled = await registry.pull(reference);
    expect(pulled.digest).toBe(packed.digest);
    expect(Buffer.from(pulled.layer.bytes).equals(packed.layer.bytes)).toBe(true);
    expect(pulled.labels).toMatchObject({
      name: 'hello-skill',
      version: '1.0.0',
      allowedTools: ['Read', 'Grep'],
      files: ['SKILL.md', 'refs/guide.md'],
    });
    expect((await registry.pull(pushed.pinned)).diffId).toBe(packed.diffId);
  });

  test('a second push sends the root alone', async () => {
    const { registry, packed, reference } = await open();
    await registry.push(reference, packed);
    expect(await registry.push(reference, packed)).toMatchObject({ uploaded: 1, skipped: 5 });
  });

  test('a digest in the reference must be that of the artifact', async () => {
    const { registry, packed, there } = await open();
    expect(() => registry.push(`${there.host}/acme/hello-skill@sha256:${'0'.repeat(64)}`, packed)).toThrow(
      expect.objectContaining({ code: 'ERR_OCI_SKILLS_ARGUMENT' }),
    );
  });
});

describe('sign-in', () => {
  const home = async (config: unknown): Promise<string> => {
    const directory = await temporaryDirectory();
    await mkdir(join(directory, '.docker'));
    await writeFile(join(directory, '.docker/config.json'), JSON.stringify(config));
    return directory;
  };
  const encoded = Buffer.from('ann:s3cret').toString('base64');

  test.each(['basic', 'bearer'] as const)('%s with the Docker configuration', async (kind) => {
    const { there, packed } = await open({ auth: { kind, ...user } });
    const registry = createRegistry({
      allowLoopback: true,
      home: await home({ auths: { [there.host]: { auth: encoded } } }),
    });
    onTestFinished(() => registry.close());
    const reference = `${there.host}/acme/hello-skill:1.0.0`;
    await registry.push(reference, packed);
    expect((await registry.pull(reference)).digest).toBe(packed.digest);
  });

  test('tokens are bought once for each access', async () => {
    const { there, packed, reference } = await open({ auth: { kind: 'bearer', ...user } });
    const prefix = `REGISTRY_${there.host.replaceAll(/[.:]/g, '_')}`;
    const registry = createRegistry({
      allowLoopback: true,
      env: { [`${prefix}_USERNAME`]: 'ann', [`${prefix}_PASSWORD`]: 's3cret' },
    });
    onTestFinished(() => registry.close());
    await registry.push(reference, packed);
    await registry.pull(reference);
    await registry.pull(reference);
    expect(there.requests.filter(({ path }) => path.startsWith('/token'))).toHaveLength(2);
  });

  test('an identity token buys access tokens', async () => {
    const { there, packed, reference } = await open({ auth: { kind: 'bearer', ...user }, identityToken: 'refresh-me' });
    const registry = createRegistry({
      allowLoopback: true,
      home: await home({ auths: { [there.host]: { identitytoken: 'refresh-me' } } }),
    });
    onTestFinished(() => registry.close());
    await registry.push(reference, packed);
    expect(there.requests.some(({ method, path }) => method === 'POST' && path === '/token')).toBe(true);
  });

  test.each([
    ['answers with a user', String.raw`printf '{"ServerURL":"x","Username":"ann","Secret":"s3cret"}'`, undefined],
    ['knows nothing', 'echo "credentials not found in native keychain"; exit 1', 'ERR_OCI_SKILLS_UNAUTHORIZED'],
    ['fails', 'echo "keychain is locked"; exit 1', 'ERR_OCI_SKILLS_CREDENTIALS'],
    ['answers nonsense', 'echo hello', 'ERR_OCI_SKILLS_CREDENTIALS'],
  ])('a credential helper that %s', async (_, script, code) => {
    const { there, packed, reference } = await open({ auth: { kind: 'basic', ...user } });
    const bin = await temporaryDirectory();
    await writeFile(join(bin, 'docker-credential-test'), `#!/bin/sh\nread server\n${script}\n`, { mode: 0o755 });
    const registry = createRegistry({
      allowLoopback: true,
      home: await home({ credHelpers: { [there.host]: 'test' } }),
      env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` },
    });
    onTestFinished(() => registry.close());
    const push = registry.push(reference, packed);
    if (code === undefined) await expect(push).resolves.toMatchObject({ digest: packed.digest });
    else await expect(push).rejects.toMatchObject({ code });
  });

  test.each([
    ['a helper that is not installed', { credsStore: 'no-such-helper' }],
    ['a helper name with a path', { credsStore: '../evil' }],
    ['an auth that is no base64 of name and password', { auths: { HOST: { auth: 'eA==' } } }],
  ])('%s is an error', async (_, config) => {
    const { there, reference } = await open({ auth: { kind: 'basic', ...user } });
    const text = JSON.parse(JSON.stringify(config).replace('HOST', there.host)) as unknown;
    const registry = createRegistry({
      allowLoopback: true,
      home: await home(text),
      env: { PATH: process.env['PATH'] },
    });
    onTestFinished(() => registry.close());
    await expect(registry.pull(reference)).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_CREDENTIALS' });
  });

  test('the general pair goes to the named registry only', async () => {
    const { there, reference } = await open({ auth: { kind: 'basic', ...user } });
    const env = { REGISTRY_USERNAME: 'ann', REGISTRY_PASSWORD: 's3cret' };
    for (const [genericCredentialsFor, code] of [
      ['ghcr.io', 'ERR_OCI_SKILLS_UNAUTHORIZED'],
      [there.host, 'ERR_OCI_SKILLS_NOT_FOUND'],
    ] as const) {
      const registry = createRegistry({ allowLoopback: true, env, genericCredentialsFor });
      onTestFinished(() => registry.close());
      await expect(registry.pull(reference)).rejects.toMatchObject({ code });
    }
  });

  test.each(['http://example.com/token', 'https://10.0.0.1/token', 'https://u:p@example.com/token', 'nonsense'])(
    'credentials are not sent to the realm %s',
    async (realm) => {
      const { reference, there } = await open({ auth: { kind: 'bearer', ...user, realm } });
      const registry = createRegistry({ allowLoopback: true, credentials: () => ({ kind: 'basic', ...user }) });
      onTestFinished(() => registry.close());
      await expect(registry.pull(reference)).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_UNAUTHORIZED' });
      expect(there.requests).toHaveLength(1);
    },
  );
});

describe('faults', () => {
  const cases: readonly (readonly [string, FaultRule, string | undefined])[] = [
    [
      'a busy answer that passes',
      { path: /manifests/, fault: { kind: 'status', status: 429, headers: { 'retry-after': '7' } }, times: 2 },
      undefined,
    ],
    ['a failing server that recovers', { path: /blobs/, fault: { kind: 'status', status: 503 }, times: 3 }, undefined],
    ['a broken connection that recovers', { path: /manifests/, fault: { kind: 'reset' }, times: 2 }, undefined],
    ['a truncated blob that recovers', { path: /blobs/, fault: { kind: 'truncate' }, times: 1 }, undefined],
    [
      'a busy answer for ever',
      { path: /manifests/, fault: { kind: 'status', status: 429 } },
      'ERR_OCI_SKILLS_RATE_LIMITED',
    ],
    [
      'a failing server for ever',
      { path: /manifests/, fault: { kind: 'status', status: 500 } },
      'ERR_OCI_SKILLS_REGISTRY',
    ],
    ['a broken connection for ever', { path: /manifests/, fault: { kind: 'reset' } }, 'ERR_OCI_SKILLS_REGISTRY'],
    ['a truncated blob for ever', { path: /blobs/, fault: { kind: 'truncate' } }, 'ERR_OCI_SKILLS_REGISTRY'],
    ['a missing tag', { path: /manifests/, fault: { kind: 'status', status: 404 } }, 'ERR_OCI_SKILLS_NOT_FOUND'],
    [
      'a forbidden repository',
      { path: /manifests/, fault: { kind: 'status', status: 403 } },
      'ERR_OCI_SKILLS_UNAUTHORIZED',
    ],
    ['a wrong manifest', { path: /manifests/, fault: { kind: 'wrong-bytes' } }, 'ERR_OCI_SKILLS_ARTIFACT'],
    ['a wrong blob', { path: /blobs/, fault: { kind: 'wrong-bytes' } }, 'ERR_OCI_SKILLS_DIGEST'],
    ['a giant manifest', { path: /manifests/, fault: { kind: 'giant', bytes: 8_000_000 } }, 'ERR_OCI_SKILLS_LIMIT'],
    [
      'a redirect without end',
      { path: /manifests/, fault: { kind: 'redirect', to: '?again' } },
      'ERR_OCI_SKILLS_REGISTRY',
    ],
    [
      'a redirect to another scheme',
      { path: /blobs/, fault: { kind: 'redirect', to: 'https://example.com/x' } },
      'ERR_OCI_SKILLS_REGISTRY',
    ],
    [
      'a redirect to a private address',
      { path: /blobs/, fault: { kind: 'redirect', to: 'http://169.254.169.254/latest' } },
      'ERR_OCI_SKILLS_HOST',
    ],
  ];

  test.each(cases)('%s', async (_, rule, code) => {
    const { registry, packed, reference, there } = await open();
    await registry.push(reference, packed);
    there.inject(rule);
    const pull = registry.pull(reference);
    if (code === undefined) await expect(pull).resolves.toMatchObject({ digest: packed.digest });
    else await expect(pull).rejects.toMatchObject({ code });
  });

  test('waits as long as the registry asks', async () => {
    const { registry, packed, reference, there, clock } = await open();
    await registry.push(reference, packed);
    there.inject({
      path: /manifests/,
      fault: { kind: 'status', status: 429, headers: { 'retry-after': '7' } },
      times: 1,
    });
    there.inject({ path: /manifests/, fault: { kind: 'status', status: 503 }, times: 2 });
    await registry.pull(reference);
    expect(clock.waits).toEqual([7000, 500, 1000]);
  });

  test('a failure that is no overload is not repeated', async () => {
    const { registry, reference, there } = await open();
    await expect(registry.pull(reference)).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_NOT_FOUND' });
    expect(there.requests).toHaveLength(1);
  });

  test('a redirect to another host carries no authorization', async () => {
    const other = await startRegistry();
    onTestFinished(() => other.close());
    const { there, packed, reference } = await open({ auth: { kind: 'basic', ...user } });
    const registry = createRegistry({ allowLoopback: true, credentials: () => ({ kind: 'basic', ...user }) });
    onTestFinished(() => registry.close());
    await registry.push(reference, packed);
    for (const [digest, bytes] of there.blobs) other.blobs.set(digest, bytes);
    const path = `/v2/acme/hello-skill/blobs/${packed.layer.digest}`;
    there.inject({
      path: new RegExp(`blobs/${packed.layer.digest}`),
      fault: { kind: 'redirect', to: `http://${other.host}${path}` },
    });
    expect((await registry.pull(reference)).layer.digest).toBe(packed.layer.digest);
    expect(other.requests).toEqual([{ method: 'GET', path, authorization: undefined }]);
  });

  test('an upload that is sent to another host is refused', async () => {
    const { registry, packed, reference, there } = await open();
    there.inject({ method: 'POST', path: /uploads/, fault: { kind: 'location', to: 'http://127.0.0.1:1/steal' } });
    await expect(registry.push(reference, packed)).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_REGISTRY' });
  });

  test('a registry that never answers ends with the deadline, or with the signal', async () => {
    const { there, reference, registry } = await open();
    there.inject({ path: /./, fault: { kind: 'hang' } });
    const hasty = createRegistry({ allowLoopback: true, timeoutMs: 50 });
    onTestFinished(() => hasty.close());
    await expect(hasty.pull(reference)).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_TIMEOUT' });
    const reason = new Error('enough');
    const controller = new AbortController();
    const pull = registry.pull(reference, { signal: controller.signal });
    controller.abort(reason);
    await expect(pull).rejects.toBe(reason);
  });
});

describe('hosts', () => {
  test.each([
    '127.0.0.1:5000/a/b:1',
    'localhost:5000/a/b:1',
    '10.0.0.1/a/b:1',
    '[::1]:5000/a/b:1',
    '0x7f.1:80/a/b:1',
    '169.254.169.254/a/b:1',
  ])('%s is refused by default', async (reference) => {
    const registry = createRegistry();
    onTestFinished(() => registry.close());
    await expect(registry.pull(reference)).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_HOST' });
  });

  test('a name that resolves to a private address is refused', async () => {
    const lookup = async () => [
      { address: '93.184.216.34', family: 4 as const },
      { address: '10.1.2.3', family: 4 as const },
    ];
    const registry = createRegistry({ lookup });
    onTestFinished(() => registry.close());
    await expect(registry.pull('registry.example/a/b:1')).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_HOST' });
  });

  test('TOOLHIVE_DEV allows a loopback registry', async () => {
    const { packed, reference } = await open();
    const registry = createRegistry({ env: { TOOLHIVE_DEV: 'true' } });
    onTestFinished(() => registry.close());
    expect((await registry.push(reference, packed)).digest).toBe(packed.digest);
  });
});
