import { isIP } from 'node:net';
import { OciSkillsError } from '../errors.js';
import { printable } from '../text.js';
import type { Clock, CredentialProvider, Reference, RegistryCredentials } from '../types.js';
import { parseChallenges } from './challenge.js';
import type { Challenge } from './challenge.js';
import { bareHost, isLoopbackHost, isPrivateAddress } from './host.js';
import { headerOf } from './transport.js';
import type { Answer, Transport } from './transport.js';

const MOST_TOKEN_BYTES = 1024 * 1024;
// Servers that do not say how long a token lives mean a minute.
const DEFAULT_LIFE_S = 60;
const MARGIN_MS = 10_000;
const CLIENT = 'thv';

interface CachedToken {
  readonly header: string;
  readonly expires: number;
}

/** What access is asked for. */
export type Access = 'pull' | 'pull,push';

function fault(reference: Reference, why: string, cause?: unknown): OciSkillsError {
  return new OciSkillsError('ERR_OCI_SKILLS_UNAUTHORIZED', `Cannot sign in at \`${reference.registry}\`: ${why}`, {
    cause,
    details: { registry: reference.registry, repository: reference.repository },
  });
}

function basicHeader(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Finds the `Authorization` header for a repository, and buys tokens where the registry wants them. */
export class Authorizer {
  readonly #transport: Transport;
  readonly #provider: CredentialProvider;
  readonly #clock: Clock;
  readonly #tokens = new Map<string, CachedToken>();
  readonly #credentials = new Map<string, RegistryCredentials>();

  constructor(transport: Transport, provider: CredentialProvider, clock: Clock) {
    this.#transport = transport;
    this.#provider = provider;
    this.#clock = clock;
  }

  /** The header known for this access, or undefined before the first challenge. */
  known(reference: Reference, access: Access): string | undefined {
    const cached = this.#tokens.get(keyOf(reference, access));
    return cached !== undefined && cached.expires > this.#clock.now() ? cached.header : undefined;
  }

  /** Answer the challenge of a 401. Undefined when nothing more can be offered. */
  async answer(reference: Reference, access: Access, answer: Answer, signal: AbortSignal): Promise<string | undefined> {
    this.#tokens.delete(keyOf(reference, access));
    const challenges = parseChallenges(headerOf(answer, 'www-authenticate'));
    const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
    const credentials = await this.#find(reference, signal);
    const cached =
      bearer === undefined
        ? this.#basic(reference, credentials, challenges)
        : await this.#bearer(reference, access, credentials, bearer, signal);
    if (cached !== undefined) this.#tokens.set(keyOf(reference, access), cached);
    return cached?.header;
  }

  async #find(reference: Reference, signal: AbortSignal): Promise<RegistryCredentials> {
    const found = this.#credentials.get(reference.registry) ?? (await this.#provider(reference.registry, { signal }));
    this.#credentials.set(reference.registry, found);
    return found;
  }

  #basic(
    reference: Reference,
    credentials: RegistryCredentials,
    challenges: readonly Challenge[],
  ): CachedToken | undefined {
    const isAsked = challenges.some(({ scheme }) => scheme === 'basic');
    // The transport speaks TLS to everything but loopback, so the password never travels in the clear.
    if (!isAsked || credentials.kind !== 'basic') return undefined;
    return { header: basicHeader(credentials.username, credentials.password), expires: Number.POSITIVE_INFINITY };
  }

  async #bearer(
    reference: Reference,
    access: Access,
    credentials: RegistryCredentials,
    challenge: Challenge,
    signal: AbortSignal,
  ): Promise<CachedToken> {
    if (credentials.kind === 'registry-token') {
      return { header: `Bearer ${credentials.token}`, expires: Number.POSITIVE_INFINITY };
    }
    const realm = this.#realm(reference, challenge.parameters.get('realm') ?? '');
    const service = challenge.parameters.get('service') ?? '';
    const scope = challenge.parameters.get('scope') ?? `repository:${reference.repository}:${access}`;
    const answer = await this.#transport.send(tokenCall(realm, service, scope, credentials, signal));
    return this.#readToken(reference, answer);
  }

  /** The address that tokens are bought at. It is sent the password, so it must be worth it. */
  #realm(reference: Reference, text: string): URL {
    if (!URL.canParse(text))
      throw fault(reference, `it names no address for tokens (\`${printable(text)}\`); report it to its operator`);
    const realm = new URL(text);
    const isLocal = this.#transport.scheme(reference.apiHost) === 'http';
    const isSecure =
      realm.protocol === 'https:' || (isLocal && realm.protocol === 'http:' && isLoopbackHost(realm.host));
    const host = bareHost(realm.hostname);
    const isPrivate = isIP(host) !== 0 && isPrivateAddress(host) && !(isLocal && isLoopbackHost(host));
    if (!isSecure || isPrivate || realm.username !== '') {
      throw fault(
        reference,
        `its address for tokens, \`${printable(realm.origin)}\`, is not safe to send credentials to; report it to its operator`,
      );
    }
    return realm;
  }

  #readToken(reference: Reference, answer: Answer): CachedToken {
    if (answer.status !== 200) {
      const advice =
        answer.status === 401 || answer.status === 403
          ? 'the credentials were refused; sign in again'
          : 'try again later';
      throw fault(reference, `the token server answered ${answer.status}; ${advice}`);
    }
    let json: { readonly token?: unknown; readonly access_token?: unknown; readonly expires_in?: unknown };
    try {
      json = JSON.parse(answer.body.toString('utf8')) as typeof json;
    } catch {
      throw fault(reference, 'the token server gave no JSON; report it to its operator');
    }
    const token = json.token ?? json.access_token;
    if (typeof token !== 'string' || !/^[\u{21}-\u{7e}]+$/u.test(token))
      throw fault(reference, 'the token server gave no token; report it to its operator');
    const life = typeof json.expires_in === 'number' && json.expires_in > 0 ? json.expires_in : DEFAULT_LIFE_S;
    return { header: `Bearer ${token}`, expires: this.#clock.now() + Math.max(1000, life * 1000 - MARGIN_MS) };
  }
}

function keyOf({ registry, repository }: Reference, access: Access): string {
  return `${registry} ${repository} ${access}`;
}

/** @see https://distribution.github.io/distribution/spec/auth/oauth/ for refresh tokens, /spec/auth/token/ for the rest */
function tokenCall(realm: URL, service: string, scope: string, credentials: RegistryCredentials, signal: AbortSignal) {
  const common = { maxBytes: MOST_TOKEN_BYTES, signal };
  if (credentials.kind === 'identity-token') {
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: CLIENT,
      service,
      scope,
      refresh_token: credentials.token,
    });
    return {
      ...common,
      method: 'POST' as const,
      url: realm.href,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: Buffer.from(form.toString()),
    };
  }
  const url = new URL(realm);
  if (service !== '') url.searchParams.set('service', service);
  for (const part of scope.split(' ')) url.searchParams.append('scope', part);
  const headers: Record<string, string> =
    credentials.kind === 'basic' ? { authorization: basicHeader(credentials.username, credentials.password) } : {};
  return { ...common, method: 'GET' as const, url: url.href, headers };
}
