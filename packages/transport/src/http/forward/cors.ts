import type { IncomingMessage, ServerResponse } from 'node:http';

const ALLOWED = [
  'accept',
  'authorization',
  'content-type',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
].join(', ');

/**
 * Lets a page of an allowed origin read the response; answers its preflight, and true when that was one. What the server
 * says of itself about this wins.
 *
 * @see https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function answerCors(request: IncomingMessage, response: ServerResponse): boolean {
  const { origin } = request.headers;
  if (origin === undefined) return false;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', 'Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version');
  response.setHeader('vary', 'Origin');
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false;
  response.setHeader('access-control-allow-methods', 'GET, POST, DELETE, OPTIONS');
  response.setHeader('access-control-allow-headers', ALLOWED);
  response.setHeader('access-control-max-age', '600');
  response.writeHead(204).end();
  return true;
}
