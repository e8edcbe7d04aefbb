import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the registry has seen. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly authorization: string | undefined;
}

/** What to do to a request instead of answering it. */
export type Fault =
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Other bytes of the same length, under the digest that was asked for. */
  | { readonly kind: 'wrong-bytes' }
  /** Half of the body, then a closed connection. */
  | { readonly kind: 'truncate' }
  | { readonly kind: 'reset' }
  | { readonly kind: 'redirect'; readonly to: string }
  /** A body of this many bytes, without a length. */
  | { readonly kind: 'giant'; readonly bytes: number }
  /** Never answers. */
  | { readonly kind: 'hang' }
  /** Answers an upload's start with this location. */
  | { readonly kind: 'location'; readonly to: string };

/** Which requests a fault strikes, and how often. */
export interface FaultRule {
  readonly method?: string;
  readonly path: RegExp;
  readonly fault: Fault;
  /** @defaultValue every time */
  readonly times?: number;
}

/** How the registry behaves. */
export interface TestRegistryOptions {
  /** Asks for this user; `bearer` by a token server of its own. */
  readonly auth?: {
    readonly kind: 'basic' | 'bearer';
    readonly username: string;
    readonly password: string;
    readonly realm?: string;
  };
  /** Refresh token that buys access tokens. */
  readonly identityToken?: string;
  /** Whether it knows the referrers API. @defaultValue true */
  readonly referrers?: boolean;
}

interface Stored {
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** A registry in this process, on a loopback port. */
export interface TestRegistry extends AsyncDisposable {
  /** `127.0.0.1:port`, as it stands in references. */
  readonly host: string;
  readonly requests: readonly SeenRequest[];
  /** By `repository@digest` and `repository:tag`. */
  readonly manifests: Map<string, Stored>;
  /** By digest; all repositories share them. */
  readonly blobs: Map<string, Buffer>;
  inject(rule: FaultRule): void;
  clearFaults(): void;
  close(): Promise<void>;
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function answer(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body: Buffer | string = '',
): void {
  response.writeHead(status, { 'content-length': String(Buffer.byteLength(body)), ...headers }).end(body);
}

function refuse(
  response: ServerResponse,
  status: number,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  answer(
    response,
    status,
    { 'content-type': 'application/json', ...headers },
    JSON.stringify({ errors: [{ code, message: code.toLowerCase() }] }),
  );
}

class InProcessRegistry implements TestRegistry {
  readonly requests: SeenRequest[] = [];
  readonly manifests = new Map<string, Stored>();
  readonly blobs = new Map<string, Buffer>();
  readonly #options: TestRegistryOptions;
  readonly #server: Server;
  readonly #tokens = new Set<string>();
  #faults: { rule: FaultRule; left: number }[] = [];
  host = '';

  constructor(options: TestRegistryOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => answer(response, 500, {}, String(error)));
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve));
    this.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  inject(rule: FaultRule): void {
    this.#faults.push({ rule, left: rule.times ?? Number.POSITIVE_INFINITY });
  }

  clearFaults(): void {
    this.#faults = [];
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => void this.#server.close(() => resolve()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '/' } = request;
    const { authorization } = request.headers;
    this.requests.push({ method, path: url, authorization });
    const body = await readAll(request);
    const struck = this.#strike(method, url);
    if (struck !== undefined && this.#harm(struck, response)) return;
    const target = new URL(url, 'http://registry');
    if (target.pathname === '/token') return this.#token(request, target, body, response);
    if (!this.#isAllowed(authorization)) return this.#challenge(target, method, response);
    this.#route(method, target, request, body, response, struck);
  }

  #strike(method: string, path: string): Fault | undefined {
    const found = this.#faults.find(
      ({ rule, left }) => left > 0 && rule.path.test(path) && (rule.method ?? method) === method,
    );
    if (found !== undefined) found.left -= 1;
    return found?.rule.fault;
  }

