/** What a request of 2026-07-28 has in `params` beside its own members, as a client of the SDK sends it. */
export const ENVELOPE = `,"_meta":${JSON.stringify({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'load', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
})}`;

export const ENVELOPE_BYTES = Buffer.byteLength(ENVELOPE);

/** The head of a call of `echo`, up to the length of the body. */
export function modernHead(url) {
  const { host, pathname, search } = new URL(url);
  return (
    `POST ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\naccept: application/json, text/event-stream\r\n` +
    'content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n'
  );
}
