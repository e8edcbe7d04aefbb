import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signArtifact, verifySignature, verifyStoredSignature } from '@thv/oci-skills';
import { startSigstore } from './support/sigstore.js';
import type { TestSigstore } from './support/sigstore.js';
import { keylessIn, pem, push, trustIn } from './support/stage.js';

let sigstore: TestSigstore;
beforeAll(async () => {
  sigstore = await startSigstore();
});
afterAll(() => sigstore.close());
const trust = () => trustIn(sigstore);
const keyless = (claims?: Readonly<Record<string, unknown>>) => keylessIn(sigstore, claims);

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
