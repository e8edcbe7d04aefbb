import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acquireIdentityToken, signInWithBrowser } from '../src/index.js';

const TOKEN = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJtZSJ9.sig';
const servers: Server[] = [];
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'thv-token-'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await Promise.all(
    servers.splice(0).map((server) => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve)))),
  );
});

async function serve(
  handler: (
    request: IncomingMessage,
    url: URL,
    body: string,
  ) => { status?: number; type?: string; body?: string; headers?: Record<string, string> },
): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const {
        status = 200,
        type = 'application/json',
        body = '',
        headers = {},
      } = handler(request, new URL(request.url ?? '/', 'http://127.0.0.1'), Buffer.concat(chunks).toString());
      response.writeHead(status, { 'content-type': type, ...headers }).end(body);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const ambient = (url: string) => ({
  ACTIONS_ID_TOKEN_REQUEST_URL: `${url}/token?api-version=2&audience=wrong`,
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-token',
});

describe('the ladder to an identity token', () => {
  it('takes a literal token or the file that holds one', async () => {
    expect(await acquireIdentityToken({ token: TOKEN, env: {} })).toBe(TOKEN);
    writeFileSync(join(folder, 'token'), `${TOKEN}\n`);
    expect(await acquireIdentityToken({ token: join(folder, 'token'), env: {} })).toBe(TOKEN);
  });

  it.each([
    ['no JWT', 'hello'],
    ['a path that is not there', '/no/such/file'],
  ])('refuses %s', async (_, token) => {
    await expect(acquireIdentityToken({ token, env: {} })).rejects.toThrow(/neither a readable file nor a JWT/);
  });

  it('refuses a file that is too large or holds something else', async () => {
    writeFileSync(join(folder, 'large'), 'x'.repeat(20_000));
    await expect(acquireIdentityToken({ token: join(folder, 'large'), env: {} })).rejects.toThrow(/20000 bytes/);
    writeFileSync(join(folder, 'secret'), 'root:x:0:0');
    await expect(acquireIdentityToken({ token: join(folder, 'secret'), env: {} })).rejects.not.toThrow(/root:x/);
  });

  it('needs none with a key or without a signature, but hands on one that was given', async () => {
    expect(await acquireIdentityToken({ skip: true, env: {} })).toBeUndefined();
    expect(await acquireIdentityToken({ skip: true, token: TOKEN, env: {} })).toBe(TOKEN);
  });

  it('asks the CI service, with the audience of Sigstore', async () => {
    const seen: (string | null | undefined)[] = [];
    const url = await serve((request, { searchParams }) => {
      seen.push(request.headers.authorization, searchParams.get('audience'), searchParams.get('api-version'));
      return { body: JSON.stringify({ value: TOKEN }) };
    });
    expect(await acquireIdentityToken({ env: ambient(url) })).toBe(TOKEN);
    expect(seen).toEqual(['Bearer request-token', 'sigstore', '2']);
  });

  it.each([
    ['an error', { status: 403 }],
    ['no JSON', { body: '<html>' }],
    ['no token', { body: '{"value":""}' }],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }],
  ])('fails at once when the CI service answers with %s', async (_, answer) => {
    const url = await serve(() => answer);
    await expect(
      acquireIdentityToken({ env: ambient(url), confirm: () => Promise.reject(new Error('must not be asked')) }),
    ).rejects.toMatchObject({ name: 'SkillsLockError' });
  });

  it('sends its credential over no open network', async () => {
    await expect(
      acquireIdentityToken({
        env: { ACTIONS_ID_TOKEN_REQUEST_URL: 'http://ci.example.test/x', ACTIONS_ID_TOKEN_REQUEST_TOKEN: 't' },
      }),
    ).rejects.toThrow(/no https address/);
  });

  it('asks a person before a browser opens, and names every way when there is none', async () => {
    expect(
      await acquireIdentityToken({
        env: {},
        confirm: () => Promise.resolve(true),
        signIn: () => Promise.resolve(TOKEN),
      }),
    ).toBe(TOKEN);
    for (const options of [
      { env: {} },
      { env: {}, confirm: () => Promise.resolve(false), signIn: () => Promise.resolve(TOKEN) },
    ]) {
      const refusal = acquireIdentityToken(options);
      await expect(refusal).rejects.toThrow(/--key.*--identity-token.*id-token: write.*--no-sign/);
    }
  });
});

