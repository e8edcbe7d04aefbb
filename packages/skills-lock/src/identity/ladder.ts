import { readFile, realpath, stat } from 'node:fs/promises';
import { SkillsLockError } from '../errors.js';

/** What {@link acquireIdentityToken} may ask and use. */
export interface IdentityOptions {
  /** `--identity-token`: a token, or the path of a file that holds one. */
  readonly token?: string;
  /** True where `--key` or `--no-sign` decided that no token is needed. */
  readonly skip?: boolean;
  /** `ACTIONS_ID_TOKEN_REQUEST_URL` and `ACTIONS_ID_TOKEN_REQUEST_TOKEN`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Asks a person whether to sign in through a browser; absent where nobody can be asked. */
  readonly confirm?: () => Promise<boolean>;
  /** Signs in and answers a token. */
  readonly signIn?: (options: { readonly signal?: AbortSignal }) => Promise<string>;
  readonly fetch?: typeof fetch;
  readonly signal?: AbortSignal;
}

const MAX_TOKEN_BYTES = 16 * 1024;
const AMBIENT_TIMEOUT_MS = 10_000;
const JWT = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Finds an identity token before anything is pushed: the one that was given, the one of a CI job, or one from a
 * browser after a question. Answers `undefined` where none is needed.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_ARGUMENT` that names every way to sign, when there is no token.
 */
export async function acquireIdentityToken(options: IdentityOptions): Promise<string | undefined> {
  const { token = '', skip = false, env } = options;
  if (token !== '') return await readGivenToken(token);
  if (skip) return undefined;
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url = '', ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer = '' } = env;
  if (url !== '' && bearer !== '') return await requestAmbientToken(url, bearer, options);
  if (options.confirm && options.signIn && (await options.confirm())) {
    return requireJwt(
      await options.signIn(options.signal ? { signal: options.signal } : {}),
      'The token from the browser',
    );
  }
  throw new SkillsLockError(
    'ERR_SKILLS_LOCK_ARGUMENT',
    'Nothing to sign with. Pass --key PATH to sign with a cosign key, --identity-token TOKEN to sign keylessly, run in a CI job with the permission id-token: write, or pass --no-sign to publish unsigned',
  );
}

async function readGivenToken(given: string): Promise<string> {
  const path = await realpath(given).catch(() => undefined);
  const info = path === undefined ? undefined : await stat(path);
  if (path !== undefined && info?.isFile()) {
    if (info.size > MAX_TOKEN_BYTES) throw notAToken(`The file ${given} has ${info.size} bytes`);
    return requireJwt((await readFile(path, 'utf8')).trim(), `The file ${given}`);
  }
  if (given.length <= MAX_TOKEN_BYTES && JWT.test(given)) return given;
  throw notAToken('The value of --identity-token');
}

/** @see https://docs.github.com/actions/reference/security/oidc */
async function requestAmbientToken(text: string, bearer: string, options: IdentityOptions): Promise<string> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.has(url.hostname)))) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_ARGUMENT',
      'ACTIONS_ID_TOKEN_REQUEST_URL is no https address; the CI job is not set up as expected',
    );
  }
  url.searchParams.set('audience', 'sigstore');
  const timeout = AbortSignal.timeout(AMBIENT_TIMEOUT_MS);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
  let answer: Response;
  try {
    answer = await (options.fetch ?? fetch)(url, {
      headers: { authorization: `Bearer ${bearer}`, accept: 'application/json' },
      redirect: 'error',
      signal,
    });
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_UNREACHABLE',
      'The CI service did not hand out an identity token; try again, or pass --identity-token',
      { cause: error },
    );
  }
  if (!answer.ok) {
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_UNREACHABLE',
      `The CI service answered ${answer.status} to the request for an identity token; check the permission id-token: write`,
    );
  }
  const body = (await answer.json().catch(() => undefined)) as { value?: unknown } | undefined;
  if (typeof body?.value !== 'string' || body.value === '') throw notAToken('The answer of the CI service');
  return requireJwt(body.value, 'The answer of the CI service');
}

function requireJwt(token: string, what: string): string {
  if (token.length <= MAX_TOKEN_BYTES && JWT.test(token)) return token;
  throw notAToken(what);
}

const notAToken = (what: string) =>
  new SkillsLockError(
    'ERR_SKILLS_LOCK_ARGUMENT',
    `${what} is neither a readable file nor a JWT; pass an OpenID Connect token with the audience sigstore`,
  );
