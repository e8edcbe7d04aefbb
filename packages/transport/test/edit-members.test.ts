import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMessage, editMembers, parseMessage } from '../src/index.js';

const message = (text: string) => parseMessage(Buffer.from(text));
const edited = (text: string, ...edits: Parameters<typeof editMembers>[1][]) =>
  editMembers(message(text), ...edits).bytes.toString();

describe('editMembers', () => {
  it.each([
    [
      'adds to an object',
      '{"jsonrpc":"2.0","id":1,"result":{"a":1}}',
      { path: ['result'], set: { b: '2' } },
      '{"jsonrpc":"2.0","id":1,"result":{"b":2,"a":1}}',
    ],
    [
      'adds to an empty object',
      '{"jsonrpc":"2.0","id":1,"result":{}}',
      { path: ['result'], set: { b: '2' } },
      '{"jsonrpc":"2.0","id":1,"result":{"b":2}}',
    ],
    [
      'replaces a member',
      '{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":9007199254740993}}',
      { path: ['result'], set: { a: '[]' } },
      '{"jsonrpc":"2.0","id":1,"result":{"a":[],"b":9007199254740993}}',
    ],
    [
      'makes what is missing on the way',
      '{"jsonrpc":"2.0","id":1,"result":{"a":1}}',
      { path: ['result', '_meta', 'x'], set: { k: '"v"' } },
      '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"x":{"k":"v"}},"a":1}}',
    ],
    [
      'removes the last member',
      '{"jsonrpc":"2.0","id":1,"result":{"a":1, "b" : 2 }}',
      { path: ['result'], remove: (key: string) => key === 'b' },
      '{"jsonrpc":"2.0","id":1,"result":{"a":1}}',
    ],
    [
      'removes all members',
      '{"jsonrpc":"2.0","id":1,"result":{"a":1}}',
      { path: ['result'], remove: () => true },
      '{"jsonrpc":"2.0","id":1,"result":{}}',
    ],
    [
      'knows keys with escapes',
      '{"jsonrpc":"2.0","id":1,"result":{"\\u0061":1}}',
      { path: ['result'], remove: (key: string) => key === 'a' },
      '{"jsonrpc":"2.0","id":1,"result":{}}',
    ],
    [
      'leaves a path that meets no object',
      '{"jsonrpc":"2.0","id":1,"result":[1]}',
      { path: ['result', 'x'], set: { a: '1' } },
      '{"jsonrpc":"2.0","id":1,"result":[1]}',
    ],
    [
      'makes nothing where nothing is set',
      '{"jsonrpc":"2.0","id":1,"result":{}}',
      { path: ['result', 'x'], remove: () => true },
      '{"jsonrpc":"2.0","id":1,"result":{}}',
    ],
  ])('%s', (_, before, edit, after) => {
    expect(edited(before, edit)).toBe(after);
  });

  it('answers the same message where nothing changes', () => {
    const same = message('{"jsonrpc":"2.0","method":"x","params":{"a":1}}');
    expect(editMembers(same, { path: ['params'], remove: () => false })).toBe(same);
  });

  it('makes what the same change of the parsed value makes, for any value', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (result, set) => {
          const keys = new Set(Object.keys(result).filter((_, index) => index % 2 === 0));
          const texts = Object.fromEntries(Object.entries(set).map(([key, value]) => [key, JSON.stringify(value)]));
          const after = editMembers(createMessage({ jsonrpc: '2.0', id: 1, result }), {
            path: ['result'],
            set: texts,
            remove: (key) => keys.has(key),
          });
          const kept = Object.fromEntries(Object.entries(result).filter(([key]) => !keys.has(key)));
          const expected = JSON.parse(JSON.stringify({ ...kept, ...set })) as object;
          expect(after.json()['result']).toEqual(expected);
        },
      ),
    );
  });
});
