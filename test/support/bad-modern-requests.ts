import { modernRequest } from '../doubles/src/index.js';
import type { ModernOptions, ModernParams, SendOptions } from '../doubles/src/index.js';

/** A request that must be refused, and how. */
export interface BadRequest {
  readonly name: string;
  /** What is sent; the id is given so that the answer can be compared with it. */
  readonly send: (id: string) => SendOptions;
  /** Several where the specification leaves it open. */
  readonly status: number | readonly number[];
  /** `undefined`: the refusal need not carry a JSON-RPC error. */
  readonly code?: number | readonly number[];
  /** Members that `error.data` must have. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** True where the message shows no id that an answer could carry. */
  readonly hasNoId?: boolean;
  /** True where only the server can know. */
  readonly isAsked?: boolean;
}

const META = 'io.modelcontextprotocol/';
const echo = { name: 'echo', arguments: { message: 'never heard' } };
const call =
  (options: ModernOptions, params: ModernParams = echo) =>
  (id: string) =>
    modernRequest('tools/call', params, { id, ...options });
const withMeta = (meta: Readonly<Record<string, unknown>>) => call({ meta });
const withHeaders = (mirror: Readonly<Record<string, string | undefined>>, params?: ModernParams) =>
  call({ mirror }, params);
const method =
  (name: string, params: ModernParams = {}) =>
  (id: string) =>
    modernRequest(name, params, { id });

/** A request whose text is changed before it is sent. */
const altered = (change: (message: Record<string, unknown>) => unknown) => (id: string) => {
  const request = call({})(id);
  return { ...request, body: JSON.stringify(change(JSON.parse(request.body) as Record<string, unknown>)) };
};
const bodyOf = (body: string) => (id: string) => ({ ...call({})(id), body });

const envelope: readonly BadRequest[] = [
  { name: 'no _meta', send: altered((message) => ({ ...message, params: echo })), status: 400, code: -32602 },
  { name: 'no params', send: altered((message) => ({ ...message, params: undefined })), status: 400, code: -32602 },
  { name: 'no protocol version', send: withMeta({ [`${META}protocolVersion`]: undefined }), status: 400, code: -32602 },
  {
    name: 'a version that is a number',
    send: withMeta({ [`${META}protocolVersion`]: 20260728 }),
    status: 400,
    code: -32602,
  },
  { name: 'an empty version', send: withMeta({ [`${META}protocolVersion`]: '' }), status: 400, code: [-32602, -32020] },
  { name: 'no capabilities', send: withMeta({ [`${META}clientCapabilities`]: undefined }), status: 400, code: -32602 },
  ...[[], null, 'all', 1].map((capabilities) => ({
    name: `capabilities that are ${JSON.stringify(capabilities)}`,
    send: call({ capabilities }),
    status: 400,
    code: -32602,
  })),
  {
    name: 'a log level that does not exist',
    send: withMeta({ [`${META}logLevel`]: 'loud' }),
    status: 400,
    code: -32602,
  },
];

const versions: readonly BadRequest[] = [
  ...['1900-01-01', '2027-01-01'].map((version) => ({
    name: `the version ${version} in header and body`,
    send: call({ version, mirror: { 'mcp-protocol-version': version } }),
    status: 400,
    code: -32022,
    data: { requested: version },
  })),
  {
    name: 'a Legacy version in the header',
    send: withHeaders({ 'mcp-protocol-version': '2025-11-25' }),
    status: 400,
    code: -32020,
  },
  { name: 'an unknown version in the body alone', send: call({ version: '1900-01-01' }), status: 400, code: -32020 },
  { name: 'no version header', send: withHeaders({ 'mcp-protocol-version': undefined }), status: 400, code: -32020 },
];

