import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createKeyPair } from '@thv/oci-skills';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startRegistry } from '../../../oci-skills/test/support/registry.js';
import type { TestRegistry } from '../../../oci-skills/test/support/registry.js';
import { identityToken, startSigstore, workflowClaims } from '../../../oci-skills/test/support/sigstore.js';
import type { TestSigstore } from '../../../oci-skills/test/support/sigstore.js';
import type { CatalogueSkill, PushRequest } from '../../src/index.js';
import { openBench } from './bench.js';
import type { Bench, BenchOptions } from './bench.js';

/** The same expectations of the service itself and of the client that asks for it over HTTP. */
export function describeRegistrySkills(via: NonNullable<BenchOptions['via']>): void {
  const PASSWORD = 'open sesame';
  let sigstore: TestSigstore;
  let keys: {
    readonly publicKey: string;
    readonly otherPublicKey: string;
    readonly privateKey: string;
    readonly otherPrivateKey: string;
  };
  beforeAll(async () => {
    sigstore = await startSigstore();
    const [own, other] = await Promise.all([
      createKeyPair({ password: PASSWORD }),
      createKeyPair({ password: PASSWORD }),
    ]);
    keys = {
      publicKey: own.publicKey,
      privateKey: own.privateKey,
      otherPublicKey: other.publicKey,
      otherPrivateKey: other.privateKey,
    };
  });
  afterAll(() => sigstore.close());

  let registry: TestRegistry;
  let bench: Bench;
  let catalogue: CatalogueSkill[];
  beforeEach(async () => {
    registry = await startRegistry();
    catalogue = [];
    bench = await openBench({
      via,
      trust: { trustedRoot: sigstore.trustedRoot, certificateLogThreshold: 0 },
      env: {
        COSIGN_PASSWORD: PASSWORD,
        TOOLHIVE_SIGSTORE_FULCIO_URL: sigstore.url,
        TOOLHIVE_SIGSTORE_REKOR_URL: sigstore.url,
      },
      catalogue: { find: (name) => Promise.resolve(catalogue.filter((skill) => skill.name === name)) },
    });
  });
  afterEach(async () => {
    await bench[Symbol.asyncDispose]();
    await registry.close();
  });

  type Signing = Omit<PushRequest, 'reference'>;
  const unsigned: Signing = { no_sign: true };
  const byKey = (key: 'own' | 'other' = 'own'): Signing => {
    const path = join(bench.root, `${key}.key`);
    writeFileSync(path, key === 'own' ? keys.privateKey : keys.otherPrivateKey);
    return { key: path };
  };
  const keyless = (changes: Readonly<Record<string, unknown>> = {}): Signing => ({
    identity_token: identityToken(workflowClaims(changes)),
  });

  /** Builds and publishes a skill, and forgets the build, so that installations come from the registry. */
  async function publish(
    name: string,
    signing: Signing,
    options: {
      readonly version?: string;
      readonly tag?: string;
      readonly requires?: readonly string[];
      readonly owner?: string;
    } = {},
  ): Promise<string> {
    const reference = `${registry.host}/${options.owner ?? 'acme'}/${name}:${options.tag ?? '1'}`;
    await bench.service.build({ path: bench.skill(name, options), tag: reference });
    await bench.service.push({ reference, ...signing });
    await bench.service.removeBuild(reference);
    return reference;
  }

  const place = () => ({ scope: 'project', project_root: bench.project, clients: ['claude-code'] });
  const install = (name: string, more: object = {}) => bench.service.install({ name, ...place(), ...more });
  const check = () => bench.service.sync({ project_root: bench.project, check: true });
  const upgrade = (more: object = {}) => bench.service.upgrade({ project_root: bench.project, ...more });
  const refusal = (reason: string) =>
    expect.objectContaining({
      code: 'ERR_SKILLS_LOCK_REFUSED',
      status: 403,
      details: expect.objectContaining({ reason }) as unknown,
    }) as Error;
  const written = () => bench.files().filter((path) => path.includes('skills/'));

  describe('a skill that is signed with a key', () => {
    it('is published, installed with the public key, repaired after tampering, and still verified without a registry', async () => {
      const reference = await publish('demo', byKey());
      const result = await install(reference, { public_key: keys.publicKey });
      expect(result.provenance?.public_key).toBeDefined();
      expect(bench.lock().skills[0]).toMatchObject({
        resolvedReference: reference,
        explicit: true,
        provenance: { publicKey: result.provenance?.public_key },
      });
      expect(await check()).toMatchObject({ already_current: ['demo'] });
      writeFileSync(join(bench.project, '.claude/skills/demo/SKILL.md'), 'tampered');
      expect(await check()).toMatchObject({ drifted: ['demo'] });
      expect(await bench.service.sync({ project_root: bench.project })).toMatchObject({
        installed: ['demo'],
        failed: [],
      });
      await registry.close();
      expect(await check()).toMatchObject({ already_current: ['demo'] });
    });

    it('needs the key, and no other one, and no permission for unsigned skills replaces it', async () => {
      const reference = await publish('demo', byKey());
      await expect(install(reference)).rejects.toEqual(refusal('key-signed'));
      await expect(install(reference, { allow_unsigned: true })).rejects.toEqual(refusal('key-signed'));
      await expect(install(reference, { public_key: keys.otherPublicKey })).rejects.toMatchObject({ status: 403 });
      await expect(install(reference, { public_key: 'nonsense' })).rejects.toMatchObject({ status: 400 });
      expect(written()).toEqual([]);
      expect(bench.lockText()).toBe('');
    });

    it('stays pinned: later installations read the key from the lock, and another key is refused up front', async () => {
      const reference = await publish('demo', byKey());
      await install(reference, { public_key: keys.publicKey });
      await install(reference);
      const seen = registry.requests.length;
      await expect(install(reference, { public_key: keys.otherPublicKey })).rejects.toEqual(refusal('signer-mismatch'));
      expect(registry.requests.slice(seen).some(({ path }) => path.includes('.sig'))).toBe(false);
    });

    it('cannot lend its signature to another artifact', async () => {
      const reference = await publish('demo', byKey());
      await publish('demo', unsigned, { version: '2.0.0', tag: 'evil' });
      const tags = [...registry.manifests.keys()];
      const digests = tags
        .filter((key) => /acme\/demo:(?:1|evil)$/.test(key))
        .map((key) => registry.manifests.get(key));
      expect(digests).toHaveLength(2);
      const signature = registry.manifests.get(tags.find((key) => key.endsWith('.sig')) ?? '');
      const evil = await bench.registry.resolve(`${registry.host}/acme/demo:evil`);
      const key = tags.find((name) => name.endsWith('.sig')) ?? '';
      registry.manifests.set(
        `${key.slice(0, key.lastIndexOf(':'))}:${evil.digest.replace(':', '-')}.sig`,
        signature as NonNullable<typeof signature>,
      );
      await expect(install(`${registry.host}/acme/demo:evil`, { public_key: keys.publicKey })).rejects.toMatchObject({
        status: 403,
      });
      expect(reference).toContain('demo');
      expect(written()).toEqual([]);
    });

    it('is refused for user scope, for git and for local sources with a key', async () => {
      const reference = await publish('demo', byKey());
      await expect(bench.service.install({ name: reference, public_key: keys.publicKey })).rejects.toMatchObject({
        status: 400,
      });
      await expect(install(bench.skill('local'), { public_key: keys.publicKey })).rejects.toMatchObject({
        status: 400,
      });
    });

    it('is upgraded when the pinned key signed the new content, blocked when nobody did, and failed for another key', async () => {
      await install(await publish('demo', byKey()), { public_key: keys.publicKey });
      await publish('demo', byKey(), { version: '2.0.0' });
      expect((await upgrade()).outcomes).toMatchObject([{ name: 'demo', status: 'upgraded' }]);
      expect((await upgrade()).outcomes).toMatchObject([{ status: 'up-to-date' }]);
      await publish('demo', byKey('other'), { version: '3.0.0' });
      expect((await upgrade({ allow_signer_change: true })).outcomes).toMatchObject([{ status: 'failed' }]);
      await publish('demo', unsigned, { version: '4.0.0' });
      expect((await upgrade()).outcomes).toMatchObject([{ status: 'signer-change-blocked', new_signer_identity: '' }]);
      expect(bench.lock().skills[0]?.version).toBe('2.0.0');
      expect((await upgrade({ allow_signer_change: true })).outcomes).toMatchObject([
        { status: 'upgraded', downgraded: true },
      ]);
      expect(bench.lock().skills[0]).toMatchObject({ version: '4.0.0', unsigned: true });
    });
  });

  describe('a skill that is signed keylessly', () => {
    it('is trusted on first use, told about, and enforced from then on', async () => {
      const reference = await publish('demo', keyless());
      const result = await install(reference);
      expect(result.provenance).toMatchObject({
        cert_issuer: 'https://token.actions.githubusercontent.com',
        repository_uri: 'https://github.com/acme/skills',
      });
      expect(result.notices?.join()).toContain('github.com/acme/skills');
      expect(bench.lock().skills[0]?.provenance).toMatchObject({
        signerIdentity: '/.github/workflows/release.yml',
        runnerEnvironment: 'github-hosted',
        repositoryRef: 'refs/tags/v1',
      });
      expect(await check()).toMatchObject({ already_current: ['demo'] });
      expect((await bench.service.info({ name: 'demo', ...place() })).provenance?.signer_identity).toBe(
        '/.github/workflows/release.yml',
      );
      await publish(
        'demo',
        keyless({ sub: 'https://github.com/acme/skills/.github/workflows/evil.yml@refs/tags/v1' }),
        {
          version: '2.0.0',
        },
      );
      await expect(install(reference)).rejects.toMatchObject({ status: 403 });
      expect(bench.lock().skills[0]?.version).toBe('1.0.0');
    });

    it.each([
      ['another ref', { ref: 'refs/tags/attacker' }],
      ['another runner', { runner_environment: 'self-hosted' }],
      [
        'another repository',
        { repository: 'evil/skills', job_workflow_ref: 'evil/skills/.github/workflows/release.yml@refs/tags/v1' },
      ],
    ])('is not upgraded to one from %s without a word', async (_, changes) => {
      await install(await publish('demo', keyless()));
      await publish('demo', keyless(changes), { version: '2.0.0' });
      expect((await upgrade()).outcomes).toMatchObject([{ status: 'signer-change-blocked' }]);
      expect((await upgrade({ preview: true, allow_signer_change: true })).outcomes).toMatchObject([
        { status: 'upgraded' },
      ]);
      expect(bench.lock().skills[0]?.version).toBe('1.0.0');
      expect((await upgrade({ allow_signer_change: true })).outcomes).toMatchObject([{ status: 'upgraded' }]);
      expect(bench.lock().skills[0]?.version).toBe('2.0.0');
      expect(await check()).toMatchObject({ already_current: ['demo'] });
    });

    it('shows an edited lock file or database as drift that cannot be repaired silently', async () => {
      await install(await publish('demo', keyless()));
      const path = join(bench.project, 'toolhive.lock.yaml');
      writeFileSync(path, bench.lockText().replace('/.github/workflows/release.yml', '/.github/workflows/other.yml'));
      expect((await check()).drift.demo?.join()).toMatch(/signature does not verify/);
      const repaired = await bench.service.sync({ project_root: bench.project });
      expect(repaired.failed).toMatchObject([{ name: 'demo', reason: 'signer-mismatch' }]);
    });

    it('keeps an unsigned entry as it was accepted, for sync without a flag', async () => {
      const reference = await publish('demo', unsigned);
      await expect(install(reference)).rejects.toEqual(refusal('unsigned-rejected'));
      await install(reference, { allow_unsigned: true });
      writeFileSync(join(bench.project, '.claude/skills/demo/SKILL.md'), 'tampered');
      expect(await bench.service.sync({ project_root: bench.project })).toMatchObject({
        installed: ['demo'],
        failed: [],
      });
      await expect(install(reference)).rejects.toEqual(refusal('unsigned-rejected'));
    });

    it('refuses an unsigned artifact for a signed entry, also with a flag', async () => {
      const reference = await publish('demo', keyless());
      await install(reference);
      await publish('demo', unsigned, { version: '2.0.0' });
      await expect(install(reference, { allow_unsigned: true })).rejects.toEqual(refusal('unsigned-rejected'));
    });
  });

  describe('a catalogue', () => {
    const offer = (reference: string, provenance: object = {}) => {
      catalogue = [
        { namespace: 'io.acme', name: 'demo', packages: [{ kind: 'oci', identifier: reference }], provenance },
      ];
    };

    it('names a skill, and the first installation is held to the signer that it declares', async () => {
      offer(await publish('demo', keyless()), { repository_uri: 'https://github.com/acme/skills' });
      await install('demo');
      expect(bench.lock().skills[0]).toMatchObject({ source: 'demo' });
    });

    it.each([
      ['another signer', { repository_uri: 'https://github.com/other/skills' }],
      ['an attestation', { attestation: { predicate_type: 'x' } }],
      ['a log of its own', { sigstore_url: 'https://sigstore.other' }],
    ])('refuses a first installation for %s', async (_, provenance) => {
      offer(await publish('demo', keyless()), provenance);
      await expect(install('demo')).rejects.toMatchObject({ status: 403 });
      expect(written()).toEqual([]);
    });

    it('that declares a signer accepts no unsigned skill', async () => {
      offer(await publish('demo', unsigned), { repository_uri: 'https://github.com/acme/skills' });
      await expect(install('demo', { allow_unsigned: true })).rejects.toMatchObject({ status: 403 });
    });

    it('is asked for a namespace and a name, and ambiguity is told', async () => {
      const reference = await publish('demo', unsigned);
      offer(reference);
      catalogue.push({ namespace: 'io.other', name: 'demo', packages: [] });
      await expect(install('demo')).rejects.toMatchObject({
        status: 409,
        message: expect.stringContaining('io.acme/demo') as string,
      });
      await install('io.acme/demo', { allow_unsigned: true });
      await expect(bench.service.install({ name: 'io.other/demo' })).rejects.toMatchObject({ status: 422 });
    });

    it('that points at another repository later blocks the upgrade', async () => {
      offer(await publish('demo', keyless()));
      await install('demo');
      offer(await publish('demo', keyless(), { owner: 'moved', version: '2.0.0' }));
      const { outcomes } = await upgrade();
      expect(outcomes).toMatchObject([
        { status: 'ref-change-blocked', new_resolved_reference: `${registry.host}/moved/demo:1` },
      ]);
      expect((await upgrade({ allow_ref_change: true })).outcomes).toMatchObject([{ status: 'upgraded' }]);
      expect(bench.lock().skills[0]).toMatchObject({
        source: 'demo',
        resolvedReference: `${registry.host}/moved/demo:1`,
      });
    });
  });

  describe('what a skill needs', () => {
    it('is installed with it, shared, and goes with the last that needs it', async () => {
      const base = await publish('base', keyless());
      const middle = await publish('middle', keyless(), { requires: [base] });
      const top = await publish('top', keyless(), { requires: [middle, base] });
      await install(top);
      const parents = Object.fromEntries(
        bench
          .lock()
          .skills.map(({ name, requiredBy, explicit }) => [name, [requiredBy?.join() ?? '', explicit ?? false]]),
      );
      expect(parents).toEqual({ base: ['middle,top', false], middle: ['top', false], top: ['', true] });
      await bench.service.uninstall({ name: 'top', ...place() });
      expect(bench.lock().skills).toEqual([]);
      expect(written()).toEqual([]);
    });

    it('leaves nothing behind when one part is missing', async () => {
      const base = await publish('base', keyless());
      const top = await publish('top', keyless(), { requires: [base, `${registry.host}/acme/ghost:1`] });
      await expect(install(top)).rejects.toMatchObject({ status: 404 });
      expect(written()).toEqual([]);
      expect(bench.lockText()).toBe('');
      expect(await bench.service.list()).toEqual([]);
    });

    it('may not run in a circle', async () => {
      const first = `${registry.host}/acme/first:1`;
      const second = await publish('second', keyless(), { requires: [first] });
      await publish('first', keyless(), { requires: [second] });
      await expect(install(first)).rejects.toMatchObject({
        status: 422,
        message: expect.stringContaining('first -> second -> first') as string,
      });
      expect(written()).toEqual([]);
    });

    it('is dropped when a new version needs it no more, and stays where somebody asked for it', async () => {
      const base = await publish('base', keyless());
      const extra = await publish('extra', keyless());
      await install(await publish('top', keyless(), { requires: [base, extra] }));
      await install(extra);
      await publish('top', keyless(), { version: '2.0.0' });
      expect((await upgrade({ names: ['top'] })).outcomes).toMatchObject([{ status: 'upgraded' }]);
      expect(bench.lock().skills.map(({ name }) => name)).toEqual(['extra', 'top']);
      expect(existsSync(join(bench.project, '.claude/skills/base'))).toBe(false);
    });

    it('is not installed for user scope, and the user is told', async () => {
      const base = await publish('base', keyless());
      const result = await bench.service.install({ name: await publish('top', keyless(), { requires: [base] }) });
      expect(result.notices?.join()).toContain('user scope does not install');
    });
  });

  describe('sync and upgrade', () => {
    it('tell what is wrong with the registry, skill by skill', async () => {
      await install(await publish('demo', keyless()));
      await bench.service.uninstall({ name: 'demo', scope: 'project', project_root: bench.project });
      await install(await publish('demo', keyless()));
      await bench.store.delete({ name: 'demo', scope: 'project', projectRoot: bench.project });
      expect(await check()).toMatchObject({ missing: ['demo'] });
      registry.inject({ path: /\/v2\//, fault: { kind: 'status', status: 503 } });
      expect(await bench.service.sync({ project_root: bench.project })).toMatchObject({
        failed: [{ name: 'demo', reason: 'registry-unreachable' }],
      });
      expect((await upgrade()).outcomes).toMatchObject([{ status: 'failed', reason: 'registry-unreachable' }]);
      registry.clearFaults();
      expect(await bench.service.sync({ project_root: bench.project })).toMatchObject({ installed: ['demo'] });
    });

    it('refuse names that are not locked, and know what cannot move', async () => {
      const reference = await publish('demo', unsigned);
      const { digest } = await bench.registry.resolve(reference);
      await install(`${reference.slice(0, reference.lastIndexOf(':'))}@${digest}`, { allow_unsigned: true });
      expect((await upgrade()).outcomes).toMatchObject([{ status: 'not-upgradable' }]);
      await expect(upgrade({ names: ['ghost'] })).rejects.toMatchObject({
        status: 404,
        message: expect.stringContaining('demo') as string,
      });
    });

    it('write nothing when they only report', async () => {
      await install(await publish('demo', unsigned), { allow_unsigned: true });
      await publish('demo', unsigned, { version: '2.0.0' });
      const before = [bench.lockText(), bench.read('work/project/.claude/skills/demo/SKILL.md')];
      expect((await upgrade({ preview: true })).outcomes).toMatchObject([{ status: 'upgraded' }]);
      expect((await upgrade({ fail_on_changes: true })).outcomes).toMatchObject([{ status: 'upgraded' }]);
      expect([bench.lockText(), bench.read('work/project/.claude/skills/demo/SKILL.md')]).toEqual(before);
    });

    it('adopt what was never managed, with the signer that its stored signature proves', async () => {
      await install(await publish('demo', keyless()));
      const record = await bench.store.get({ name: 'demo', scope: 'project', projectRoot: bench.project });
      await bench.store.put({ ...(record as NonNullable<typeof record>), managed: false });
      writeFileSync(join(bench.project, 'toolhive.lock.yaml'), 'version: 1\n');
      expect(await check()).toMatchObject({ never_managed: ['demo'] });
      expect(await bench.service.sync({ project_root: bench.project, adopt: true })).toMatchObject({
        adopted: ['demo'],
        never_managed: [],
      });
      expect(bench.lock().skills[0]?.provenance?.signerIdentity).toBe('/.github/workflows/release.yml');
      expect(await check()).toMatchObject({ already_current: ['demo'] });
    });

    it('do not adopt what is signed with a key', async () => {
      await install(await publish('demo', byKey()), { public_key: keys.publicKey });
      const record = await bench.store.get({ name: 'demo', scope: 'project', projectRoot: bench.project });
      await bench.store.put({ ...(record as NonNullable<typeof record>), managed: false });
      writeFileSync(join(bench.project, 'toolhive.lock.yaml'), 'version: 1\n');
      expect(
        await bench.service.sync({ project_root: bench.project, adopt: true, allow_unsigned: true }),
      ).toMatchObject({
        failed: [{ reason: 'key-signed' }],
      });
    });

    it('keep the clients that were chosen', async () => {
      await install(await publish('demo', unsigned), { allow_unsigned: true, clients: ['codex'] });
      await publish('demo', unsigned, { version: '2.0.0' });
      await upgrade();
      expect((await bench.service.list())[0]?.clients).toEqual(['codex']);
    });
  });

  describe('an artifact', () => {
    it('must carry the name of its repository', async () => {
      const reference = `${registry.host}/acme/other:1`;
      await bench.service.build({ path: bench.skill('demo'), tag: reference });
      await bench.service.push({ reference, no_sign: true });
      await bench.service.removeBuild(reference);
      await expect(bench.service.install({ name: reference })).rejects.toMatchObject({ status: 422 });
    });

    it.each([
      ['a wrong digest', { kind: 'wrong-bytes' }],
      ['half a body', { kind: 'truncate' }],
      ['a closed connection', { kind: 'reset' }],
      ['too many requests', { kind: 'status', status: 429 }],
      ['no access', { kind: 'status', status: 403 }],
    ] as const)('that arrives with %s leaves nothing behind', async (_, fault) => {
      const reference = await publish('demo', unsigned);
      await bench.service.content(reference);
      registry.inject({ path: /\/blobs\//, fault });
      const before = bench.files();
      const other = await openBench({ via });
      await expect(other.service.install({ name: reference })).rejects.toMatchObject({ name: 'SkillsLockError' });
      expect(bench.files()).toEqual(before);
      await other[Symbol.asyncDispose]();
    });
  });
}
