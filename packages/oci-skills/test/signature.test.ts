import { createHash, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  createKeyPair,
  packSkill,
  parsePublicKey,
  signArtifact,
  signaturePayload,
  verifySignature,
  verifyStoredSignature,
} from '@thv/oci-skills';
import type { Blob, PackedSkill, Registry } from '@thv/oci-skills';
import type { TestRegistry } from './support/registry.js';
import { helloFile, writeSkillDirectory } from './support/skills.js';
import { layouts, pem, push } from './support/stage.js';

/** Replace the signature under the tag by one over other bytes. */
async function resign(
  there: TestRegistry,
  registry: Registry,
  reference: string,
  packed: PackedSkill,
  payload: Buffer,
  privateKey: string,
): Promise<void> {
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