const headers: readonly BadRequest[] = [
  { name: 'no Mcp-Method', send: withHeaders({ 'mcp-method': undefined }), status: 400, code: -32020 },
  { name: 'another Mcp-Method', send: withHeaders({ 'mcp-method': 'tools/list' }), status: 400, code: -32020 },
  { name: 'Mcp-Method in capitals', send: withHeaders({ 'mcp-method': 'TOOLS/CALL' }), status: 400, code: -32020 },
  { name: 'no Mcp-Name', send: withHeaders({ 'mcp-name': undefined }), status: 400, code: -32020 },
  { name: 'another Mcp-Name', send: withHeaders({ 'mcp-name': 'stats' }), status: 400, code: -32020 },
  {
    name: 'Mcp-Name with broken padding',
    send: withHeaders({ 'mcp-name': '=?base64?ZWNoby?=' }),
    status: 400,
    code: -32020,
  },
  {
    name: 'Mcp-Name with broken base64',
    send: withHeaders({ 'mcp-name': '=?base64?ZWN!bw==?=' }),
    status: 400,
    code: -32020,
  },
  {
    name: 'Mcp-Name with a sentinel in capitals',
    send: withHeaders({ 'mcp-name': '=?BASE64?ZWNobw==?=' }),
    status: 400,
    code: -32020,
  },
  {
    name: 'no Mcp-Name for a prompt',
    send: (id) => modernRequest('prompts/get', { name: 'greet' }, { id, mirror: { 'mcp-name': undefined } }),
    status: 400,
    code: -32020,
  },
  {
    name: 'another Mcp-Name for a resource',
    send: (id) =>
      modernRequest('resources/read', { uri: 'double://one' }, { id, mirror: { 'mcp-name': 'double://two' } }),
    status: 400,
    code: -32020,
  },
];

const methods: readonly BadRequest[] = [
  'nothing/known',
  'ping',
  'initialize',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/get',
].map((name) => ({
  name: `the method ${name}`,
  send: method(name),
  status: 404,
  code: -32601,
  isAsked: name === 'nothing/known',
}));

const shapes: readonly BadRequest[] = [
  { name: 'broken JSON', send: bodyOf('{"jsonrpc":"2.0","id":1,'), status: 400, code: -32700, hasNoId: true },
  { name: 'a batch', send: altered((message) => [message]), status: 400, code: -32600, hasNoId: true },
  { name: 'an empty batch', send: bodyOf('[]'), status: 400, code: -32600, hasNoId: true },
  { name: 'an answer', send: bodyOf('{"jsonrpc":"2.0","id":1,"result":{}}'), status: 400, hasNoId: true },
  ...[null, 1.5, true, {}].map((id) => ({
    name: `the id ${JSON.stringify(id)}`,
    send: altered((message) => ({ ...message, id })),
    status: 400,
    code: -32600,
    hasNoId: true,
  })),
  {
    name: 'another JSON-RPC',
    send: altered((message) => ({ ...message, jsonrpc: '1.0' })),
    status: 400,
    code: -32600,
    hasNoId: true,
  },
  {
    name: 'a method that is a number',
    send: altered((message) => ({ ...message, method: 1 })),
    status: 400,
    code: -32600,
    hasNoId: true,
  },
  {
    name: 'text that is no JSON by its type',
    send: (id) => ({ ...call({})(id), headers: { ...call({})(id).headers, 'content-type': 'text/plain' } }),
    status: 415,
    hasNoId: true,
  },
];

const places: readonly BadRequest[] = [
  { name: 'a foreign origin', send: withHeaders({ origin: 'https://evil.example' }), status: 403, hasNoId: true },
  { name: 'a foreign host', send: withHeaders({ host: 'evil.example' }), status: 403, hasNoId: true },
];

const rounds: readonly BadRequest[] = [
  ...['answers', [], null, 7].map((inputResponses) => ({
    name: `answers that are ${JSON.stringify(inputResponses)}`,
    send: call({}, { ...echo, inputResponses }),
    status: [200, 400],
    code: -32602,
  })),
  ...[7, null, {}, ['x']].map((requestState) => ({
    name: `a state that is ${JSON.stringify(requestState)}`,
    send: call({}, { ...echo, requestState }),
    status: [200, 400],
    code: -32602,
  })),
];

/** What every endpoint refuses without a word to the server behind it. */
export const badRequests: readonly BadRequest[] = [
  ...envelope,
  ...versions,
  ...headers,
  ...methods,
  ...shapes,
  ...places,
  ...rounds,
];

/** States that no one has handed out. */
export const forgedStates: readonly (readonly [name: string, state: string])[] = [
  ['an empty state', ''],
  ['a state that is text', 'state'],
  ['a state with our mark alone', 'thv1.'],
  ['a state under a key that does not exist', `thv1.nokey.${'A'.repeat(120)}`],
  ['a state that is no base64', `thv1.k1.${'%'.repeat(120)}`],
  ['a very long state', `thv1.k1.${'A'.repeat(100_000)}`],
];
