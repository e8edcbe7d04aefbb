import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer as McpServerV2 } from '@modelcontextprotocol/server';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { eraClients } from '@thv/doubles';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openProxy, openServer } from './support/server.js';

function createMcp(): McpServer {
  const server = new McpServer({ name: 'real', version: '1.0.0' });
  server.registerTool('echo', { description: 'Echo', inputSchema: { text: z.string() } }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  return server;
}

/** The official server over Streamable HTTP; `forget` is a restart that loses the sessions. */
function streamable(): { readonly handler: RequestListener; forget(): void } {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const id = request.headers['mcp-session-id'];
    let transport = typeof id === 'string' ? transports.get(id) : undefined;
    if (typeof id === 'string' && transport === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
      return;
    }
    if (transport === undefined) {
      const created = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (session) => void transports.set(session, created),
      });
      await createMcp().connect(created as Transport);
      transport = created;
    }
    await transport.handleRequest(request, response);
  };
  return {
    handler: (request, response) => void serve(request, response),
    forget() {
      for (const transport of transports.values()) void transport.close();
      transports.clear();
    },
  };
}

function legacySse(): RequestListener {
  const transports = new Map<string, SSEServerTransport>();
  return (request, response) => {
    const url = new URL(request.url ?? '/', 'http://x');
    if (request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response);
      transports.set(transport.sessionId, transport);
      void createMcp().connect(transport);
      return;
    }
    void transports.get(url.searchParams.get('sessionId') ?? '')?.handlePostMessage(request, response);
  };
}

describe('the official SDK through a transparent proxy', () => {
  it('works over Streamable HTTP, and goes on when the server forgot its sessions', async () => {
    const { handler, forget } = streamable();
    await using server = await openServer(handler);
    await using proxy = await openProxy({ target: server.origin });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${proxy.origin}/mcp`)) as Transport);
    const call = (text: string) => client.callTool({ name: 'echo', arguments: { text } });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['echo']);
    expect(await call('ż🙂')).toMatchObject({ content: [{ text: 'ż🙂' }] });
    forget();
    const answers = await Promise.all([call('a'), call('b'), call('x'.repeat(50_000))]);
    expect(answers.map(({ content }) => (content as { text: string }[])[0]?.text.length)).toEqual([1, 1, 50_000]);
    await client.close();
  });

  it('works over the older transport, under a prefix that a proxy in front strips', async () => {
    await using server = await openServer(legacySse());
    await using proxy = await openProxy({ target: server.origin, transport: 'sse', endpointPrefix: '/play' });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new SSEClientTransport(new URL(`${proxy.origin}/play/sse`)));
    expect(await client.callTool({ name: 'echo', arguments: { text: 'hi' } })).toMatchObject({
      content: [{ text: 'hi' }],
    });
    await client.close();
  });

  it.each(eraClients)('serves a server of both eras to the client $client', async ({ connect }) => {
    const handle = toNodeHandler(
      createMcpHandler(() => {
        const mcp = new McpServerV2({ name: 'both', version: '1.0.0' });
        mcp.registerTool('echo', { description: 'Echo', inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
          content: [{ type: 'text', text }],
        }));
        return mcp;
      }),
    );
    await using server = await openServer(
      (request, response) => void handle(request as Parameters<typeof handle>[0], response),
    );
    await using proxy = await openProxy({ target: server.origin });
    const client = await connect(`${proxy.origin}/mcp`);
    expect(await client.listToolNames()).toEqual(['echo']);
    expect((await client.call('echo', { text: 'ż🙂' })).text).toBe('ż🙂');
    expect((await client.call('echo', { text: 'x'.repeat(100_000) })).text).toHaveLength(100_000);
    await client.close();
    expect(proxy.proxy.isReady).toBe(true);
  });
});
