// The reference: the least that a proxy between HTTP and a pipe can do. It parses, gives the message an id of its own,
// serialises, and does the same on the way back; it knows no session, no stream, no error, no limit.
// Usage: node reference.mjs PORT COMMAND ARGS…
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const [port, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
let lastId = 0;

function answer(line) {
  const message = JSON.parse(line);
  const waiter = waiting.get(message.id);
  if (waiter === undefined) return;
  waiting.delete(message.id);
  message.id = waiter.id;
  const body = Buffer.from(JSON.stringify(message));
  waiter.response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': body.length,
    ...waiter.headers,
  });
  waiter.response.end(body);
}

let rest = [];
child.stdout.on('data', (chunk) => {
  let start = 0;
  for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
    rest.push(chunk.subarray(start, end));
    answer((rest.length === 1 ? rest[0] : Buffer.concat(rest)).toString('utf8'));
    rest = [];
    start = end + 1;
  }
  if (start < chunk.length) rest.push(chunk.subarray(start));
});

function forward(body, response) {
  const message = JSON.parse(body.toString('utf8'));
  if (message.id === undefined) {
    child.stdin.write(`${JSON.stringify(message)}\n`);
    response.writeHead(202).end();
    return;
  }
  const headers = message.method === 'initialize' ? { 'mcp-session-id': randomUUID() } : {};
  lastId += 1;
  waiting.set(lastId, { id: message.id, response, headers });
  message.id = lastId;
  child.stdin.write(`${JSON.stringify(message)}\n`);
}

const server = createServer((request, response) => {
  if (request.method !== 'POST') {
    response.writeHead(request.method === 'DELETE' ? 204 : 405).end();
    return;
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => forward(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks), response));
});

server.listen(Number(port), '127.0.0.1');
child.on('exit', (code) => process.exit(code ?? 1));
process.on('SIGTERM', () => {
  child.kill();
  process.exit(0);
});
