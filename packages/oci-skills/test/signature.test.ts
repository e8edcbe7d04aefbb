import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  createKeyPair,
  createRegistry,
  packSkill,
  parsePublicKey,
  signArtifact,
  signaturePayload,
  verifySignature,
  verifyStoredSignature,
} from '@thv/oci-skills';
import type { Blob, CatalogueProvenance, PackedSkill, Provenance, Registry, SigningMethod } from '@thv/oci-skills';
import { startRegistry } from './support/registry.js';
import type { TestRegistry } from './support/registry.js';
import { identityToken, startSigstore, workflowClaims } from './support/sigstore.js';
import type { TestSigstore } from './support/sigstore.js';
import { helloFile, writeSkillDirectory } from './support/skills.js';

let sigstore: TestSigstore;
beforeAll(async () => {
  sigstore = await startSigstore();
});
afterAll(() => sigstore.close());

const pem = (kind: 'ec' | 'ed25519' | 'rsa'): { privateKey: string; publicKey: string } => {
  const pair =
    kind === 'ec'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : kind === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ed25519');
  return {
    privateKey: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
    publicKey: pair.publicKey.export({ format: 'pem', type: 'spki' }) as string,
  };
};

interface Stage {
  readonly there: TestRegistry;
  readonly registry: Registry;
  readonly packed: PackedSkill;
  readonly reference: string;
}

async function push(referrers = true, file = helloFile): Promise<Stage> {
  const there = await startRegistry({ referrers });
  const registry = createRegistry({ allowLoopback: true, maxRetries: 0 });
  onTestFinished(() => registry.close());
  onTestFinished(() => there.close());
  const packed = await packSkill(await writeSkillDirectory('hello-skill', { 'SKILL.md': file }));
  const reference = `${there.host}/acme/hello-skill:1.0.0`;
  await registry.push(reference, packed);
  return { there, registry, packed, reference };
}

const layouts = ['signature-tag', 'referrer'] as const;
const trust = () => ({ trustedRoot: sigstore.trustedRoot, certificateLogThreshold: 0 });
const keyless = (claims: Readonly<Record<string, unknown>> = workflowClaims()): SigningMethod => ({
  kind: 'keyless',
  identityToken: identityToken(claims),
  fulcioUrl: sigstore.url,
  rekorUrl: sigstore.url,
});
const recorded: Provenance = {
  signerIdentity: '/.github/workflows/release.yml',
  certIssuer: 'https://token.actions.githubusercontent.com',
  repositoryUri: 'https://github.com/acme/skills',
  repositoryRef: 'refs/tags/v1',
  runnerEnvironment: 'github-hosted',
  sigstoreUrl: 'https://rekor.sigstore.dev',
};

test('the payload is that of the worked example', () => {
  const digest = 'sha256:1698c5068ec9bcf55cb0b09c39641be5dbd959c9b7d92662426975dddfc6ccd3';
  const payload = Buffer.from(signaturePayload('localhost:5000/org/hello-skill', digest));
  expect(payload).toHaveLength(230);
  expect(payload.toString()).toBe(
    `{"critical":{"identity":{"docker-reference":"localhost:5000/org/hello-skill"},"image":{"docker-manifest-digest":"${digest}"},"type":"cosign container image signature"}}`,
  );
});

