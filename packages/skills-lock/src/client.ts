import { isSkillsLockErrorCode, SkillsLockError } from './errors.js';
import type { SkillsLockErrorCode } from './errors.js';
import type {
  BuildInfo,
  CallOptions,
  ContentResponse,
  InstalledSkill,
  InstallResponse,
  SkillInfoResponse,
  SkillSelector,
  SkillService,
  SyncResult,
  UpgradeOutcome,
  ValidateResponse,
} from './types.js';

/** How {@link createSkillClient} reaches the server. */
export interface SkillClientOptions {
  /** Address of the server, such as `http://127.0.0.1:8080`; the path of the API is added. */
  readonly baseUrl: string;
  /** Sent as a bearer token. */
  readonly token?: string;
  /** @defaultValue 600000 */
  readonly timeoutMs?: number;
  /** @defaultValue the global `fetch` */
  readonly fetch?: typeof fetch;
}

const MAX_ANSWER = 1024 * 1024;
/** A listing of files with a long text may be larger than any other answer. */
const MAX_CONTENT = 16 * 1024 * 1024;
const MAX_ERROR = 64 * 1024;

const codes: ReadonlyMap<number, SkillsLockErrorCode> = new Map([
  [400, 'ERR_SKILLS_LOCK_ARGUMENT'],
  [401, 'ERR_SKILLS_LOCK_UNAUTHORIZED'],
  [403, 'ERR_SKILLS_LOCK_REFUSED'],
  [404, 'ERR_SKILLS_LOCK_NOT_FOUND'],
  [409, 'ERR_SKILLS_LOCK_CONFLICT'],
  [422, 'ERR_SKILLS_LOCK_INVALID_SKILL'],
  [429, 'ERR_SKILLS_LOCK_RATE_LIMITED'],
  [502, 'ERR_SKILLS_LOCK_UNREACHABLE'],
  [504, 'ERR_SKILLS_LOCK_TIMEOUT'],
]);

interface Call {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A {@link SkillService} that asks an HTTP API for everything: the same methods, the same errors.
 *
 * @throws SkillsLockError `ERR_SKILLS_LOCK_ARGUMENT` for an address that would send the token in the clear.
 */
export function createSkillClient(options: SkillClientOptions): SkillService {
  const base = checkBase(options);
  const call = (request: Call) => send(base, options, request);
  const json = async <T>(request: Call): Promise<T> => JSON.parse((await call(request)) || '{}') as T;
  const at = ({ name }: SkillSelector) => `/${encodeURIComponent(name)}`;
  const where = ({ scope, project_root: root }: SkillSelector) => ({ scope, project_root: root });
  return {
    list: async (request = {}, { signal }: CallOptions = {}) =>
      (await json<{ skills?: readonly InstalledSkill[] }>({ method: 'GET', path: '', query: { ...request }, signal }))
        .skills ?? [],
    install: (request, { signal } = {}) => json<InstallResponse>({ method: 'POST', path: '', body: request, signal }),
    info: (selector, { signal } = {}) =>
      json<SkillInfoResponse>({ method: 'GET', path: at(selector), query: where(selector), signal }),
    uninstall: async (selector, { signal } = {}) => {
      await call({ method: 'DELETE', path: at(selector), query: where(selector), signal });
    },
    validate: (request, { signal } = {}) =>
      json<ValidateResponse>({ method: 'POST', path: '/validate', body: request, signal }),
    build: (request, { signal } = {}) =>
      json<{ reference: string }>({ method: 'POST', path: '/build', body: request, signal }),
    push: async (request, { signal } = {}) => {
      await call({ method: 'POST', path: '/push', body: request, signal });
    },
    builds: async ({ signal } = {}) =>
      (await json<{ builds?: readonly BuildInfo[] }>({ method: 'GET', path: '/builds', signal })).builds ?? [],
    removeBuild: async (tag, { signal } = {}) => {
      await call({ method: 'DELETE', path: `/builds/${encodeURIComponent(tag)}`, signal });
    },
    content: (reference, { signal } = {}) =>
      json<ContentResponse>({
        method: 'GET',
        path: '/content',
        query: { ref: reference },
        maxBytes: MAX_CONTENT,
        signal,
      }),
    sync: (request, { signal } = {}) => json<SyncResult>({ method: 'POST', path: '/sync', body: request, signal }),
    upgrade: (request, { signal } = {}) =>
      json<{ outcomes: readonly UpgradeOutcome[] }>({ method: 'POST', path: '/upgrade', body: request, signal }),
  };
}

function checkBase({ baseUrl }: SkillClientOptions): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const loopback = url !== undefined && /^(?:127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback)) return url;
  throw new SkillsLockError(
    'ERR_SKILLS_LOCK_ARGUMENT',
    `Expected \`baseUrl\` to be an https address, or http with a loopback address such as http://127.0.0.1:8080, got \`${baseUrl}\` (${typeof baseUrl})`,
  );
}

async function send(base: URL, options: SkillClientOptions, request: Call): Promise<string> {
  const { timeoutMs = 600_000, token, fetch: send_ = fetch } = options;
  const url = new URL(`/api/v1beta/skills${request.path}`, base);
  for (const [name, value] of Object.entries(request.query ?? {})) if (value) url.searchParams.set(name, value);
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout;
  try {
    const answer = await send_(url, {
      method: request.method,
      redirect: 'error',
      signal,
      headers: {
        accept: 'application/json',
        ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
    });
    const text = await readBounded(answer, answer.ok ? (request.maxBytes ?? MAX_ANSWER) : MAX_ERROR);
    if (!answer.ok) throw refusal(answer.status, text);
    return text;
  } catch (error) {
    request.signal?.throwIfAborted();
    if (SkillsLockError.is(error)) throw error;
    if (timeout.aborted)
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_TIMEOUT',
        `${base.origin} did not answer within ${timeoutMs / 1000} s; it may still be at work`,
        { cause: error },
      );
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_UNREACHABLE',
      `${base.origin} could not be reached; start the server with "thv serve"`,
      { cause: error },
    );
  }
}

/** What the server says of its own error wins over what the status alone would mean. */
function codeOf(status: number, named: string | undefined): SkillsLockErrorCode {
  if (named !== undefined && isSkillsLockErrorCode(named)) return named;
  return codes.get(status) ?? 'ERR_SKILLS_LOCK_STORE';
}

function refusal(status: number, text: string): SkillsLockError {
  const problem = parseProblem(text);
  return new SkillsLockError(codeOf(status, problem.code), problem.message || `The server answered ${status}`, {
    details: { status, ...(problem.reason ? { reason: problem.reason } : {}) },
  });
}

/** Plain text, or the fields of a problem document. @see https://www.rfc-editor.org/rfc/rfc9457 */
function parseProblem(text: string): { readonly message: string; readonly reason?: string; readonly code?: string } {
  try {
    const { detail, title, reason, code } = JSON.parse(text) as Partial<
      Record<'detail' | 'title' | 'reason' | 'code', string>
    >;
    return { message: detail ?? title ?? text, ...(reason ? { reason } : {}), ...(code ? { code } : {}) };
  } catch {
    return { message: text.trim() };
  }
}

async function readBounded(answer: Response, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body ?? []) {
    size += part.length;
    if (size > maxBytes) {
      throw new SkillsLockError(
        'ERR_SKILLS_LOCK_UNREACHABLE',
        `The answer of the server is larger than ${maxBytes} bytes and is not read`,
      );
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}
