import type { IncomingMessage } from 'node:http';
import type { SseSettings } from './options.js';

/**
 * The address in the `endpoint` event: a path, which survives any change of host on the way, or behind a trusted proxy
 * the whole address.
 */
export function messagesAddress(request: IncomingMessage, id: string, settings: SseSettings): string {
  const { trustProxyHeaders, messagesPath, endpointPrefix } = settings;
  const told = (name: string): string | undefined => {
    const value = request.headers[`x-forwarded-${name}`];
    const first = (Array.isArray(value) ? value[0] : value)?.split(',')[0]?.trim();
    return first === '' || first === undefined || /[^\w.:[\]/~%-]/.test(first) ? undefined : first;
  };
  const asked = trustProxyHeaders ? (told('prefix') ?? '').replace(/\/sse\/?$/, '').replaceAll(/^\/+|\/+$/g, '') : '';
  const prefix = endpointPrefix === '' && asked !== '' ? `/${asked}` : endpointPrefix;
  const path = `${prefix}${messagesPath}?session_id=${id}`;
  const host = trustProxyHeaders ? (told('host') ?? request.headers.host) : undefined;
  if (host === undefined) return path;
  const port = told('port');
  const authority = port === undefined ? host : `${host.replace(/:\d+$/, '')}:${port}`;
  return `${told('proto') ?? 'http'}://${authority}${path}`;
}