describe('with a key', () => {
  test.each(
    layouts.flatMap(
      (layout) =>
        [
          [layout, true],
          [layout, false],
        ] as const,
    ),
  )('%s with referrers %s signs, verifies and verifies again offline', async (layout, referrers) => {
    const { registry, packed, reference, there } = await push(referrers);
    const { privateKey, publicKey } = pem('ec');
    const method = { kind: 'key', privateKey } as const;
    const signed = await signArtifact(reference, packed.digest, { registry, method, layout });
    expect(signed).toMatchObject({ alreadySigned: false, provenance: { publicKey: parsePublicKey(publicKey) } });
    const policy = { kind: 'key', publicKey } as const;
    const verified = await verifySignature(reference, packed.digest, { registry, policy });
    expect(verified).toMatchObject({ kind: 'key', layout, provenance: { publicKey: parsePublicKey(publicKey) } });
    await there.close();
    const { bundle, payload } = verified;
    expect(await verifyStoredSignature({ bundle, payload, reference, digest: packed.digest, policy })).toEqual(
      verified.provenance,
    );
    expect(await verifyStoredSignature({ bundle, reference, digest: packed.digest, policy })).toEqual(
      verified.provenance,
    );
    const other = { kind: 'key', publicKey: pem('ec').publicKey } as const;
    await expect(
      verifyStoredSignature({ bundle, payload, reference, digest: packed.digest, policy: other }),
    ).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_SIGNER_MISMATCH' });
    await expect(
      verifyStoredSignature({ bundle, payload, reference, digest: `sha256:${'1'.repeat(64)}`, policy }),
    ).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_SIGNATURE' });
  });

  test.each(['ed25519', 'rsa'] as const)('of the kind %s', async (kind) => {
    const { registry, packed, reference } = await push();
    const { privateKey, publicKey } = pem(kind);
    await signArtifact(reference, packed.digest, { registry, method: { kind: 'key', privateKey } });
    expect(
      (await verifySignature(reference, packed.digest, { registry, policy: { kind: 'key', publicKey } })).kind,
    ).toBe('key');
  });

  test('signing twice adds nothing, and a second signer stands beside the first', async () => {
    const { registry, packed, reference, there } = await push();
    const [first, second] = [pem('ec'), pem('ec')];
    for (const [pair, already] of [
      [first, false],
      [first, true],
      [second, false],
    ] as const) {
      const result = await signArtifact(reference, packed.digest, {
        registry,
        method: { kind: 'key', privateKey: pair.privateKey },
      });
      expect(result.alreadySigned).toBe(already);
    }
    const manifest = there.manifests.get(`acme/hello-skill:${packed.digest.replace(':', '-')}.sig`);
    expect((JSON.parse(String(manifest?.bytes)) as { layers: unknown[] }).layers).toHaveLength(2);
    for (const { publicKey } of [first, second])
      await verifySignature(reference, packed.digest, { registry, policy: { kind: 'key', publicKey } });
  });

  test('an encrypted key opens with its password alone', async () => {
    const { registry, packed, reference } = await push();
    const { privateKey, publicKey } = await createKeyPair({ password: 'hunter2' });
    expect(privateKey).toMatch(/^-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----/);
    const sign = (password: string) =>
      signArtifact(reference, packed.digest, { registry, method: { kind: 'key', privateKey, password } });
    await expect(sign('wrong')).rejects.toMatchObject({
      code: 'ERR_OCI_SKILLS_KEY',
      message: expect.stringContaining('COSIGN_PASSWORD') as string,
    });
    await sign('hunter2');
    await verifySignature(reference, packed.digest, { registry, policy: { kind: 'key', publicKey } });
  });

  test('a key file that would cost too much is refused', async () => {
    const { registry, packed, reference } = await push();
    const json = {
      kdf: { name: 'scrypt', params: { N: 2 ** 24, r: 8, p: 1 }, salt: 'AAAA' },
      cipher: { name: 'nacl/secretbox', nonce: Buffer.alloc(24).toString('base64') },
      ciphertext: 'AAAA',
    };
    const privateKey = `-----BEGIN ENCRYPTED COSIGN PRIVATE KEY-----\n${Buffer.from(JSON.stringify(json)).toString('base64')}\n-----END ENCRYPTED COSIGN PRIVATE KEY-----\n`;
    await expect(
      signArtifact(reference, packed.digest, { registry, method: { kind: 'key', privateKey } }),
    ).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_KEY' });
  });

  test.each([
    'nonsense',
    'AAAA',
    pem('ec').privateKey,
    generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'pem', type: 'spki' }) as string,
  ])('%j is no public key', (text) => {
    expect(() => parsePublicKey(text)).toThrow(expect.objectContaining({ code: 'ERR_OCI_SKILLS_KEY' }));
  });

  test("a signature copied from another artifact's tag does not verify", async () => {
    const { registry, packed, reference, there } = await push();
    const { privateKey, publicKey } = pem('ec');
    await signArtifact(reference, packed.digest, { registry, method: { kind: 'key', privateKey } });
    const evil = await packSkill(await writeSkillDirectory('hello-skill', { 'SKILL.md': `${helloFile}evil\n` }));
    await registry.push(reference, evil);
    const tag = (digest: string) => `acme/hello-skill:${digest.replace(':', '-')}.sig`;
    there.manifests.set(
      tag(evil.digest),
      there.manifests.get(tag(packed.digest)) as { mediaType: string; bytes: Buffer },
    );
    await expect(
      verifySignature(reference, evil.digest, { registry, policy: { kind: 'key', publicKey } }),
    ).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_SIGNATURE' });
  });

  test('claims beyond the payload need the relaxed mode', async () => {
    const { registry, packed, reference, there } = await push();
    const { privateKey, publicKey } = pem('ec');
    const { payload } = await signArtifact(reference, packed.digest, { registry, method: { kind: 'key', privateKey } });
    const text = Buffer.from(payload).toString().replace(/}$/, ',"optional":null}');
    await resign(there, registry, reference, packed, Buffer.from(text), privateKey);
    const policy = { kind: 'key', publicKey } as const;
    await expect(verifySignature(reference, packed.digest, { registry, policy })).rejects.toMatchObject({
      code: 'ERR_OCI_SKILLS_SIGNATURE',
    });
    expect(
      (await verifySignature(reference, packed.digest, { registry, policy, strictPayload: false })).payload,
    ).toEqual(Buffer.from(text));
  });

  test.each(layouts)('a signature that a keyless policy meets in %s is called one with a key', async (layout) => {
    const { registry, packed, reference } = await push();
    await signArtifact(reference, packed.digest, {
      registry,
      layout,
      method: { kind: 'key', privateKey: pem('ec').privateKey },
    });
    await expect(
      verifySignature(reference, packed.digest, { registry, policy: { kind: 'keyless' } }),
    ).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_KEY_SIGNED' });
  });
});

