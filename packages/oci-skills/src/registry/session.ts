import { systemClock } from '../clock.js';
import { OciSkillsError } from '../errors.js';
import type { CallOptions, Reference, RegistryOptions } from '../types.js';
import { Authorizer } from './auth.js';
import type { Access } from './auth.js';
import { createCredentialChain } from './credentials.js';
import { Transport } from './transport.js';
import type { Answer, Call } from './transport.js';

const DEFAULT_TIMEOUT_MS = 300_000;

/** A request to one repository; `path` comes after `/v2/<repository>/`, or is a whole address. */
export type RepositoryCall = Omit<Call, 'url' | 'signal'> & { readonly path: string; readonly access: Access };

/** Requests with authorization and one deadline for a whole operation. */
export class Session {
  readonly #transport: Transport;
  readonly #authorizer: Authorizer;
  readonly #timeoutMs: number;

  constructor(options: RegistryOptions) {
    const clock = options.clock ?? systemClock;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#transport = new Transport(options, clock);
    this.#authorizer = new Authorizer(this.#transport, options.credentials ?? createCredentialChain(options), clock);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  /** Run an operation that ends with the caller's signal or the deadline, whichever is first. */
  async within<T>({ signal }: CallOptions, what: string, action: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const limit = AbortSignal.timeout(this.#timeoutMs);
    const merged = signal === undefined ? limit : AbortSignal.any([signal, limit]);
    try {
      return await action(merged);
    } catch (error) {
      signal?.throwIfAborted();
      if (!limit.aborted) throw error;
      throw new OciSkillsError(
        'ERR_OCI_SKILLS_TIMEOUT',
        `${what} took longer than ${this.#timeoutMs} ms; try again, or allow more time`,
        {
          cause: error,
          details: { timeoutMs: this.#timeoutMs },
        },
      );
    }
  }

  /** The address of `path` below the repository. */
  url(reference: Reference, path: string): string {
    const base = `${this.#transport.scheme(reference.apiHost)}://${reference.apiHost}`;
    return new URL(path, `${base}/v2/${reference.repository}/`).href;
  }

  /** Send a request, and answer the registry's challenge when there is one. */
  async send(reference: Reference, call: RepositoryCall, signal: AbortSignal): Promise<Answer> {
    const url = this.url(reference, call.path);
    const attempt = (authorization: string | undefined): Promise<Answer> =>
      this.#transport.send({
        ...call,
        url,
        signal,
        headers: { ...call.headers, ...(authorization === undefined ? {} : { authorization }) },
      });
    const known = this.#authorizer.known(reference, call.access);
    const answer = await attempt(known);
    if (answer.status !== 401 || new URL(answer.url).origin !== new URL(url).origin) return answer;
    const authorization = await this.#authorizer.answer(reference, call.access, answer, signal);
    return authorization === undefined ? answer : await attempt(authorization);
  }
}
