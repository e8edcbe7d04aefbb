import { randomBytes } from 'node:crypto';
import { createMcpHandler, inputRequired, Server } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { ask, createStateCodec, rounds } from '../src/index.js';
import type { JsonObject } from '../src/index.js';
import { sdkHandler, sdkStateCodec } from '../src/sdk.js';

const codec = createStateCodec({ keys: [{ id: 'k', key: randomBytes(32) }] });
const form = { type: 'object', properties: { n: { type: 'string' } }, required: ['n'] } as const;

/** Sends one request to a server of the official SDK. */
async function send(handler: ReturnType<typeof createMcpHandler>, params: JsonObject, capabilities: JsonObject) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const response = await handler.fetch(
    new Request('http://localhost/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'a',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a', ...params, _meta } }),
    }),
  );
  const body = (await response.json()) as {
    result?: Record<string, unknown>;
    error?: { code: number; data?: unknown };
  };
  return { status: response.status, ...body };
}

const serve = (make: (server: Server) => void, options: object = {}) =>
  createMcpHandler(() => {
    const server = new Server({ name: 's', version: '1' }, { capabilities: { tools: {} }, ...options });
    make(server);
    return server;
  });

describe('sdkHandler', () => {
  const tool = rounds({
    codec,
    audience: 'a',
    handler: (flow) => {
      const asked = flow.ask({ n: ask.form('N?', form) });
      return asked.pending ? asked.round : { content: [{ type: 'text', text: asked.answers.n.kind }] };
    },
  });
  const handler = serve((server) => server.setRequestHandler('tools/call', sdkHandler(tool) as never));
  const asksForms = { elicitation: { form: {} } };

  it('asks, and goes on with the answer', async () => {
    const { result } = await send(handler, {}, asksForms);
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { n: { method: 'elicitation/create' } },
    });
    const retry = { requestState: String(result?.['requestState']), inputResponses: { n: { action: 'decline' } } };
    expect(await send(handler, retry, asksForms)).toMatchObject({
      status: 200,
      result: { content: [{ text: 'declined' }] },
    });
  });

  it('refuses a client that cannot be asked, and a state that is not its own', async () => {
    expect(await send(handler, {}, {})).toMatchObject({
      status: 400,
      error: { code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } },
    });
    expect(await send(handler, { requestState: 'made up' }, asksForms)).toMatchObject({
      error: { code: -32602, data: { reason: 'invalid_request_state' } },
    });
  });
});

describe('sdkStateCodec', () => {
  const states = sdkStateCodec(codec, 'a');
  const handler = serve(
    (server) =>
      server.setRequestHandler('tools/call', (async (_request: unknown, context: Parameters<typeof states.mint>[1]) => {
        const state = context.mcpReq.requestState<{ step: number }>();
        if (state !== undefined) return { content: [{ type: 'text', text: `step ${state.step}` }] };
        return inputRequired({ requestState: await states.mint({ step: 1 }, context) });
      }) as never),
    { requestState: { verify: states.verify } },
  );

  it('gives the server its payload back, and refuses what it did not seal', async () => {
    const { result } = await send(handler, {}, {});
    const requestState = String(result?.['requestState']);
    expect(requestState).toMatch(/^thv1\.k\./);
    expect(await send(handler, { requestState }, {})).toMatchObject({ result: { content: [{ text: 'step 1' }] } });
    const tampered = `${requestState.slice(0, -4)}AAAA`;
    expect(await send(handler, { requestState: tampered }, {})).toMatchObject({
      error: { code: -32602, data: { reason: 'invalid_request_state' } },
    });
  });
});
