// The stdio server behind every proxy: as fast as Node can be, so that the proxy is what is measured.
// Tool `echo`: text comes back as text, `data` as structured content.
const tools = [{ name: 'echo', description: 'Says it again', inputSchema: { type: 'object' } }];

function resultOf({ method, params }) {
  if (method === 'tools/call') {
    const { text = '', data } = params.arguments ?? {};
    return { content: [{ type: 'text', text }], ...(data === undefined ? {} : { structuredContent: data }) };
  }
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

let rest = [];
let answers = '';

function receive(line) {
  const message = JSON.parse(line.toString('utf8'));
  if (message.id === undefined || message.method === undefined) return;
  const result = resultOf(message);
  const body = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
  answers += `${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body })}\n`;
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
  if (answers !== '') process.stdout.write(answers);
  answers = '';
});
process.stdin.on('end', () => process.exit(0));
