import { generateKeyPairSync } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { createRegistry, packSkill } from '@thv/oci-skills';
import type { PackedSkill, Provenance, Registry, SigningMethod } from '@thv/oci-skills';
import { startRegistry } from './registry.js';
import type { TestRegistry } from './registry.js';
import { identityToken, workflowClaims } from './sigstore.js';
import type { TestSigstore } from './sigstore.js';
import { helloFile, writeSkillDirectory } from './skills.js';

/** A fresh key pair as PEM texts. */
export const pem = (kind: 'ec' | 'ed25519' | 'rsa'): { privateKey: string; publicKey: string } => {
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

/** A pushed skill with the registry that it is in. */
export interface Stage {
  readonly there: TestRegistry;
  readonly registry: Registry;
  readonly packed: PackedSkill;
  readonly reference: string;
}

/** Push a skill into a registry of its own. */
export async function push(referrers = true, file = helloFile): Promise<Stage> {
  const there = await startRegistry({ referrers });
  const registry = createRegistry({ allowLoopback: true, maxRetries: 0 });
  onTestFinished(() => registry.close());
  onTestFinished(() => there.close());
  const packed = await packSkill(await writeSkillDirectory('hello-skill', { 'SKILL.md': file }));
  const reference = `${there.host}/acme/hello-skill:1.0.0`;
  await registry.push(reference, packed);
  return { there, registry, packed, reference };
}

export const layouts = ['signature-tag', 'referrer'] as const;
/** Verify with the local Sigstore, whose certificates carry no log proof. */
export const trustIn = (sigstore: TestSigstore) => ({ trustedRoot: sigstore.trustedRoot, certificateLogThreshold: 0 });
/** Sign as a workflow. */
export const keylessIn = (
  sigstore: TestSigstore,
  claims: Readonly<Record<string, unknown>> = workflowClaims(),
): SigningMethod => ({
  kind: 'keyless',
  identityToken: identityToken(claims),
  fulcioUrl: sigstore.url,
  rekorUrl: sigstore.url,
});
/** What is recorded of the workflow that `keyless` signs as. */
export const recorded: Provenance = {
  signerIdentity: '/.github/workflows/release.yml',
  certIssuer: 'https://token.actions.githubusercontent.com',
  repositoryUri: 'https://github.com/acme/skills',
  repositoryRef: 'refs/tags/v1',
  runnerEnvironment: 'github-hosted',
  sigstoreUrl: 'https://rekor.sigstore.dev',
};
