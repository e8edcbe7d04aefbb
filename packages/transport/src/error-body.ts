/**
 * The bytes of a JSON-RPC error response. Without an id the member is left out: `"id":null` is no valid MCP message and
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
