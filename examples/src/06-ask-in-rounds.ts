// A tool that asks its user twice (MCP 2026-07-28), in the official server, and a client that answers.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { ask, createStateCodec, driveRounds, rounds } from '@thv/mrtr';
import type { JsonObject } from '@thv/mrtr';
import { sdkHandler } from '@thv/mrtr/sdk';

const codec = createStateCodec({ keys: [{ id: 'k1', key: randomBytes(32) }] });
const text = (value: string): JsonObject => ({ content: [{ type: 'text', text: value }] });

// It runs from its beginning with every request, and gets further each time.
const rename = rounds({
  codec,
  audience: 'rename',
  handler: (flow) => {
    const first = flow.ask({
      name: ask.form('New name?', {
        type: 'object',
        properties: { name: { type: 'string', minLength: 2 } },
        required: ['name'],
      }),
    });
    if (first.pending) return first.round;
    const { name } = first.answers;
    if (name.kind !== 'accepted') return text('Not renamed.');
    const second = flow.ask({
      sure: ask.form(`Rename to ${name.content.name}?`, {
        type: 'object',
        properties: { sure: { type: 'boolean' } },
        required: ['sure'],
      }),
    });
    if (second.pending) return second.round;
    const { sure } = second.answers;
    return text(sure.kind === 'accepted' && sure.content.sure ? `Renamed to ${name.content.name}.` : 'Not renamed.');
  },
});

const handler = createMcpHandler(() => {
  const server = new Server({ name: 'renamer', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({
    tools: [{ name: 'rename', inputSchema: { type: 'object' as const } }],
  }));
  server.setRequestHandler('tools/call', sdkHandler(rename) as never);
  return server;
});

// Any way to send a request will do; here the server is in this process.
let id = 0;
const send = async ({ method, params }: { readonly method: string; readonly params: JsonObject }) => {
  id += 1;
  const meta = { ...(params['_meta'] as JsonObject), 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  const response = await handler.fetch(
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': String(params['name']),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } }),
    }),
  );
  const { result, error } = (await response.json()) as { result?: JsonObject; error?: { message: string } };
  if (result === undefined) throw new Error(error?.message);
  return result;
};

const asked: unknown[] = [];
const answers: JsonObject[] = [
  { action: 'accept', content: { name: 'x' } },
  { action: 'accept', content: { name: 'Ada' } },
  { action: 'accept', content: { sure: true } },
];
const request = { method: 'tools/call', params: { name: 'rename', arguments: {} } };
const driven = await driveRounds(send, request, {
  handlers: {
    form: ({ message }) => {
      asked.push(message);
      return answers[asked.length - 1] ?? { action: 'cancel' };
    },
  },
});

console.log(asked, driven.kind === 'complete' ? driven.result['content'] : driven.kind);
assert.deepEqual(asked, ['New name?', 'name must have at least 2 characters. New name?', 'Rename to Ada?']);
assert.equal(id, 4);
assert.ok(driven.kind === 'complete');
assert.deepEqual(driven.result['content'], [{ type: 'text', text: 'Renamed to Ada.' }]);
