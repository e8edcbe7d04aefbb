// The HTTP server behind every proxy, as fast as Node can be: `tools/call` is answered with its arguments, `stream` with
// an event stream that never ends. Usage: node backend.mjs PORT
import { createServer } from 'node:http';

const ARGUMENTS = Buffer.from('"arguments":');
const JSON_TYPE = ['content-type', 'application/json', 'content-length'];
let lastSession = 0;

function answerCall(response, body) {
  const at = body.indexOf(ARGUMENTS);
  const id = /"id":(\d+)/.exec(body.latin1Slice(0, 100))?.[1] ?? '0';
  const head = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":`);
  const whole = Buffer.concat([head, body.subarray(at + ARGUMENTS.length, -2), Buffer.from('}}')]);
  response.writeHead(200, [...JSON_TYPE, String(whole.length)]);
  response.end(whole);
}

function answer(response, body) {
  if (body.includes('"tools/call"')) {
    answerCall(response, body);
  } else if (body.includes('"initialize"')) {
    lastSession += 1;
    const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'echo', version: '1.0.0' } };
    const { id } = JSON.parse(body.toString());
    const text = JSON.stringify({ jsonrpc: '2.0', id, result });
    response.writeHead(200, [...JSON_TYPE, String(text.length), 'mcp-session-id', `session-${lastSession}`]);
    response.end(text);
  } else response.writeHead(202).end();
}

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    const beat = setInterval(
      () => response.write('data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n'),
      1000,
    );
    response.once('close', () => clearInterval(beat));
    return;
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => answer(response, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
});
server.keepAliveTimeout = 120_000;
server.listen(Number(process.argv[2]), '127.0.0.1');
