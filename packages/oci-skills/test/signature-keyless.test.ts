import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signArtifact, verifySignature, verifyStoredSignature } from '@thv/oci-skills';
import type { CatalogueProvenance } from '@thv/oci-skills';
import { startSigstore, workflowClaims } from './support/sigstore.js';
import type { TestSigstore } from './support/sigstore.js';
import { keylessIn, layouts, pem, push, recorded, trustIn } from './support/stage.js';

let sigstore: TestSigstore;
beforeAll(async () => {
  sigstore = await startSigstore();
});
afterAll(() => sigstore.close());
const trust = () => trustIn(sigstore);
const keyless = (claims?: Readonly<Record<string, unknown>>) => keylessIn(sigstore, claims);

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
