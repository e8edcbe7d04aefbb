import { createMessage, parseMessage } from '@thv/transport';
import { describe, expect, it } from 'vitest';
import { toLegacyResult } from '../src/legacy/strip.js';
import { toLegacyRequest } from '../src/modern/requests.js';
import { toModernOutcome } from '../src/modern/results.js';

const options = { serverInfo: '{"name":"s","version":"1"}', cacheScope: 'private', takesUrls: true } as const;
const modern = (
  message: object,
  method = 'tools/call',
  changed: Partial<typeof options> | { takesUrls: false } = {},
) => {
  const outcome = toModernOutcome(
    { kind: 'answer', message: createMessage({ jsonrpc: '2.0', id: 'a', ...message }) },
    method,
    { ...options, ...changed },
  );
  return outcome.kind === 'answer' ? outcome.message.json() : outcome;
};

describe('a result of an older server', () => {
  it('gets its type and the name of the server, and keeps everything else', () => {
    const bytes = Buffer.from(
      '{"jsonrpc":"2.0","id":1,"result":{"big":9007199254740993,"_meta":{"x":1}, "content":[]}}',
    );
    const outcome = toModernOutcome({ kind: 'answer', message: parseMessage(bytes) }, 'tools/call', options);
    expect(outcome.kind === 'answer' && outcome.message.bytes.toString()).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","big":9007199254740993,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"},"x":1}, "content":[]}}',
    );
  });

  it.each(['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'resources/read'])(
    'of %s may not be kept',
    (method) => {
      expect(modern({ result: { tools: [] } }, method)).toMatchObject({ result: { ttlMs: 0, cacheScope: 'private' } });
    },
  );

  it('of a call says nothing of keeping it', () => {
    expect(Object.keys((modern({ result: {} }) as { readonly result: object }).result)).toEqual([
      'resultType',
      '_meta',
    ]);
  });

  it('that is no error any more gets its new code', () => {
    expect(modern({ error: { code: -32002, message: 'gone', data: { uri: 'x:1' } } }, 'resources/read')).toMatchObject({
      error: { code: -32602, message: 'gone', data: { uri: 'x:1' } },
    });
    expect(modern({ error: { code: -32601, message: 'no' } })).toMatchObject({
      failure: { status: 404, code: -32601 },
    });
    expect(modern({ error: { code: -32000, message: 'x' } })).toMatchObject({ error: { code: -32000 } });
  });

  it('that sends the user to an address becomes a question, or an error where the client takes none', () => {
    const error = {
      code: -32042,
      message: 'sign in',
      data: {
        elicitations: [
          { mode: 'url', elicitationId: '1', url: 'https://example.com/', message: 'Sign in' },
          { url: 7 },
        ],
      },
    };
    expect(modern({ error })).toMatchObject({
      id: 'a',
      result: {
        resultType: 'input_required',
        inputRequests: {
          e1: {
            method: 'elicitation/create',
            params: { mode: 'url', url: 'https://example.com/', message: 'Sign in' },
          },
        },
      },
    });
    expect(modern({ error }, 'tools/call', { takesUrls: false })).toMatchObject({ error: { code: -32603 } });
  });
});

describe('a request for an older server', () => {
  it('loses the keys of the hop and of the rounds alone', () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"requestState":"s","inputResponses":{},"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":1,"io.modelcontextprotocol/related-task":{"taskId":"t"},"traceparent":"00"}}}';
    expect(toLegacyRequest(parseMessage(Buffer.from(text))).bytes.toString()).toBe(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1,"io.modelcontextprotocol/related-task":{"taskId":"t"},"traceparent":"00"}}}',
    );
  });
});

describe('a result for an older client', () => {
  it('loses what that client does not know', () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{},"mine":1}}}';
    expect(toLegacyResult(parseMessage(Buffer.from(text))).bytes.toString()).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[],"_meta":{"mine":1}}}',
    );
  });
});
