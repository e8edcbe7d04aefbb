// The stdio server behind every proxy, as fast as Node can be, so that the proxy is what is measured: the tool `echo`
// answers with its arguments as structured content, copied as bytes where the message has the usual shape.
const tools = [{ name: 'echo', description: 'Says it again', inputSchema: { type: 'object' } }];
/** `legacy` or `modern`: every call is parsed; by default a Legacy server that copies. */
const [, , era] = process.argv;
const ARGUMENTS = Buffer.from('"arguments":');
const USUAL =
  /^\{"jsonrpc":"2\.0",(?:"id":(\d+),"method":"tools\/call"|"method":"tools\/call","id":(\d+)),"params":\{"name":"echo",$/;

/** The results of a server of 2026-07-28. */
function modernResultOf({ method, params }) {
  if (method === 'tools/call')
    return { resultType: 'complete', content: [], structuredContent: params.arguments ?? {} };
  if (method === 'tools/list') return { resultType: 'complete', tools, ttlMs: 0, cacheScope: 'public' };
  if (method !== 'server/discover') return undefined;
  return {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    ttlMs: 0,
    cacheScope: 'public',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'echo', version: '1.0.0' } },
  };
}

/** The answer to a call whose arguments are the last thing in it; `undefined` for any other shape. */
function copyAnswer(line) {
  const at = line.indexOf(ARGUMENTS);
  if (at === -1 || at > 200 || line.includes('"_meta"')) return undefined;
  const [, first, second] = USUAL.exec(line.latin1Slice(0, at)) ?? [];
  const id = first ?? second;
  if (id === undefined || line.at(-1) !== 125 || line.at(-2) !== 125 || line.at(-3) !== 125) return undefined;
  return [
    Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":`),
    line.subarray(at + ARGUMENTS.length, -2),
    Buffer.from('}}\n'),
  ];
}

function resultOf({ method, params }) {
  if (method === 'tools/call') return { content: [], structuredContent: params.arguments ?? {} };
  if (method === 'tools/list') return { tools };
  if (method === 'initialize') {
    return {
      protocolVersion: params?.protocolVersion ?? '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'echo', version: '1.0.0' },
    };
  }
  return method === 'ping' ? {} : undefined;
}

/** The answer to any message, by way of its parsed form. */
function parsedAnswer(line) {
  const message = JSON.parse(line.toString('utf8'));
  if (message.id === undefined || message.method === undefined) return [];
  const result = era === 'modern' ? modernResultOf(message) : resultOf(message);
  const body = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
  return [Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body })}\n`)];
}

let rest = [];
let answers = [];

function receive(line) {
  answers.push(...((era === undefined ? copyAnswer(line) : undefined) ?? parsedAnswer(line)));
}

process.stdin.on('data', (chunk) => {
  let start = 0;
  for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
    rest.push(chunk.subarray(start, end));
    receive(rest.length === 1 ? rest[0] : Buffer.concat(rest));
    rest = [];
    start = end + 1;
  }
  if (start < chunk.length) rest.push(chunk.subarray(start));
  if (answers.length > 0) process.stdout.write(Buffer.concat(answers));
  answers = [];
});
process.stdin.on('end', () => process.exit(0));
