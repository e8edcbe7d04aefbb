import type { ProxyCore } from './core.js';

const PING = Buffer.from('{"jsonrpc":"2.0","id":0,"method":"ping","params":{}}');

/** Looks whether a server answers at all: any status below 500 says that it does. */
export async function pingServer(core: ProxyCore, signal: AbortSignal): Promise<void> {
  const { settings, upstream } = core;
  const authorization = await settings.authorize?.();
  const isPost = settings.stateless === true || core.isModern;
  const set = new Map([
    ...settings.set,
    ...(authorization === undefined ? [] : [['authorization', authorization] as const]),
  ]);
  const headers = ['Host', upstream.host, 'Accept', 'application/json, text/event-stream', ...[...set].flat()];
  if (isPost) headers.push('Content-Type', 'application/json', 'Content-Length', String(PING.length));
  const { pathname, search } = settings.url;
  let abort: (() => void) | undefined;
  try {
    const reply = await upstream.send({
      method: isPost ? 'POST' : 'GET',
      path: pathname + search,
      headers,
      body: isPost ? PING : undefined,
      onRequest: (outgoing) => {
        abort = () => outgoing.destroy();
        signal.addEventListener('abort', abort, { once: true });
      },
    });
    if (signal.aborted) throw signal.reason;
    if (reply.kind === 'failure') throw new Error(reply.failure.message);
    // A stream would stay open for ever.
    reply.response.destroy();
    const status = reply.response.statusCode ?? 0;
    if (status >= 500) throw new Error(`the server answers with status ${status}`);
  } finally {
    if (abort !== undefined) signal.removeEventListener('abort', abort);
  }
}