describe('signing in with a browser', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

  /** An identity provider that lets everybody in. */
  async function openProvider(
    change: (claims: Record<string, unknown>) => Record<string, unknown> = (claims) => claims,
  ): Promise<{ issuer: string; requests: URLSearchParams[]; exchanges: URLSearchParams[] }> {
    const requests: URLSearchParams[] = [];
    const exchanges: URLSearchParams[] = [];
    let issuer = '';
    issuer = await serve((_, url, body) => {
      switch (url.pathname) {
        case '/.well-known/openid-configuration':
          return {
            body: JSON.stringify({
              issuer,
              authorization_endpoint: `${issuer}/authorize`,
              token_endpoint: `${issuer}/token`,
              jwks_uri: `${issuer}/jwks`,
              response_types_supported: ['code'],
              id_token_signing_alg_values_supported: ['RS256'],
              subject_types_supported: ['public'],
            }),
          };
        case '/jwks':
          return {
            body: JSON.stringify({
              keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }],
            }),
          };
        case '/authorize': {
          requests.push(url.searchParams);
          const back = new URL(url.searchParams.get('redirect_uri') ?? '');
          back.searchParams.set('code', 'the-code');
          back.searchParams.set('state', url.searchParams.get('state') ?? '');
          return { status: 302, headers: { location: back.href } };
        }
        default: {
          exchanges.push(new URLSearchParams(body));
          const now = Math.floor(Date.now() / 1000);
          const claims = change({
            iss: issuer,
            sub: 'me',
            aud: 'sigstore',
            iat: now,
            exp: now + 60,
            nonce: requests.at(-1)?.get('nonce'),
          });
          const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
          const head = `${encode({ alg: 'RS256', kid: 'k' })}.${encode(claims)}`;
          return {
            body: JSON.stringify({
              access_token: 'a',
              token_type: 'bearer',
              id_token: `${head}.${sign('sha256', Buffer.from(head), privateKey).toString('base64url')}`,
            }),
          };
        }
      }
    });
    return { issuer, requests, exchanges };
  }

  it('answers the identity token, with a proof of the code and a loopback redirect', async () => {
    const { issuer, requests, exchanges } = await openProvider();
    const token = await signInWithBrowser({ issuer, open: async (url) => void (await fetch(url)) });
    expect(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())).toMatchObject({
      sub: 'me',
      aud: 'sigstore',
    });
    expect(requests[0]?.get('code_challenge_method')).toBe('S256');
    expect(requests[0]?.get('redirect_uri')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/auth\/callback$/);
    expect(exchanges[0]?.get('code_verifier')).toMatch(/^[\w-]{43,}$/);
  });

  it.each([
    ['another audience', { aud: 'other' }],
    ['another nonce', { nonce: 'replayed' }],
    ['another issuer', { iss: 'https://evil.test' }],
    ['an old token', { exp: 1 }],
  ])('refuses %s', async (_, claims) => {
    const { issuer } = await openProvider((own) => ({ ...own, ...claims }));
    await expect(signInWithBrowser({ issuer, open: async (url) => void (await fetch(url)) })).rejects.toMatchObject({
      code: 'ERR_SKILLS_LOCK_UNAUTHORIZED',
    });
  });

  it('refuses an answer to somebody else’s request', async () => {
    const { issuer } = await openProvider();
    const open = async (url: string) => {
      const back = new URL(new URL(url).searchParams.get('redirect_uri') ?? '');
      back.searchParams.set('code', 'x');
      back.searchParams.set('state', 'forged');
      await fetch(back);
    };
    await expect(signInWithBrowser({ issuer, open })).rejects.toMatchObject({ code: 'ERR_SKILLS_LOCK_UNAUTHORIZED' });
  });

  it('gives up when nobody signs in, and when it is told to', async () => {
    const { issuer } = await openProvider();
    await expect(signInWithBrowser({ issuer, open: () => undefined, timeoutMs: 200 })).rejects.toThrow(
      /nobody signed in/,
    );
    const controller = new AbortController();
    const pending = signInWithBrowser({
      issuer,
      open: () => controller.abort(new Error('stop')),
      signal: controller.signal,
    });
    await expect(pending).rejects.toThrow('stop');
  });
});
