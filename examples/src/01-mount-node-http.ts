// A stdio server as an endpoint of your own node:http server.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createDispatcher } from '@thv/dispatcher';
import { createNodeHandler } from '@thv/dispatcher/http';
import { createStdioConnection } from '@thv/transport';

const script = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));

// Mounting takes these lines.
const connection = createStdioConnection({ command: process.execPath, args: [script, 'stdio'], env: process.env });
const dispatcher = createDispatcher({ connection });
const mcp = createNodeHandler(dispatcher);
const server = createServer((request, response) => {
  if (request.url?.startsWith('/mcp') || request.url === '/health') mcp(request, response);
  else response.end('my own page');
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const client = new Client({ name: 'example', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/mcp`)));
const answer = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
assert.match(JSON.stringify(answer.content), /hello/);
assert.equal(await (await fetch(origin)).text(), 'my own page');
assert.equal((await fetch(`${origin}/health`)).status, 200);
console.log('The endpoint answers beside my own page.');

await client.close();
await dispatcher.close();
server.closeAllConnections();
server.close();
