// A process for each client behind any server that speaks Request and Response; here Hono.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createDispatcher } from '@thv/dispatcher';
import { createWebHandler } from '@thv/dispatcher/http';
import { createStdioConnection } from '@thv/transport';
import { Hono } from 'hono';

const script = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));

// Mounting takes these lines.
const dispatcher = createDispatcher({
  isolation: 'session',
  connect: () =>
    createStdioConnection({ command: process.execPath, args: [script, 'stdio'], env: process.env, restart: false }),
});
const mcp = createWebHandler(dispatcher, { path: '/tools/everything', allowedHosts: ['mcp.example.com'] });
const app = new Hono();
app.get('/', (context) => context.text('my own page'));
app.all('/tools/everything', (context) => mcp(context.req.raw));

// The app is called directly, so this example needs no port.
const fetchApp = async (input: string | URL, init?: RequestInit): Promise<Response> =>
  app.request(input.toString(), init);
const client = new Client({ name: 'example', version: '1.0.0' }, { capabilities: { roots: {} } });
client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///home/alice', name: 'home' }] }));
const url = new URL('https://mcp.example.com/tools/everything');
await client.connect(new StreamableHTTPClientTransport(url, { fetch: fetchApp }));
const answer = await client.callTool({ name: 'get-roots-list', arguments: {} });
assert.match(JSON.stringify(answer.content), /home\/alice/);
assert.equal(await (await app.request('/')).text(), 'my own page');
assert.equal((await app.request('http://evil.example/tools/everything', { method: 'POST' })).status, 403);
console.log('The server asked its client for its roots, through Hono.');

await client.close();
await dispatcher.close();
