// A stdio MCP server of 2026-07-28 made with the official SDK: `node modern-server.mjs '{"journal":"/tmp/x"}'`.
// The script comes as JSON in the first argument; README.md explains every field and tool.
import { appendFileSync } from 'node:fs';
import { McpServer, ResourceTemplate, createRequestStateCodec } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { registerAsks } from './modern-asks.mjs';
import { registerTools } from './modern-tools.mjs';

const script = JSON.parse(process.argv[2] ?? '{}');
/** What the process has received and done, over all servers that the SDK makes in it. */
const state = { script, received: {}, calls: {}, effects: 0, cancelled: 0, last: undefined };
const codec = createRequestStateCodec({ key: script.key ?? 'a key that only this double knows, 32 bytes' });

function note(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    return;
  }
  const { method, params } = message;
  state.received[method] = (state.received[method] ?? 0) + 1;
  if (method === 'tools/call') {
    state.calls[params?.name] = (state.calls[params?.name] ?? 0) + 1;
    if (params?.name !== 'stats') state.last = params;
  }
  if (script.journal !== undefined) {
    appendFileSync(script.journal, `${JSON.stringify({ pid: process.pid, method, name: params?.name })}\n`);
  }
}

/** Notes every line before the SDK reads it. */
function tapInput() {
  let rest = '';
  process.stdin.on('data', (chunk) => {
    const lines = (rest + chunk.toString('utf8')).split('\n');
    rest = lines.pop();
    for (const line of lines) note(line);
  });
}

function createServer() {
  const server = new McpServer(
    { name: 'modern-double', version: '1.0.0' },
    {
      capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } },
      instructions: 'Ask for anything.',
      requestState: { verify: codec.verify },
    },
  );
  registerTools(server, state);
  registerAsks(server, state, codec);
  server.registerResource('one', 'double://one', { mimeType: 'text/plain' }, ({ href }) => ({
    contents: [{ uri: href, text: 'content of one' }],
  }));
  server.registerResource('numbered', new ResourceTemplate('double://n/{n}', { list: undefined }), {}, ({ href }) => ({
    contents: [{ uri: href, text: `content of ${href}` }],
  }));
  return server;
}

tapInput();
serveStdio(createServer, { legacy: script.legacy === true ? 'serve' : 'reject' });
