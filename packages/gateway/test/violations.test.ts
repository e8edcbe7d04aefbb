import { parseMessage } from '@thv/transport';
import { describe, expect, it } from 'vitest';
import { violationOf } from '../src/modern/violations.js';

const message = (text: string) => parseMessage(Buffer.from(text));
const request = (method: string, capabilities: object = {}) =>
  message(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { name: 'a', _meta: { 'io.modelcontextprotocol/clientCapabilities': capabilities } },
    }),
  );
const asking = (requests: string, type = '"input_required"') =>
  message(`{"jsonrpc":"2.0","id":1,"result":{"resultType":${type},"inputRequests":${requests}}}`);
const form = '{"a":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}}';
const call = request('tools/call', { elicitation: {} });

describe('what a server may not answer', () => {
  it('is not what it may', () => {
    expect(violationOf(call, asking(form))).toBeUndefined();
    expect(
      violationOf(call, message('{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"input_required"}]}}')),
    ).toBeUndefined();
  });

  it.each([
    ['a question on a list', request('tools/list', { elicitation: {} }), asking(form)],
    ['a question of an unknown kind', call, asking('{"a":{"method":"tools/call"}}')],
    ['a question whose parameters are null', call, asking('{"a":{"method":"elicitation/create","params":null}}')],
    ['nothing', call, asking('{}')],
    ['G33 what was not declared', request('tools/call'), asking(form)],
    ['what was not declared, in escapes', request('tools/call'), asking(form, String.raw`"\u0069nput_required"`)],
    ['G49 a task', call, message('{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","task":{}}}')],
    ['a task in escapes', call, message(String.raw`{"jsonrpc":"2.0","id":1,"result":{"resultType":"t\u0061sk"}}`)],
  ])('is %s', (_, asked, answer) => {
    expect(violationOf(asked, answer)).toMatchObject({ reason: 'refused' });
  });

  it('is a task for a client that declared the extension', () => {
    const declared = request('tools/call', { extensions: { 'io.modelcontextprotocol/tasks': {} } });
    expect(violationOf(declared, message('{"jsonrpc":"2.0","id":1,"result":{"resultType":"task"}}'))).toBeUndefined();
  });
});
