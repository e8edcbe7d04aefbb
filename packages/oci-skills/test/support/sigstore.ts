import { createHash, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fulcioHandler, initializeCA, initializeTLog, rekorHandler } from '@sigstore/mock';

/** Fulcio and Rekor on a loopback port, with a trust root of their own. */
export interface TestSigstore extends AsyncDisposable {
  readonly url: string;
  /** Text of the `trusted_root.json`. */
  readonly trustedRoot: string;
  /** Issue a leaf certificate for tests that sign by themselves. DER. */
  issue(
    publicKeyDer: Buffer,
    subject: string,
    extensions?: readonly { readonly oid: string; readonly value: string }[],
  ): Promise<Buffer>;
  close(): Promise<void>;
}

/** A JSON Web Token that nobody signed; the test authority does not look. */
export function identityToken(claims: Readonly<Record<string, unknown>>): string {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${encode({ alg: 'none', typ: 'JWT' })}.${encode({ aud: 'sigstore', exp: 4_102_444_800, ...claims })}.${encode('none')}`;
}

/** The claims of a GitHub Actions job. */
export function workflowClaims(changes: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
  return {
    iss: 'https://token.actions.githubusercontent.com',
    sub: 'https://github.com/acme/skills/.github/workflows/release.yml@refs/tags/v1',
    repository: 'acme/skills',
    repository_id: '1',
    repository_owner: 'acme',
    repository_owner_id: '2',
    ref: 'refs/tags/v1',
    sha: 'a'.repeat(40),
    event_name: 'push',
    workflow: 'release',
    workflow_ref: 'acme/skills/.github/workflows/release.yml@refs/tags/v1',
    workflow_sha: 'a'.repeat(40),
    job_workflow_ref: 'acme/skills/.github/workflows/release.yml@refs/tags/v1',
    job_workflow_sha: 'a'.repeat(40),
    runner_environment: 'github-hosted',
    run_id: '3',
    run_attempt: '1',
    repository_visibility: 'public',
    ...changes,
  };
}

/** A real log stores the hashes and signatures of an envelope, not what was proposed. */
function canonical(body: string): string {
  const entry = JSON.parse(body) as {
    readonly kind: string;
    readonly apiVersion: string;
    readonly spec: { readonly proposedContent?: { readonly envelope: string; readonly verifiers: readonly string[] } };
  };
  const proposed = entry.spec.proposedContent;
  if (entry.kind !== 'dsse' || proposed === undefined) return body;
  const envelope = JSON.parse(proposed.envelope) as {
    readonly payload: string;
    readonly signatures: readonly { readonly sig: string }[];
  };
  const hash = (bytes: Buffer | string) => ({
    algorithm: 'sha256',
    value: createHash('sha256').update(bytes).digest('hex'),
  });
  const signatures = envelope.signatures.map(({ sig }, index) => ({
    signature: sig,
    verifier: proposed.verifiers[index],
  }));
  return JSON.stringify({
    apiVersion: entry.apiVersion,
    kind: entry.kind,
    spec: {
      envelopeHash: hash(proposed.envelope),
      payloadHash: hash(Buffer.from(envelope.payload, 'base64')),
      signatures,
    },
  });
}

/** Start the two services. */
export async function startSigstore(): Promise<TestSigstore> {
  const authority = await initializeCA(generateKeyPairSync('ec', { namedCurve: 'P-384' }));
  const log = await initializeTLog('https://rekor.sigstore.dev', generateKeyPairSync('ec', { namedCurve: 'P-256' }));
  const [fulcio, rekor] = [fulcioHandler(authority), rekorHandler(log)];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const handler = request.url === fulcio.path ? fulcio : rekor;
      const body = Buffer.concat(chunks).toString('utf8');
      void handler.fn(handler === rekor ? canonical(body) : body).then((answer) => {
        response
          .writeHead(answer.statusCode, { 'content-type': answer.contentType ?? 'text/plain' })
          .end(answer.response);
      });
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => void server.close(() => resolve()));
  };
  const start = new Date(Date.now() - 60_000).toISOString();
  const trustedRoot = JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
    tlogs: [
      {
        baseUrl: 'https://rekor.sigstore.dev',
        hashAlgorithm: 'SHA2_256',
        publicKey: {
          rawBytes: log.publicKey.toString('base64'),
          keyDetails: 'PKIX_ECDSA_P256_SHA_256',
          validFor: { start },
        },
        logId: { keyId: createHash('sha256').update(log.publicKey).digest('base64') },
      },
    ],
    certificateAuthorities: [
      {
        subject: { organization: 'sigstore.mock', commonName: 'sigstore' },
        uri: 'https://fulcio.sigstore.dev',
        certChain: {
          certificates: [{ rawBytes: Buffer.from(authority.rootCertificate as Uint8Array).toString('base64') }],
        },
        validFor: { start },
      },
    ],
    ctlogs: [],
    timestampAuthorities: [],
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    trustedRoot,
    issue: async (publicKey, subjectAltName, extensions = []) =>
      Buffer.from(
        (await authority.issueCertificate({
          publicKey: Uint8Array.from(publicKey),
          subjectAltName,
          extensions: [...extensions],
        })) as Uint8Array,
      ),
    close,
    [Symbol.asyncDispose]: close,
  };
}
