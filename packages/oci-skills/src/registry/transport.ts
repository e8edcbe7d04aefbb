import { Agent, request } from 'undici';
import type { Dispatcher } from 'undici';
import { OciSkillsError } from '../errors.js';
import { printable } from '../text.js';
import type { Clock, RegistryOptions } from '../types.js';
import { isLoopbackHost, resolvePublicHost } from './host.js';

/** One request. */
export interface Call {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Bytes of a successful answer's body that are read at most. */
  readonly maxBytes: number;
  /** Follow redirects, without the authorization when the origin changes. */
  readonly follow?: boolean;
  readonly signal: AbortSignal;
}

/** A whole answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** Where the answer came from after redirects. */
  readonly url: string;
}

const MOST_REDIRECTS = 3;
const MOST_ERROR_BYTES = 8 * 1024;
const MOST_WAIT_MS = 60_000;
const FIRST_WAIT_MS = 250;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function headerOf(answer: Answer, name: string): string {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value.join(', ') : value) ?? '';
}

function registryFault(message: string, details: Readonly<Record<string, unknown>>, cause?: unknown): OciSkillsError {
  return new OciSkillsError('ERR_OCI_SKILLS_REGISTRY', message, { cause, details });
}

function isTransient(status: number): boolean {
  return status === 429 || status >= 500;
}

/** HTTP with host checks, bounded bodies, retries and careful redirects. */
export class Transport {
  readonly #agent: Agent;
  readonly #options: RegistryOptions;
  readonly #clock: Clock;
  readonly allowLoopback: boolean;

  constructor(options: RegistryOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.allowLoopback = options.allowLoopback ?? options.env?.['TOOLHIVE_DEV']?.toLowerCase() === 'true';
    this.#agent = new Agent({
      headersTimeout: 60_000,
      bodyTimeout: 60_000,
      maxHeaderSize: 64 * 1024,
      connect: {
        timeout: 30_000,
        ...(options.ca === undefined ? {} : { ca: options.ca }),
        // The address that was checked is the address that is connected to.
        lookup: (host, { all }, answer) => {
          const fail = (error: NodeJS.ErrnoException): void => answer(error, []);
          this.#resolve(host).then((found) => {
            const [first] = found;
            if (all === true || first === undefined) answer(null, [...found]);
            else answer(null, first.address, first.family);
          }, fail);
        },
      },
    });
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  /** `http` for a loopback registry where that is allowed, `https` for all others. */
  scheme(host: string): 'http' | 'https' {
    return this.allowLoopback && isLoopbackHost(host) ? 'http' : 'https';
  }

  /** Send a request; repeat it when the registry is busy or the connection broke. */
  async send(call: Call): Promise<Answer> {
    const { maxRetries = 5 } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      const isLast = attempt >= maxRetries;
      try {
        const answer = await this.#follow(call);
        if (!isTransient(answer.status) || isLast) return answer;
        await this.#wait(attempt, headerOf(answer, 'retry-after'), call.signal);
      } catch (error) {
        call.signal.throwIfAborted();
        if (OciSkillsError.is(error)) throw error;
        const known = findOwn(error);
        if (known !== undefined) throw known;
        if (isLast)
          throw registryFault(
            `The registry at \`${printable(new URL(call.url).host)}\` cannot be reached: ${printable((error as Error).message)}; check the network and try again`,
            { url: call.url },
            error,
          );
        await this.#wait(attempt, '', call.signal);
      }
    }
  }

  #resolve(host: string) {
    const { lookup, allowPrivateHosts = false } = this.#options;
    return resolvePublicHost(host, {
      allowLoopback: this.allowLoopback,
      allowPrivateHosts,
      ...(lookup === undefined ? {} : { lookup }),
    });
  }

  #wait(attempt: number, retryAfter: string, signal: AbortSignal): Promise<void> {
    const seconds = Number(retryAfter);
    const date = Date.parse(retryAfter);
    const asked = retryAfter === '' ? Number.NaN : Number.isNaN(seconds) ? date - this.#clock.now() : seconds * 1000;
    const wait = Number.isNaN(asked) ? FIRST_WAIT_MS * 2 ** attempt : asked;
    return this.#clock.sleep(Math.min(MOST_WAIT_MS, Math.max(0, wait)), signal);
  }

  async #follow(call: Call): Promise<Answer> {
    let { url, headers = {} } = call;
    for (let hops = 0; ; hops += 1) {
      const answer = await this.#once({ ...call, url, headers });
      if (call.follow !== true || !redirects.has(answer.status)) return answer;
      const from = new URL(url);
      const to = parseLocation(headerOf(answer, 'location'), from);
      if (hops >= MOST_REDIRECTS)
        throw registryFault(
          `The registry at \`${printable(from.host)}\` redirects more than ${MOST_REDIRECTS} times; report it to its operator`,
          { url },
        );
      if (to.protocol !== from.protocol)
        throw registryFault(
          `The registry at \`${printable(from.host)}\` redirects from ${from.protocol} to ${to.protocol}; report it to its operator`,
          { url },
        );
      if (to.origin !== from.origin) headers = withoutAuthorization(headers);
      url = to.href;
    }
  }

  async #once(call: Call): Promise<Answer> {
    const { hostname } = new URL(call.url);
    // Connecting to a literal address looks nothing up, so it has to be checked here.
    if (/^[\d.[]/.test(hostname) || isLoopbackHost(hostname)) await this.#resolve(hostname);
    const response = await request(call.url, {
      method: call.method,
      headers: { ...call.headers, 'user-agent': 'thv' },
      body: call.body ?? null,
      signal: call.signal,
      dispatcher: this.#agent,
    });
    const isSuccess = response.statusCode >= 200 && response.statusCode < 300;
    const body = await readBody(response, isSuccess ? call.maxBytes : MOST_ERROR_BYTES, isSuccess, call);
    return { status: response.statusCode, headers: response.headers, body, url: call.url };
  }
}

function findOwn(error: unknown): OciSkillsError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (OciSkillsError.is(at)) return at;
  return undefined;
}

function parseLocation(location: string, from: URL): URL {
  if (location === '' || !URL.canParse(location, from.href))
    throw registryFault(
      `The registry at \`${printable(from.host)}\` redirects to no address; report it to its operator`,
      { url: from.href },
    );
  const to = new URL(location, from);
  to.username = '';
  to.password = '';
  return to;
}

function withoutAuthorization(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'));
}

/** The body of an answer; one that is too long is a fault of a success, and is cut of a failure. */
async function readBody(
  response: Dispatcher.ResponseData,
  most: number,
  isStrict: boolean,
  call: Call,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > most) {
      response.body.on('error', () => undefined).destroy();
      if (!isStrict) break;
      throw new OciSkillsError(
        'ERR_OCI_SKILLS_LIMIT',
        `The registry at \`${printable(new URL(call.url).host)}\` sends more than ${most} bytes for \`${printable(new URL(call.url).pathname, 200)}\`; it cannot be used`,
        { details: { limit: most, url: call.url } },
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
