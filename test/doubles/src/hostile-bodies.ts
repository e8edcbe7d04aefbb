/** A body for POST that an endpoint must not take at face value. */
export interface HostileBody {
  readonly name: string;
  readonly body: Buffer;
  /** JSON-RPC code of the refusal; `undefined` where the body is odd but right and must be answered. */
  readonly code: number | undefined;
}

const call = (id: number, message: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo","arguments":{"message":"${message}"}}}`;

/**
 * Bodies that try to be two messages for whoever reads them line by line, or that two parsers read differently.
 * What must not happen in any case: that a method or id hidden in them reaches the server behind.
 */
export const smuggledBodies: readonly HostileBody[] = [
  { name: 'two objects on two lines', body: `${call(1, 'a')}\n${call(2, 'smuggled')}`, code: -32700 },
  { name: 'two objects on one line', body: `${call(1, 'a')}${call(2, 'smuggled')}`, code: -32700 },
  { name: 'an object and trailing text', body: `${call(1, 'a')} x`, code: -32700 },
  { name: 'two objects with a carriage return between', body: `${call(1, 'a')}\r${call(2, 'smuggled')}`, code: -32700 },
  { name: 'a NUL after the object', body: `${call(1, 'a')}\0`, code: -32700 },
  { name: 'a raw line break inside a string', body: call(1, 'a\nb'), code: -32700 },
  { name: 'a raw tab inside a string', body: call(1, 'a\tb'), code: -32700 },
  { name: 'a second method', body: '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', code: -32600 },
  { name: 'a second id', body: '{"jsonrpc":"2.0","id":1,"method":"ping","id":2}', code: -32600 },
  { name: 'a second jsonrpc', body: '{"jsonrpc":"2.0","id":1,"method":"ping","jsonrpc":"1.0"}', code: -32600 },
  {
    name: 'a second method spelled with escapes',
    body: String.raw`{"jsonrpc":"2.0","id":1,"method":"ping","\u006dethod":"tools/list"}`,
    code: -32600,
  },
  {
    name: 'an id spelled with escapes, twice',
    body: String.raw`{"jsonrpc":"2.0","id":1,"method":"ping","\u0069d":2}`,
    code: -32600,
  },
  { name: 'an unfinished object', body: call(1, 'a').slice(0, -1), code: -32700 },
  { name: 'a comma too much', body: '{"jsonrpc":"2.0","id":1,"method":"ping",}', code: -32700 },
  { name: 'a comment', body: '{"jsonrpc":"2.0",/* hi */"id":1,"method":"ping"}', code: -32700 },
  { name: 'single quotes', body: "{'jsonrpc':'2.0','id':1,'method':'ping'}", code: -32700 },
  { name: 'a leading zero', body: '{"jsonrpc":"2.0","id":01,"method":"ping"}', code: -32700 },
  {
    name: 'an escape that JSON does not have',
    body: String.raw`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\x41"}}`,
    code: -32700,
  },
  {
    name: 'half a unicode escape',
    body: String.raw`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\u00"}}`,
    code: -32700,
  },
].map((entry) => ({ ...entry, body: Buffer.from(entry.body) }));

/** Bodies that are unusual and nevertheless one valid request; each must be answered under its own id. */
export const oddBodies: readonly (HostileBody & { readonly id: number | string })[] = [
  { name: 'pretty-printed', id: 1, body: JSON.stringify(JSON.parse(call(1, 'a')), null, 2) },
  {
    name: 'pretty-printed with CRLF',
    id: 1,
    body: JSON.stringify(JSON.parse(call(1, 'a')), null, 2).replaceAll('\n', '\r\n'),
  },
  { name: 'with a line break at the end', id: 1, body: `${call(1, 'a')}\n` },
  { name: 'with spaces around', id: 1, body: `  \t\r\n${call(1, 'a')}  ` },
  { name: 'with the id last', id: 7, body: '{"method":"ping","jsonrpc":"2.0","id":7}' },
  {
    name: 'with an id inside params before its own',
    id: 7,
    body: '{"jsonrpc":"2.0","params":{"id":99,"method":"x"},"method":"ping","id":7}',
  },
  {
    name: 'with a string id full of escapes',
    id: 'a"\\\u2028',
    body: String.raw`{"jsonrpc":"2.0","id":"a\"\\\u2028","method":"ping"}`,
  },
  { name: 'with the id zero', id: 0, body: '{"jsonrpc":"2.0","id":0,"method":"ping"}' },
  { name: 'with an escaped method', id: 1, body: String.raw`{"jsonrpc":"2.0","id":1,"method":"\u0070ing"}` },
  { name: 'with raw separators inside a string', id: 1, body: call(1, '\u2028\u2029\u00A0') },
].map((entry) => ({ ...entry, body: Buffer.from(entry.body), code: undefined }));

/** Bodies that are no JSON-RPC request at all. */
export const garbageBodies: readonly HostileBody[] = [
  { name: 'nothing', body: '', code: -32700 },
  { name: 'white space', body: ' \r\n\t', code: -32700 },
  { name: 'text', body: 'hello', code: -32700 },
  { name: 'HTML', body: '<html><body>hi</body></html>', code: -32700 },
  { name: 'null', body: 'null', code: -32600 },
  { name: 'a number', body: '42', code: -32600 },
  { name: 'a string', body: '"ping"', code: -32600 },
  { name: 'an empty object', body: '{}', code: -32600 },
  { name: 'no jsonrpc', body: '{"id":1,"method":"ping"}', code: -32600 },
  { name: 'jsonrpc 1.0', body: '{"jsonrpc":"1.0","id":1,"method":"ping"}', code: -32600 },
  { name: 'jsonrpc as a number', body: '{"jsonrpc":2.0,"id":1,"method":"ping"}', code: -32600 },
  { name: 'a method that is no string', body: '{"jsonrpc":"2.0","id":1,"method":7}', code: -32600 },
  { name: 'an id that is an object', body: '{"jsonrpc":"2.0","id":{},"method":"ping"}', code: -32600 },
  { name: 'an id that is an array', body: '{"jsonrpc":"2.0","id":[],"method":"ping"}', code: -32600 },
  { name: 'an id that is true', body: '{"jsonrpc":"2.0","id":true,"method":"ping"}', code: -32600 },
  { name: 'an id that is null', body: '{"jsonrpc":"2.0","id":null,"method":"ping"}', code: -32600 },
  { name: 'an id with a fraction', body: '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', code: -32600 },
  { name: 'an empty batch', body: '[]', code: -32600 },
  { name: 'a batch', body: `[${call(1, 'a')},${call(2, 'b')}]`, code: -32600 },
  { name: 'an unfinished batch', body: '[{"jsonrpc":"2.0"', code: -32600 },
  {
    name: 'brackets a hundred thousand deep',
    body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(100_000)}`,
    code: -32700,
  },
]
  .map((entry) => ({ ...entry, body: Buffer.from(entry.body) }))
  .concat([
    {
      name: 'bytes that are no UTF-8',
      body: Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
      code: -32700,
    },
    { name: 'UTF-16', body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}', 'utf16le'), code: -32700 },
    { name: 'zeros', body: Buffer.alloc(4096), code: -32700 },
  ]);
