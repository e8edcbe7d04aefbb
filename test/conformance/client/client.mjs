// A small client of 2026-07-28: requests over HTTP, and the driver of @thv/mrtr for what is asked in between.
import { driveRounds } from '../../../packages/mrtr/dist/index.js';
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

/** Connects to a URL; `answer(question)` answers what the server asks. */
export function createClient(url, { handlers, capabilities }) {
  /** Tools by name, each with the arguments that travel in headers. */
  const tools = new Map();
  let lastId = 0;

  /** One request and its answer; once more where the server speaks another version that is ours too. */
  async function send({ method, params = {} }, { id = (lastId += 1), version = MODERN_VERSION } = {}) {
    const _meta = {
      ...params._meta,
      [`${META}protocolVersion`]: version,
      [`${META}clientInfo`]: { name: 'thv-conformance-client', version: '1.0.0' },
      [`${META}clientCapabilities`]: capabilities,
    };
    const message = { jsonrpc: '2.0', id, method, params: { ...params, _meta } };
    const headers = headersOf(message, version, tools);
    const answer = await readAnswer(await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) }));
    const isOurs = answer.error?.data?.supported?.includes?.(MODERN_VERSION) === true;
    if (answer.error?.code === UNSUPPORTED_VERSION && isOurs && retried !== true) {
      retried = true;
      return send({ method, params });
    }
    if (answer.error !== undefined) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer.result;
  }
  let retried = false;

  const request = (method, params) => driveRounds(send, { method, params }, { handlers });
  return {
    discover: () => send({ method: 'server/discover' }),
    request,
    /** Tools that may be called; one whose annotations break the rules is left out. */
    async listTools() {
      const { tools: listed } = await send({ method: 'tools/list' });
      for (const tool of listed) {
        const mirrored = mirroredArguments(tool);
        if (mirrored !== undefined) tools.set(tool.name, mirrored);
      }
      return listed.filter(({ name }) => tools.has(name));
    },
    call: (name, args = {}) => request('tools/call', { name, arguments: args }),
  };
}
