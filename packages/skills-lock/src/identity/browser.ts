import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as oauth from 'oauth4webapi';
import { SkillsLockError } from '../errors.js';

/** How {@link signInWithBrowser} signs in. */
export interface BrowserSignInOptions {
  /** Opens an address in the user's browser, or shows it. */
  readonly open: (url: string) => Promise<void> | void;
  /** @defaultValue 'https://oauth2.sigstore.dev/auth' */
  readonly issuer?: string;
  /** @defaultValue 'sigstore' */
  readonly clientId?: string;
  /** @defaultValue 120000 */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const PAGE =
  '<!doctype html><meta charset="utf-8"><title>Signed in</title><p>You are signed in. This page can be closed.</p>';

/**
 * Signs in through the browser and answers an identity token: authorization code with PKCE and a redirect to a
 * listener on this machine.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8252
 */
export async function signInWithBrowser(options: BrowserSignInOptions): Promise<string> {
  const {
    issuer: issuerText = 'https://oauth2.sigstore.dev/auth',
    clientId = 'sigstore',
    timeoutMs = 120_000,
  } = options;
  const issuer = new URL(issuerText);
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = options.signal ? AbortSignal.any([options.signal, timeout]) : timeout;
  // Plain HTTP is for an issuer on this machine alone.
  const request = {
    signal,
    [oauth.allowInsecureRequests]: issuer.protocol === 'http:' && ['127.0.0.1', 'localhost'].includes(issuer.hostname),
  };
  const client: oauth.Client = { client_id: clientId };
  try {
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, request));
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const nonce = oauth.generateRandomNonce();
    const redirect = await openRedirect(signal);
    try {
      const address = new URL(server.authorization_endpoint ?? '');
      const challenge = await oauth.calculatePKCECodeChallenge(verifier);
      for (const [name, value] of Object.entries({
        client_id: clientId,
        redirect_uri: redirect.uri,
        response_type: 'code',
        scope: 'openid email',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        state,
        nonce,
      })) {
        address.searchParams.set(name, value);
      }
      await options.open(address.href);
      const parameters = oauth.validateAuthResponse(server, client, await redirect.callback, state);
      const answer = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        oauth.None(),
        parameters,
        redirect.uri,
        verifier,
        request,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, {
        expectedNonce: nonce,
        requireIdToken: true,
      });
      if (tokens.id_token === undefined) throw new Error('the answer holds no identity token');
      return tokens.id_token;
    } finally {
      redirect.close();
    }
  } catch (error) {
    options.signal?.throwIfAborted();
    const why = timeout.aborted
      ? `nobody signed in within ${timeoutMs / 1000} s`
      : error instanceof Error
        ? error.message
        : String(error);
    throw new SkillsLockError(
      'ERR_SKILLS_LOCK_UNAUTHORIZED',
      `Signing in at ${issuerText} failed: ${why}. Try again, or pass --identity-token`,
      { cause: error },
    );
  }
}

async function openRedirect(
  signal: AbortSignal,
): Promise<{ readonly uri: string; readonly callback: Promise<URL>; close(): void }> {
  let arrived: (url: URL) => void = () => undefined;
  const callback = new Promise<URL>((resolve, reject) => {
    arrived = resolve;
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  callback.catch(() => undefined);
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (url.pathname !== '/auth/callback') {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', connection: 'close' }).end(PAGE);
    arrived(url);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/auth/callback`,
    callback,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
