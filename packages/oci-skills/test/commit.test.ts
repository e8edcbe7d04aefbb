import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { X509Certificate } from '@sigstore/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { matchProvenance, verifyCommitSignature } from '@thv/oci-skills';
import { startSigstore } from './support/sigstore.js';
import type { TestSigstore } from './support/sigstore.js';

let sigstore: TestSigstore;
beforeAll(async () => {
  sigstore = await startSigstore();
});
afterAll(() => sigstore.close());

const plain = `tree ${'1'.repeat(40)}\nparent ${'2'.repeat(40)}\nauthor Ann <ann@example.com> 1700000000 +0000\ncommitter Ann <ann@example.com> 1700000000 +0000\n`;
const message = '\nAdd a skill with an é\n';
const withSignature = (armor: string, text = message): Buffer =>
  Buffer.from(`${plain}gpgsig ${armor.trimEnd().replaceAll('\n', '\n ')}\n${text}`);

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const size = body.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const sha256 = der(0x30, oid('608648016503040201'));
const data = oid('2a864886f70d010701');

/** A detached signed message, as gitsign writes it. */
function signedMessage(content: Buffer, certificate: Buffer, key: KeyObject): string {
  const digest = createHash('sha256').update(content).digest();
  const attributes = [
    der(0x30, oid('2a864886f70d010903'), der(0x31, data)),
    der(0x30, oid('2a864886f70d010904'), der(0x31, der(0x04, digest))),
  ];
  const signature = sign('sha256', der(0x31, ...attributes), key);
  const { issuer, serialNumber } = X509Certificate.parse(Buffer.from(certificate));
  const signer = der(
    0x30,
    der(0x02, Buffer.from([1])),
    der(0x30, der(0x30, issuer), der(0x02, serialNumber)),
    sha256,
    der(0xa0, ...attributes),
    der(0x30, oid('2a8648ce3d040302')),
    der(0x04, signature),
  );
  const signedData = der(
    0x30,
    der(0x02, Buffer.from([1])),
    der(0x31, sha256),
    der(0x30, data),
    der(0xa0, certificate),
    der(0x31, signer),
  );
  const message = der(0x30, oid('2a864886f70d010702'), der(0xa0, signedData));
  return `-----BEGIN SIGNED MESSAGE-----\n${(message.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END SIGNED MESSAGE-----\n`;
}

async function signedCommit(subject = 'ann@example.com'): Promise<{ commit: Buffer; armor: string }> {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificate = await sigstore.issue(pair.publicKey.export({ format: 'der', type: 'spki' }), subject, [
    { oid: '1.3.6.1.4.1.57264.1.8', value: 'https://accounts.example' },
  ]);
  const armor = signedMessage(Buffer.from(plain + message), certificate, pair.privateKey);
  return { commit: withSignature(armor), armor };
}
const trust = () => ({ trustedRoot: sigstore.trustedRoot });

test('a signed commit names its signer, provisionally', async () => {
  const { commit } = await signedCommit();
  const provenance = await verifyCommitSignature(commit, trust());
  expect(provenance).toEqual({
    signerIdentity: 'ann@example.com',
    certIssuer: 'https://accounts.example',
    sigstoreUrl: 'https://rekor.sigstore.dev',
    provisional: true,
  });
  expect(await verifyCommitSignature(commit, { ...trust(), expected: provenance })).toEqual(provenance);
  const expected = { ...provenance, signerIdentity: 'eve@example.com' };
  await expect(verifyCommitSignature(commit, { ...trust(), expected })).rejects.toMatchObject({
    code: 'ERR_OCI_SKILLS_SIGNER_MISMATCH',
  });
});

test('a changed commit, another root and a cut signature do not verify', async () => {
  const { commit, armor } = await signedCommit();
  const changed = [
    Buffer.from(commit.toString().replace('Add a skill', 'Add a trojan')),
    withSignature(armor, '\nother\n'),
    withSignature(armor.replace(/\n[^\n]+\n-----END/, '\n-----END')),
    withSignature('-----BEGIN SIGNED MESSAGE-----\nAAAA\n-----END SIGNED MESSAGE-----\n'),
    withSignature('nonsense'),
    Buffer.from(`${plain}gpgsig x\ngpgsig y\n${message}`),
  ];
  for (const bytes of changed)
    await expect(verifyCommitSignature(bytes, trust())).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_SIGNATURE' });
  await expect(verifyCommitSignature(commit)).rejects.toMatchObject({ code: 'ERR_OCI_SKILLS_SIGNATURE' });
});

test.each([
  ['no signature', Buffer.from(plain + message), 'ERR_OCI_SKILLS_UNSIGNED'],
  [
    'a PGP signature',
    withSignature('-----BEGIN PGP SIGNATURE-----\n\nAAAA\n-----END PGP SIGNATURE-----'),
    'ERR_OCI_SKILLS_FOREIGN_SIGNATURE',
  ],
  [
    'an SSH signature',
    withSignature('-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----'),
    'ERR_OCI_SKILLS_FOREIGN_SIGNATURE',
  ],
])('a commit with %s', async (_, commit, code) => {
  await expect(verifyCommitSignature(commit, trust())).rejects.toMatchObject({ code });
});

test('recorded signers are compared to the letter', () => {
  const observed = {
    signerIdentity: '/w.yml',
    certIssuer: 'https://i',
    repositoryUri: 'https://github.com/a/b',
    repositoryRef: 'refs/tags/v1',
  };
  const cases = [
    [observed, undefined],
    [{ ...observed, repositoryRef: '' }, undefined],
    [{ ...observed, repositoryUri: 'https://github.com/a/bb' }, 'ERR_OCI_SKILLS_SIGNER_MISMATCH'],
    [{ ...observed, signerIdentity: '/W.yml' }, 'ERR_OCI_SKILLS_SIGNER_MISMATCH'],
    [{ ...observed, certIssuer: 'https://i/' }, 'ERR_OCI_SKILLS_SIGNER_MISMATCH'],
    [{ ...observed, runnerEnvironment: 'github-hosted' }, 'ERR_OCI_SKILLS_PROVENANCE_MISMATCH'],
    [{ publicKey: 'AAAA' }, 'ERR_OCI_SKILLS_SIGNER_MISMATCH'],
  ] as const;
  for (const [expected, code] of cases) {
    if (code === undefined) expect(matchProvenance(expected, observed)).toBeUndefined();
    else expect(() => matchProvenance(expected, observed)).toThrow(expect.objectContaining({ code }));
  }
});