/** Replace the signature under the tag by one over other bytes. */
async function resign(
  there: TestRegistry,
  registry: Registry,
  reference: string,
  packed: PackedSkill,
  payload: Buffer,
  privateKey: string,
): Promise<void> {
  const { createHash, createPrivateKey, sign } = await import('node:crypto');
  const digest = `sha256:${createHash('sha256').update(payload).digest('hex')}`;
  const mediaType = 'application/vnd.dev.cosign.simplesigning.v1+json';
  const blob: Blob = { mediaType, digest, size: payload.length, bytes: payload };
  await registry.putBlob(reference, blob);
  const key = `acme/hello-skill:${packed.digest.replace(':', '-')}.sig`;
  const there0 = there.manifests.get(key) as { mediaType: string; bytes: Buffer };
  const json = JSON.parse(there0.bytes.toString()) as { layers: unknown[] };
  const annotations = {
    'dev.cosignproject.cosign/signature': sign('sha256', payload, createPrivateKey(privateKey)).toString('base64'),
  };
  json.layers = [{ mediaType, digest, size: payload.length, annotations }];
  there.manifests.set(key, { mediaType: there0.mediaType, bytes: Buffer.from(JSON.stringify(json)) });
}

describe('keyless', () => {
  test.each(
    layouts.flatMap(
      (layout) =>
        [
          [layout, true],
          [layout, false],
        ] as const,
    ),
  )('%s with referrers %s signs, verifies and verifies again offline', async (layout, referrers) => {
    const { registry, packed, reference, there } = await push(referrers);
    const signed = await signArtifact(reference, packed.digest, { registry, method: keyless(), layout, ...trust() });
    expect(signed.provenance).toEqual(recorded);
    const policy = { kind: 'keyless' } as const;
    const verified = await verifySignature(reference, packed.digest, { registry, policy, ...trust() });
    expect(verified).toMatchObject({ kind: 'keyless', layout, provenance: recorded });
    await there.close();
    const stored = { bundle: verified.bundle, payload: verified.payload, reference, digest: packed.digest, ...trust() };
    expect(await verifyStoredSignature({ ...stored, policy: { kind: 'keyless', expected: recorded } })).toEqual(
      recorded,
    );
    await expect(
      verifyStoredSignature({ ...stored, policy: { kind: 'key', publicKey: pem('ec').publicKey } }),
    ).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_KEYLESS_SIGNED' });
    await expect(
      verifyStoredSignature({ ...stored, digest: `sha256:${'1'.repeat(64)}`, policy }),
    ).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_SIGNATURE' });
  });

  test('the same signer signs once', async () => {
    const { registry, packed, reference } = await push();
    const sign = () => signArtifact(reference, packed.digest, { registry, method: keyless(), ...trust() });
    expect((await sign()).alreadySigned).toBe(false);
    expect((await sign()).alreadySigned).toBe(true);
  });

  const mismatches: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
    [
      'another workflow',
      { sub: 'https://github.com/acme/skills/.github/workflows/evil.yml@refs/tags/v1' },
      'ERR_OCI_SKILLS_SIGNER_MISMATCH',
    ],
    [
      'a workflow whose name goes on',
      { sub: 'https://github.com/acme/skills/.github/workflows/release.yml.evil@refs/tags/v1' },
      'ERR_OCI_SKILLS_SIGNER_MISMATCH',
    ],
    [
      'a name that only contains the right one',
      { sub: 'https://evil.example/?x=https://github.com/acme/skills/.github/workflows/release.yml' },
      'ERR_OCI_SKILLS_SIGNER_MISMATCH',
    ],
    [
      'another repository',
      { repository: 'evil/skills', sub: 'https://github.com/evil/skills/.github/workflows/release.yml@refs/tags/v1' },
      'ERR_OCI_SKILLS_SIGNER_MISMATCH',
    ],
    ['another issuer', { iss: 'https://accounts.example' }, 'ERR_OCI_SKILLS_SIGNER_MISMATCH'],
    ['another tag', { ref: 'refs/tags/attacker-release' }, 'ERR_OCI_SKILLS_PROVENANCE_MISMATCH'],
    ['another runner class', { runner_environment: 'self-hosted' }, 'ERR_OCI_SKILLS_PROVENANCE_MISMATCH'],
  ];
  test.each(mismatches)('%s does not fit the record', async (_, claims, code) => {
    const { registry, packed, reference } = await push();
    await signArtifact(reference, packed.digest, { registry, method: keyless(workflowClaims(claims)), ...trust() });
    await expect(
      verifySignature(reference, packed.digest, {
        registry,
        policy: { kind: 'keyless', expected: recorded },
        ...trust(),
      }),
    ).rejects.toMatchObject({ code });
  });

  test('a certificate without a log proof fails under the default policy', async () => {
    const { registry, packed, reference } = await push();
    await signArtifact(reference, packed.digest, { registry, method: keyless(), ...trust() });
    const verify = verifySignature(reference, packed.digest, {
      registry,
      policy: { kind: 'keyless' },
      trustedRoot: sigstore.trustedRoot,
    });
    await expect(verify).rejects.toMatchObject({
      code: 'ERR_OCI_SKILLS_SIGNATURE',
      message: expect.stringContaining('SCT') as string,
    });
  });

  test('the public trust root does not know a private authority', async () => {
    const { registry, packed, reference } = await push();
    await signArtifact(reference, packed.digest, { registry, method: keyless(), ...trust() });
    await expect(
      verifySignature(reference, packed.digest, { registry, policy: { kind: 'keyless' } }),
    ).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_SIGNATURE' });
    await expect(signArtifact(reference, packed.digest, { registry, method: keyless() })).rejects.toMatchObject({
      code: 'ERR_OCI_SKILLS_SIGNING',
    });
  });

  const catalogues: readonly (readonly [string, CatalogueProvenance, string | undefined])[] = [
    ['nothing', {}, undefined],
    [
      'the right repository',
      { repository_uri: 'https://github.com/acme/skills', runner_environment: 'github-hosted' },
      undefined,
    ],
    [
      'the right identity in full',
      { signer_identity: 'https://github.com/acme/skills/.github/workflows/release.yml' },
      undefined,
    ],
    ['another repository', { repository_uri: 'https://github.com/acme/other' }, 'ERR_OCI_SKILLS_CATALOGUE'],
    ['another identity', { signer_identity: '/.github/workflows/other.yml' }, 'ERR_OCI_SKILLS_CATALOGUE'],
    ['another Sigstore', { sigstore_url: 'https://rekor.example' }, 'ERR_OCI_SKILLS_CATALOGUE'],
    ['an attestation', { attestation: { predicate_type: 'x' } }, 'ERR_OCI_SKILLS_CATALOGUE'],
  ];
  test.each(catalogues)('a catalogue that declares %s', async (_, catalogue, code) => {
    const { registry, packed, reference } = await push();
    await signArtifact(reference, packed.digest, { registry, method: keyless(), ...trust() });
    const verify = verifySignature(reference, packed.digest, {
      registry,
      policy: { kind: 'keyless', catalogue },
      ...trust(),
    });
    if (code === undefined) await expect(verify).resolves.toMatchObject({ provenance: recorded });
    else await expect(verify).rejects.toMatchObject({ code });
  });

  test.each(['not-a-token', 'a.b', `${'a'.repeat(20_000)}.b.c`])(
    'the token %.20s is refused without being shown',
    async (identityToken) => {
      const { registry, packed, reference } = await push();
      const sign = signArtifact(reference, packed.digest, {
        registry,
        method: { kind: 'keyless', identityToken },
        ...trust(),
      });
      await expect(sign).rejects.toMatchObject({
        code: 'ERR_OCI_SKILLS_ARGUMENT',
        message: expect.not.stringContaining(identityToken) as string,
      });
    },
  );

  test.each(['http://fulcio.example', 'nonsense'])('the token is not sent to %s', async (fulcioUrl) => {
    const { registry, packed, reference } = await push();
    const sign = signArtifact(reference, packed.digest, {
      registry,
      method: { kind: 'keyless', identityToken: 'a.b.c', fulcioUrl },
      ...trust(),
    });
    await expect(sign).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_ARGUMENT' });
  });
});

