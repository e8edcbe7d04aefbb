import type { Message } from './message.js';
import { parseMessage } from './parse-message.js';

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
