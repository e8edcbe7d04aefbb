import { parseMessage } from '@thv/transport';
import type { Message } from '@thv/transport';

const toMessage = (text: string): Message => parseMessage(Buffer.from(text));

/** A request of our own. `id` is put in by the upstream. */
export const buildRequest = (method: string, params: unknown): Message =>
  toMessage(JSON.stringify({ jsonrpc: '2.0', id: 0, method, params }));

/** A notification of our own. */
export const buildNotification = (method: string, params?: unknown): Message =>
  toMessage(JSON.stringify(params === undefined ? { jsonrpc: '2.0', method } : { jsonrpc: '2.0', method, params }));

/** A successful response under an id given as JSON text. */
export const buildResult = (idText: string, result: unknown): Message =>
  toMessage(`{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(result)}}`);

/** An error response under an id given as JSON text. */
export const buildError = (idText: string, error: { code: number; message: string; data?: unknown }): Message =>
  toMessage(`{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`);

/**
 * The bytes of an error response. Without an id the member is left out: `"id":null` is no valid MCP message and
 * breaks strict clients.
 */
export function errorBytes(
  error: { readonly code: number; readonly message: string; readonly data?: unknown },
  idText?: string,
): Buffer {
  const { code, message, data } = error;
  const body = JSON.stringify(data === undefined ? { code, message } : { code, message, data });
  return Buffer.from(
    idText === undefined ? `{"jsonrpc":"2.0","error":${body}}` : `{"jsonrpc":"2.0","id":${idText},"error":${body}}`,
  );
}
