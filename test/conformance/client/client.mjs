// A small client of 2026-07-28: requests over HTTP, and the driver of @thv/mrtr for what is asked in between.
import { declaredBy, driveRounds } from '../../../packages/mrtr/dist/index.js';
import { MODERN_VERSION, encodeHeaderValue } from '../../../packages/transport/dist/index.js';
import { mirroredArguments } from './tools.mjs';

const META = 'io.modelcontextprotocol/';
const NAMED = { 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' };
const UNSUPPORTED_VERSION = -32022;

/** The last JSON-RPC message of a response, which is the answer to the request. */
async function readAnswer(response) {
  const text = await response.text();
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return JSON.parse(text);
  const data = text.split(/\r?\n/).filter((line) => line.startsWith('data:'));
  return JSON.parse(data.at(-1).slice('data:'.length));
}

/** The headers that mirror what a request says. */
function headersOf({ method, params }, version, tools) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
    'mcp-method': method,
  };
  const name = params[NAMED[method]];
  if (name !== undefined) headers['mcp-name'] = encodeHeaderValue(name);
  for (const { name: header, path } of (method === 'tools/call' && tools.get(name)) || []) {
    const value = path.reduce((parent, key) => parent?.[key], params.arguments);
    if (value !== undefined && value !== null) headers[`mcp-param-${header}`] = encodeHeaderValue(String(value));
  }
  return headers;
}

/** Connects to a URL; `handlers` answer what the server asks, and say what is declared. */
export function createClient(url, handlers) {
  /** Tools by name, each with the arguments that travel in headers. */
  const tools = new Map();
  let lastId = 0;

  async function post(message, signal) {
    const headers = headersOf(message, MODERN_VERSION, tools);
    return readAnswer(await fetch(url, { method: 'POST', headers, body: JSON.stringify(message), signal }));
  }

  /** One request and its result; once more where the server speaks another version that is ours too. */
  async function send({ method, params = {} }, { signal } = {}) {
    const _meta = {
      [`${META}clientCapabilities`]: declaredBy(handlers),
      ...params._meta,
      [`${META}protocolVersion`]: MODERN_VERSION,
      [`${META}clientInfo`]: { name: 'thv-conformance-client', version: '1.0.0' },
    };
    const request = () => ({ jsonrpc: '2.0', id: (lastId += 1), method, params: { ...params, _meta } });
    let answer = await post(request(), signal);
    const { code, data } = answer.error ?? {};
    if (code === UNSUPPORTED_VERSION && data?.supported?.includes?.(MODERN_VERSION) === true) {
      answer = await post(request(), signal);
    }
    if (answer.error !== undefined) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer.result;
  }

  async function request(method, params = {}) {
    const { result } = await driveRounds(send, { method, params }, { handlers });
    return result;
  }

  return {
    discover: () => send({ method: 'server/discover' }),
    request,
    /** Tools that may be called; one whose annotations break the rules is left out. */
    async listTools() {
      const { tools: listed } = await request('tools/list');
      for (const tool of listed) {
        const mirrored = mirroredArguments(tool);
        if (mirrored !== undefined) tools.set(tool.name, mirrored);
      }
      return listed.filter(({ name }) => tools.has(name));
    },
    call: (name, args = {}) => request('tools/call', { name, arguments: args }),
  };
}