describe('what is tampered with', () => {
  type Layer = { annotations: Record<string, string>; mediaType: string };
  const bundleKey = 'dev.sigstore.cosign/bundle';
  const edits: readonly (readonly [string, (layer: Layer) => void])[] = [
    [
      'the signature',
      ({ annotations }) =>
        void (annotations['dev.cosignproject.cosign/signature'] = Buffer.from('nonsense').toString('base64')),
    ],
    ['the certificate', ({ annotations }) => void (annotations['dev.sigstore.cosign/certificate'] = 'nonsense')],
    ['the log entry away', ({ annotations }) => void delete annotations[bundleKey]],
    ['the log entry to nonsense', ({ annotations }) => void (annotations[bundleKey] = '{')],
    [
      'the time',
      ({ annotations }) =>
        void (annotations[bundleKey] = String(annotations[bundleKey]).replace(
          /"integratedTime":\d+/,
          '"integratedTime":1700000000',
        )),
    ],
    [
      'the log index',
      ({ annotations }) =>
        void (annotations[bundleKey] = String(annotations[bundleKey]).replace(
          /"logIndex":\d+/,
          '"logIndex":9007199254740993',
        )),
    ],
    [
      "the log's promise",
      ({ annotations }) =>
        void (annotations[bundleKey] = String(annotations[bundleKey]).replace(
          /"SignedEntryTimestamp":"[^"]{8}/,
          '"SignedEntryTimestamp":"AAAAAAAA',
        )),
    ],
  ];
  test.each(edits)('a keyless signature with %s changed does not verify', async (_, edit) => {
    const { registry, packed, reference, there } = await push();
    await signArtifact(reference, packed.digest, { registry, method: keyless(), ...trust() });
    const key = `acme/hello-skill:${packed.digest.replace(':', '-')}.sig`;
    const { bytes, mediaType } = there.manifests.get(key) as { mediaType: string; bytes: Buffer };
    const json = JSON.parse(bytes.toString()) as { layers: Layer[] };
    edit(json.layers[0] as Layer);
    there.manifests.set(key, { mediaType, bytes: Buffer.from(JSON.stringify(json)) });
    await expect(
      verifySignature(reference, packed.digest, { registry, policy: { kind: 'keyless' }, ...trust() }),
    ).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_SIGNATURE' });
  });

  test('a stored bundle that states another hash, or is no bundle, does not verify', async () => {
    const { registry, packed, reference } = await push();
    const { bundle, payload } = await signArtifact(reference, packed.digest, {
      registry,
      method: keyless(),
      ...trust(),
    });
    const other = bundle.replace(/"digest":"[^"]+"/, `"digest":"${Buffer.alloc(32).toString('base64')}"`);
    for (const text of [other, '{}', 'x', bundle.replace('.v0.3', '.v9')]) {
      const verify = verifyStoredSignature({
        bundle: text,
        payload,
        reference,
        digest: packed.digest,
        policy: { kind: 'keyless' },
        ...trust(),
      });
      await expect(verify).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_SIGNATURE' });
    }
  });

  test('junk under the signature tag does not hide a good referrer', async () => {
    const { registry, packed, reference, there } = await push();
    const { privateKey, publicKey } = pem('ec');
    await signArtifact(reference, packed.digest, { registry, layout: 'referrer', method: { kind: 'key', privateKey } });
    there.manifests.set(`acme/hello-skill:${packed.digest.replace(':', '-')}.sig`, {
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      bytes: Buffer.from('{"layers":7}'),
    });
    expect(
      (await verifySignature(reference, packed.digest, { registry, policy: { kind: 'key', publicKey } })).layout,
    ).toBe('referrer');
  });

  test('an artifact without signatures is unsigned, and a registry that fails is not', async () => {
    const { registry, packed, reference, there } = await push();
    const verify = () => verifySignature(reference, packed.digest, { registry, policy: { kind: 'keyless' } });
    await expect(verify()).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_UNSIGNED' });
    there.inject({ path: /\.sig$/, fault: { kind: 'status', status: 503 } });
    await expect(verify()).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_REGISTRY' });
    const sign = signArtifact(reference, packed.digest, {
      registry,
      method: { kind: 'key', privateKey: pem('ec').privateKey },
    });
    await expect(sign).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_REGISTRY' });
  });

  test('a trust root that is none is refused', async () => {
    const { registry, packed, reference } = await push();
    await expect(
      verifySignature(reference, packed.digest, { registry, policy: { kind: 'keyless' }, trustedRoot: '{' }),
    ).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_TRUST_ROOT' });
  });
});
