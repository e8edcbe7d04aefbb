import { spawn } from 'node:child_process';
import { OciSkillsError } from '../errors.js';
import { printable } from '../text.js';
import type { RegistryCredentials } from '../types.js';

const TIMEOUT_MS = 30_000;
const MOST_OUTPUT = 64 * 1024;

/** How a helper is run. */
export interface HelperOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
}

function fault(name: string, why: string, cause?: unknown): OciSkillsError {
  return new OciSkillsError(
    'ERR_OCI_SKILLS_CREDENTIALS',
    `The credential helper \`docker-credential-${printable(name)}\` ${why}; install or repair it, or remove it from the Docker configuration`,
    {
      cause,
      details: { helper: name },
    },
  );
}

interface Output {
  readonly code: number | null;
  readonly stdout: string;
}

function run(name: string, server: string, { env, signal }: HelperOptions): Promise<Output> {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    const child = spawn(`docker-credential-${name}`, ['get'], {
      env: { ...env } as NodeJS.ProcessEnv,
      stdio: ['pipe', 'pipe', 'ignore'],
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      killSignal: 'SIGKILL',
    });
    let stdout = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (stdout.length > MOST_OUTPUT) child.kill('SIGKILL');
    });
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (signal?.aborted === true) reject(signal.reason as Error);
      else if (error.code === 'ENOENT') reject(fault(name, 'is not installed', error));
      else
        reject(
          fault(name, limit.aborted ? `did not answer within ${TIMEOUT_MS / 1000} s` : 'could not be started', error),
        );
    });
    child.once('close', (code) => resolve({ code, stdout }));
    // A helper that exits without reading must not bring down the process.
    child.stdin.on('error', () => undefined);
    child.stdin.end(server);
  });
}

function parse(name: string, stdout: string): RegistryCredentials {
  let json: { readonly Username?: unknown; readonly Secret?: unknown } | null;
  try {
    json = JSON.parse(stdout) as typeof json;
  } catch {
    // The parser's message quotes the answer, which holds a secret.
    throw fault(name, 'gave an answer that is no JSON');
  }
  const username = json?.Username;
  const secret = json?.Secret;
  if (typeof username !== 'string' || typeof secret !== 'string')
    throw fault(name, 'gave an answer without `Username` and `Secret`');
  return username === '<token>'
    ? { kind: 'identity-token', token: secret }
    : { kind: 'basic', username, password: secret };
}

/**
 * Ask a Docker credential helper. Undefined when it knows no credentials for the server.
 *
 * @throws OciSkillsError `ERR_OCI_SKILLS_CREDENTIALS`
 * @see https://github.com/docker/docker-credential-helpers#development
 */
export async function askHelper(
  name: string,
  server: string,
  options: HelperOptions,
): Promise<RegistryCredentials | undefined> {
  if (!/^[A-Za-z0-9_.-]+$/.test(name)) throw fault(name, 'has a name that is not allowed');
  const { code, stdout } = await run(name, server, options);
  if (code === 0) return parse(name, stdout);
  // The protocol reports errors on the standard output.
  if (/credentials not found/i.test(stdout)) return undefined;
  throw fault(name, `failed with \`${printable(stdout.trim(), 200)}\``);
}
