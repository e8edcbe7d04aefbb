// Verifying stored signatures of a key pair, next to the bare check of the same signatures.
import { createHash, sign, verify } from 'node:crypto';
import { signaturePayload, verifyStoredSignature } from '../../../packages/oci-skills/dist/index.js';

const REFERENCE = 'registry.example/acme/my-skill:1.0.0';

/** A bundle as a store keeps it. @see https://docs.sigstore.dev/about/bundle/ */
function bundleOf(payload, privateKey) {
  return JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: { publicKey: { hint: '' } },
    messageSignature: {
      messageDigest: { algorithm: 'SHA2_256', digest: createHash('sha256').update(payload).digest('base64') },
      signature: sign('sha256', payload, privateKey).toString('base64'),
    },
  });
}

const milliseconds = async (action) => {
  const before = process.cpuUsage();
  await action();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
};

export async function verifyStored(count, { privateKey, publicKey }) {
  const stored = Array.from({ length: count }, (_, index) => {
    const digest = `sha256:${createHash('sha256').update(String(index)).digest('hex')}`;
    const payload = signaturePayload(REFERENCE, digest);
    return { digest, payload, bundle: bundleOf(payload, privateKey) };
  });
  const key = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  const ours = await milliseconds(async () => {
    for (const { digest, payload, bundle } of stored) {
      await verifyStoredSignature({
        bundle,
        payload,
        reference: REFERENCE,
        digest,
        policy: { kind: 'key', publicKey: key },
      });
    }
  });
  const bare = await milliseconds(() => {
    for (const { payload, bundle } of stored) {
      const signature = Buffer.from(JSON.parse(bundle).messageSignature.signature, 'base64');
      if (!verify('sha256', payload, publicKey, signature)) throw new Error('a signature does not verify');
    }
  });
  return { ours, bare };
}
