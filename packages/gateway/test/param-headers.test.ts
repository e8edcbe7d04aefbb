import { createMessage, encodeHeaderValue } from '@thv/transport';
import { describe, expect, it } from 'vitest';
import { checkParamHeaders, headerMarks } from '../src/modern/param-headers.js';

const schema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    sure: { type: 'boolean', 'x-mcp-header': 'Sure' },
    nested: { type: 'object', properties: { deep: { type: 'string', 'x-mcp-header': 'Deep' } } },
    plain: { type: 'string' },
  },
};
const check = (args: object, headers: Readonly<Record<string, string>>) =>
  checkParamHeaders(
    createMessage({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't', arguments: args } }),
    headerMarks(schema),
    (name) => headers[name],
  )?.data;

describe('mirrored arguments', () => {
  it.each([
    ['text', { region: 'eu' }, { 'mcp-param-region': 'eu' }],
    ['text in base64', { region: 'zürich' }, { 'mcp-param-region': encodeHeaderValue('zürich') }],
    ['G08 a whole number in another spelling', { count: 42 }, { 'mcp-param-count': '42.0' }],
    ['true and false', { sure: true }, { 'mcp-param-sure': 'true' }],
    ['a nested one', { nested: { deep: 'x' } }, { 'mcp-param-deep': 'x' }],
    ['null, without a header', { region: null }, {}],
    ['nothing, without a header', {}, {}],
    ['a header that no mark names', {}, { 'mcp-param-other': 'x' }],
    ['an argument without a mark', { plain: 'x' }, {}],
  ])('agree: %s', (_, args, headers) => {
    expect(check(args, headers)).toBeUndefined();
  });

  it.each([
    ['no header', { region: 'eu' }, {}, { header: null, body: 'eu' }],
    ['another value', { region: 'eu' }, { 'mcp-param-region': 'us' }, { header: 'us', body: 'eu' }],
    ['another number', { count: 42 }, { 'mcp-param-count': '43' }, { header: '43', body: '42' }],
    ['words for a number', { count: 42 }, { 'mcp-param-count': '0x2a' }, { header: '0x2a', body: '42' }],
    ['another case of true', { sure: true }, { 'mcp-param-sure': 'True' }, { header: 'True', body: 'true' }],
    ['a header without an argument', {}, { 'mcp-param-region': 'eu' }, { header: 'eu', body: null }],
    ['broken base64', { region: 'x' }, { 'mcp-param-region': '=?base64?*?=' }, { header: '=?base64?*?=', body: 'x' }],
  ])('disagree: %s', (_, args, headers, data) => {
    expect(check(args, headers)).toEqual(data);
  });

  it.each([
    ['a mark that is no token', { a: { type: 'string', 'x-mcp-header': 'a b' } }],
    ['an empty mark', { a: { type: 'string', 'x-mcp-header': '' } }],
    ['a mark that is no text', { a: { type: 'string', 'x-mcp-header': 7 } }],
    ['a number with a fraction', { a: { type: 'number', 'x-mcp-header': 'A' } }],
    [
      'two marks in different case',
      { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } },
    ],
  ])('do not count where a schema has %s', (_, properties) => {
    expect(headerMarks({ type: 'object', properties })).toEqual([]);
  });

  it('are not looked for in what is no schema', () => {
    for (const value of [undefined, null, 7, 'x', [], { properties: [] }]) expect(headerMarks(value)).toEqual([]);
  });
});
