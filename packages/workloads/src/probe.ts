/**
 * Makes a session at an endpoint and ends it again: the proof that a server behind it starts and answers.
 *
 * @throws Error with what the endpoint answered
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle
 */
export async function probeSession(url: string, signal: AbortSignal): Promise<void> {
  const body = {
    jsonrpc: '2.0',
    id: 'thv-probe',
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'thv-probe', version: '1' } },
  };
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
  const text = await response.text();
  const session = response.headers.get('mcp-session-id');
  if (session !== null) {
    const ended = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session }, signal });
    await ended.body?.cancel();
  }
  if (response.ok && !text.includes('"error"')) return;
  throw new Error(messageIn(text) ?? `the server answered initialize with HTTP ${response.status}`);
}

/** The message of the JSON-RPC error in a JSON or event stream body. */
function messageIn(text: string): string | undefined {
  const json = text.startsWith('{') ? text : /^data: (\{.*)$/m.exec(text)?.[1];
  try {
    const value: unknown = JSON.parse(json ?? '');
    if (typeof value !== 'object' || value === null || !('error' in value)) return undefined;
    const { error } = value;
    if (typeof error !== 'object' || error === null || !('message' in error)) return undefined;
    return `the server answered initialize with an error: ${String(error.message)}`;
  } catch {
    return undefined;
  }
}
