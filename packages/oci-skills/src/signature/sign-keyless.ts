import { createHash } from 'node:crypto';
import { bundleToJSON, toMessageSignatureBundle } from '@sigstore/bundle';
import type { Bundle, BundleWithMessageSignature } from '@sigstore/bundle';
import { DSSEBundleBuilder, FulcioSigner, MessageSignatureBundleBuilder, RekorWitness } from '@sigstore/sign';
import type { Artifact, Signature } from '@sigstore/sign';
import { expectArgument } from '../arguments.js';
import { OciSkillsError } from '../errors.js';
import { isLoopbackHost } from '../registry/host.js';
import type { SigningMethod } from '../types.js';
import { readBundle } from './bundle.js';
import type { ReadBundle } from './bundle.js';
import { IN_TOTO } from './check.js';
import { PUBLIC_LOG } from './identity.js';

const RETRIES = 3;
const TIMEOUT_MS = 30_000;
const MOST_TOKEN = 16 * 1024;

type Keyless = Extract<SigningMethod, { kind: 'keyless' }>;

/** Writes bundles of version 0.3, with the leaf certificate alone. */
class LeafBundleBuilder extends MessageSignatureBundleBuilder {
  protected override async package(
    artifact: Artifact,
    { signature, key }: Signature,
  ): Promise<BundleWithMessageSignature> {
    const certificate =
      key.$case === 'x509Certificate'
        ? Buffer.from(key.certificate.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64')
        : undefined;
    const digest = createHash('sha256').update(artifact.data).digest();
    return toMessageSignatureBundle({
      digest,
      signature,
      certificateChain: false,
      ...(certificate === undefined ? {} : { certificate }),
    });
  }
}

/** The token is worth a signature in the caller's name, so it travels over TLS only. */
function checkUrl(text: string, name: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.host));
  expectArgument(isSafe && url.username === '', name, 'an https address, or http on this machine', text);
  return text.replace(/\/+$/, '');
}

function checkToken(token: string): string {
  const isToken = token.length <= MOST_TOKEN && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token);
  // The value itself must not reach a message or a log.
  expectArgument(isToken, 'identityToken', 'a JSON Web Token of three parts', isToken ? token : '<hidden>');
  return token;
}

function builderOptions(method: Keyless) {
  const identityToken = checkToken(method.identityToken.trim());
  const fetch = { retry: RETRIES, timeout: TIMEOUT_MS };
  const fulcioBaseURL = checkUrl(method.fulcioUrl ?? 'https://fulcio.sigstore.dev', 'fulcioUrl');
  const rekorBaseURL = checkUrl(method.rekorUrl ?? PUBLIC_LOG, 'rekorUrl');
  const signer = new FulcioSigner({
    ...fetch,
    fulcioBaseURL,
    identityProvider: { getToken: async () => identityToken },
  });
  // The annotations of a signature layer can hold the promise of the first version of the log only.
  return { signer, witnesses: [new RekorWitness({ ...fetch, rekorBaseURL, majorApiVersion: 1 })] };
}

async function build(create: () => Promise<Bundle>): Promise<ReadBundle> {
  try {
    return readBundle(JSON.stringify(bundleToJSON(await create())));
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message} (${cause.message})` : message;
    throw new OciSkillsError(
      'ERR_OCI_SKILLS_SIGNING',
      `Signing failed: ${reason}; the artifact is unchanged, so sign it again once the service answers`,
      { cause: error },
    );
  }
}

/** Sign a payload. @throws OciSkillsError `ERR_OCI_SKILLS_SIGNING`, `ERR_OCI_SKILLS_ARGUMENT` */
export async function signMessageKeyless(payload: Uint8Array, method: Keyless): Promise<ReadBundle> {
  const builder = new LeafBundleBuilder(builderOptions(method));
  return build(() => builder.create({ data: Buffer.from(payload) }));
}

/** Sign an in-toto statement. @throws OciSkillsError `ERR_OCI_SKILLS_SIGNING`, `ERR_OCI_SKILLS_ARGUMENT` */
export async function signStatementKeyless(statement: Uint8Array, method: Keyless): Promise<ReadBundle> {
  const builder = new DSSEBundleBuilder({ ...builderOptions(method), certificateChain: false });
  return build(() => builder.create({ data: Buffer.from(statement), type: IN_TOTO }));
}