  /** True when the fault was the whole answer. */
  #harm(fault: Fault, response: ServerResponse): boolean {
    switch (fault.kind) {
      case 'status':
        answer(response, fault.status, fault.headers, fault.body ?? '');
        return true;
      case 'redirect':
        answer(response, 307, { location: fault.to });
        return true;
      case 'reset':
        response.socket?.destroy();
        return true;
      case 'giant':
        response.writeHead(200, { 'content-type': 'application/vnd.oci.image.manifest.v1+json' });
        for (let sent = 0; sent < fault.bytes; sent += 65_536) response.write(Buffer.alloc(65_536, 0x20));
        response.end();
        return true;
      case 'location':
        answer(response, 202, { location: fault.to });
        return true;
      case 'hang':
        return true;
      default:
        return false;
    }
  }

  #isAllowed(authorization: string | undefined): boolean {
    const { auth } = this.#options;
    if (auth === undefined) return true;
    if (auth.kind === 'basic')
      return authorization === `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString('base64')}`;
    return this.#tokens.has(authorization?.replace(/^Bearer /, '') ?? '');
  }

  #challenge(target: URL, method: string, response: ServerResponse): void {
    const { auth } = this.#options;
    const repository = /^\/v2\/(.*)\/(?:manifests|blobs|referrers)\//.exec(target.pathname)?.[1] ?? '';
    const access = method === 'GET' ? 'pull' : 'pull,push';
    const bearer = `Bearer realm="${auth?.realm ?? `http://${this.host}/token`}",service="test, registry",scope="repository:${repository}:${access}"`;
    refuse(response, 401, 'UNAUTHORIZED', {
      'www-authenticate': auth?.kind === 'basic' ? 'Basic realm="test"' : bearer,
    });
  }

  #token(request: IncomingMessage, target: URL, body: Buffer, response: ServerResponse): void {
    const { auth, identityToken } = this.#options;
    const form = new URLSearchParams(body.toString('utf8'));
    const basic = `Basic ${Buffer.from(`${auth?.username}:${auth?.password}`).toString('base64')}`;
    const isKnown =
      request.method === 'POST' ? form.get('refresh_token') === identityToken : request.headers.authorization === basic;
    if (!isKnown || (request.method === 'GET' && target.searchParams.get('service') !== 'test, registry'))
      return refuse(response, 401, 'UNAUTHORIZED');
    const token = randomUUID();
    this.#tokens.add(token);
    answer(response, 200, { 'content-type': 'application/json' }, JSON.stringify({ token, expires_in: 300 }));
  }

  #route(
    method: string,
    target: URL,
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
    fault: Fault | undefined,
  ): void {
    const match = /^\/v2\/(.+)\/(manifests|blobs|referrers)\/(.+)$/.exec(
      target.pathname.replace(/uploads\/$/, 'uploads/-'),
    );
    if (match === null) return answer(response, target.pathname === '/v2/' ? 200 : 404);
    const [, repository = '', what = '', name = ''] = match;
    if (what === 'manifests' && method === 'PUT') return this.#putManifest(repository, name, request, body, response);
    if (what === 'manifests') return this.#get(this.manifests.get(keyOf(repository, name)), response, fault);
    if (what === 'referrers') return this.#referrers(repository, name, response);
    if (method === 'POST')
      return answer(response, 202, { location: `/v2/${repository}/blobs/uploads/${randomUUID()}?state=x` });
    if (method === 'PUT') return this.#putBlob(target.searchParams.get('digest') ?? '', body, response);
    const bytes = this.blobs.get(name);
    this.#get(bytes === undefined ? undefined : { mediaType: 'application/octet-stream', bytes }, response, fault);
  }

  #get(stored: Stored | undefined, response: ServerResponse, fault: Fault | undefined): void {
    if (stored === undefined) return refuse(response, 404, 'MANIFEST_UNKNOWN');
    const { bytes, mediaType } = stored;
    const headers = { 'content-type': mediaType, 'content-length': String(bytes.length) };
    if (fault?.kind === 'wrong-bytes') {
      response.writeHead(200, headers).end(Buffer.concat([bytes.subarray(0, -1), Buffer.from('A')]));
    } else if (fault?.kind === 'truncate') {
      response.writeHead(200, headers);
      response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
    } else {
      response.writeHead(200, { ...headers, 'docker-content-digest': digestOf(bytes) }).end(bytes);
    }
  }

  #putManifest(
    repository: string,
    name: string,
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ): void {
    const digest = digestOf(body);
    if (name.includes(':') && name !== digest) return refuse(response, 400, 'DIGEST_INVALID');
    const stored = { mediaType: request.headers['content-type'] ?? '', bytes: body };
    const json = JSON.parse(body.toString('utf8')) as {
      readonly subject?: { readonly digest: string };
      readonly layers?: readonly { readonly digest: string }[];
    };
    if (json.layers?.some((layer) => !this.blobs.has(layer.digest)) === true)
      return refuse(response, 400, 'MANIFEST_BLOB_UNKNOWN');
    this.manifests.set(keyOf(repository, digest), stored);
    this.manifests.set(keyOf(repository, name), stored);
    const isReferrer = json.subject !== undefined && this.#options.referrers !== false;
    answer(response, 201, {
      'docker-content-digest': digest,
      ...(isReferrer ? { 'oci-subject': json.subject.digest } : {}),
    });
  }

  #putBlob(digest: string, body: Buffer, response: ServerResponse): void {
    if (digestOf(body) !== digest) return refuse(response, 400, 'DIGEST_INVALID');
    this.blobs.set(digest, body);
    answer(response, 201, { 'docker-content-digest': digest });
  }

  #referrers(repository: string, digest: string, response: ServerResponse): void {
    if (this.#options.referrers === false)
      return answer(response, 404, { 'content-type': 'text/plain' }, '404 page not found');
    const manifests = [...this.manifests].flatMap(([key, { bytes, mediaType }]) => {
      const json = JSON.parse(bytes.toString('utf8')) as {
        readonly subject?: { readonly digest: string };
        readonly artifactType?: string;
        readonly config?: { readonly mediaType: string };
      };
      const isMatch = key.startsWith(`${repository}@`) && json.subject?.digest === digest;
      return isMatch
        ? [
            {
              mediaType,
              digest: digestOf(bytes),
              size: bytes.length,
              artifactType: json.artifactType ?? json.config?.mediaType,
            },
          ]
        : [];
    });
    const mediaType = 'application/vnd.oci.image.index.v1+json';
    answer(response, 200, { 'content-type': mediaType }, JSON.stringify({ schemaVersion: 2, mediaType, manifests }));
  }
}

function keyOf(repository: string, name: string): string {
  return name.includes(':') ? `${repository}@${name}` : `${repository}:${name}`;
}

/** Start a registry on a free loopback port. */
export function startRegistry(options: TestRegistryOptions = {}): Promise<TestRegistry> {
  return new InProcessRegistry(options).listen();
}
