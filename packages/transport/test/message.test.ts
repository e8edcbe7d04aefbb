import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TransportError, createMessage, idKey, parseMessage, spliceMessage, splitArray } from '../src/index.js';

const parse = (text: string) => parseMessage(Buffer.from(text));
const codeOf = (action: () => unknown): string => {
  try {
    action();
  } catch (error) {
    if (TransportError.is(error)) return error.code;
    throw error;
  }
  return 'none';
};

describe('a message', () => {
  it.each([
    ['a request', '{"jsonrpc":"2.0","id":1,"method":"ping"}', { kind: 'request', idText: '1', method: 'ping' }],
    ['a string id', '{"jsonrpc":"2.0","id":"a\\u00e9","method":"x"}', { kind: 'request', idText: '"a\\u00e9"' }],
    ['a notification', '{"method":"n/x","jsonrpc":"2.0"}', { kind: 'notification', idText: undefined }],
    ['a result', '{"jsonrpc":"2.0","id":1,"result":{}}', { kind: 'response', isError: false }],
    ['a null result', '{"jsonrpc":"2.0","id":1,"result":null}', { kind: 'response', isError: false }],
    ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', { kind: 'response', isError: true }],
    [
      'an error without id',
      '{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}',
      { kind: 'response', idText: undefined },
    ],
    ['an escaped method', '{"jsonrpc":"2.0","method":"tools\\/list","id":0}', { method: 'tools/list', idText: '0' }],
    [
      'escaped keys',
      '{"jsonrpc":"2.0","\\u0069d":7,"m\\u0065thod":"x"}',
      { kind: 'request', idText: '7', method: 'x' },
    ],
    ['an escaped version', '{"jsonrpc":"\\u0032.0","method":"x"}', { kind: 'notification' }],
    [
      'a progress token',
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":"t"}}}',
      { progressTokenText: '"t"' },
    ],
    [
      'ids inside',
      '{"params":{"id":2,"method":"no"},"id":1,"method":"x","jsonrpc":"2.0"}',
      { idText: '1', method: 'x' },
    ],
    ['a big id', '{"jsonrpc":"2.0","id":9007199254740993,"method":"x"}', { idText: '9007199254740993' }],
  ])('reads %s', (_, text, expected) => {
    expect(parse(text)).toMatchObject(expected);
  });

  it.each([
    ['nothing', '', 'ERR_TRANSPORT_JSON'],
    ['half', '{"jsonrpc":"2.0","id":1', 'ERR_TRANSPORT_JSON'],
    ['text behind', '{"jsonrpc":"2.0","method":"x"} {}', 'ERR_TRANSPORT_JSON'],
    ['two objects', '{"jsonrpc":"2.0","method":"x"}{"jsonrpc":"2.0","method":"x"}', 'ERR_TRANSPORT_JSON'],
    ['a raw tab in a string', '{"jsonrpc":"2.0","method":"a\tb"}', 'ERR_TRANSPORT_JSON'],
    ['a raw line break in a string', '{"jsonrpc":"2.0","method":"a\nb"}', 'ERR_TRANSPORT_JSON'],
    ['a raw line break far in a string', `{"jsonrpc":"2.0","method":"${'a'.repeat(400)}\nb"}`, 'ERR_TRANSPORT_JSON'],
    ['a bad escape', '{"jsonrpc":"2.0","method":"\\x"}', 'ERR_TRANSPORT_JSON'],
    ['a leading zero', '{"jsonrpc":"2.0","id":01,"method":"x"}', 'ERR_TRANSPORT_JSON'],
    ['a trailing comma', '{"jsonrpc":"2.0","method":"x",}', 'ERR_TRANSPORT_JSON'],
    [
      'a deep value',
      `{"jsonrpc":"2.0","method":"x","params":${'['.repeat(600)}${']'.repeat(600)}}`,
      'ERR_TRANSPORT_JSON',
    ],
    ['an array', '[{"jsonrpc":"2.0","method":"x"}]', 'ERR_TRANSPORT_MESSAGE'],
    ['a string', '"x"', 'ERR_TRANSPORT_MESSAGE'],
    ['no version', '{"method":"x"}', 'ERR_TRANSPORT_MESSAGE'],
    ['another version', '{"jsonrpc":"1.0","method":"x"}', 'ERR_TRANSPORT_MESSAGE'],
    ['a null id', '{"jsonrpc":"2.0","id":null,"method":"x"}', 'ERR_TRANSPORT_MESSAGE'],
    ['a fraction as id', '{"jsonrpc":"2.0","id":1.5,"method":"x"}', 'ERR_TRANSPORT_MESSAGE'],
    ['an object as id', '{"jsonrpc":"2.0","id":{},"method":"x"}', 'ERR_TRANSPORT_MESSAGE'],
    ['true as id', '{"jsonrpc":"2.0","id":true,"method":"x"}', 'ERR_TRANSPORT_MESSAGE'],
    ['two ids', '{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}', 'ERR_TRANSPORT_MESSAGE'],
    ['two ids, one escaped', '{"jsonrpc":"2.0","id":1,"\\u0069d":2,"method":"x"}', 'ERR_TRANSPORT_MESSAGE'],
    ['two methods', '{"jsonrpc":"2.0","method":"tools/list","method":"tools/call"}', 'ERR_TRANSPORT_MESSAGE'],
    ['two versions', '{"jsonrpc":"2.0","jsonrpc":"2.0","method":"x"}', 'ERR_TRANSPORT_MESSAGE'],
    ['two params', '{"jsonrpc":"2.0","method":"x","params":{},"params":{}}', 'ERR_TRANSPORT_MESSAGE'],
    ['result and error', '{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', 'ERR_TRANSPORT_MESSAGE'],
    ['method and result', '{"jsonrpc":"2.0","id":1,"method":"x","result":1}', 'ERR_TRANSPORT_MESSAGE'],
    ['a number as method', '{"jsonrpc":"2.0","id":1,"method":5}', 'ERR_TRANSPORT_MESSAGE'],
    ['no shape', '{"jsonrpc":"2.0","id":1}', 'ERR_TRANSPORT_MESSAGE'],
  ])('refuses %s', (_, text, code) => {
    expect(codeOf(() => parse(text))).toBe(code);
  });

  it('refuses bytes that are no UTF-8', () => {
    const bytes = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","method":"'),
      Buffer.from([0xff, 0xc0]),
      Buffer.from('"}'),
    ]);
    expect(codeOf(() => parseMessage(bytes))).toBe('ERR_TRANSPORT_JSON');
  });

  it('tells the id of a message that is refused', () => {
    expect(() => parse('{"jsonrpc":"2.0","id":"q","method":5}')).toThrow(
      expect.objectContaining({ details: { idText: '"q"' } }) as Error,
    );
  });

  it('puts a body with line breaks on one line and keeps its values', () => {
    const value = { jsonrpc: '2.0', id: 1, method: 'x', params: { text: 'a b\n c', list: [1, { y: null }] } };
    const message = parse(JSON.stringify(value, null, 2));
    expect(message.bytes.toString()).toBe(JSON.stringify(value));
  });

  it('keeps one-line bytes as they came, spaces included', () => {
    const bytes = Buffer.from(' { "jsonrpc" : "2.0" , "method":"x" } ');
    expect(parseMessage(bytes).bytes).toBe(bytes);
  });
});

const LOSSLESS =
  '{"big":123456789012345678901234567890,"f":1.0e+2,"sep":"\u2028\u2029\u00A0","zwj":"👩‍👩‍👧","pua":"\uE000","z":-0,"order":{"b":1,"a":2}}';

describe('a splice', () => {
  it('replaces the id and nothing else', () => {
    const text = `{"jsonrpc":"2.0", "result":${LOSSLESS}, "id":"client-7"}`;
    expect(spliceMessage(parse(text), { idText: '42' }).bytes.toString()).toBe(text.replace('"client-7"', '42'));
  });

  it('answers the same message when nothing changes', () => {
    const message = parse('{"jsonrpc":"2.0","id":1,"method":"x"}');
    expect(spliceMessage(message, { idText: '1', progressTokenText: '5' })).toBe(message);
  });

  it.each([
    ['first', '{"_meta":{"progressToken":1,"a":2}}', '{"_meta":{"a":2}}'],
    ['last', '{"_meta":{"a":2 , "progressToken":"x"}}', '{"_meta":{"a":2 }}'],
    ['alone', '{"_meta":{ "progressToken":{"odd":[1]} }}', '{"_meta":{  }}'],
    ['middle', '{"_meta":{"a":1,"progressToken":1 , "b":2},"c":3}', '{"_meta":{"a":1,"b":2},"c":3}'],
  ])('removes a progress token that stands %s', (_, params, expected) => {
    const message = parse(`{"jsonrpc":"2.0","id":1,"method":"x","params":${params}}`);
    const spliced = spliceMessage(message, { idText: '9', progressTokenText: null });
    expect(spliced.bytes.toString()).toBe(`{"jsonrpc":"2.0","id":9,"method":"x","params":${expected}}`);
    expect(spliced.progressTokenText).toBeUndefined();
  });

  it('replaces id and token in either order, and once more', () => {
    for (const text of [
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":"t"}}}',
      '{"params":{"_meta":{"progressToken":"t"}},"method":"x","jsonrpc":"2.0","id":1}',
    ]) {
      const once = spliceMessage(parse(text), { idText: '"long-id"', progressTokenText: '77' });
      expect(once.bytes.toString()).toBe(text.replace('"id":1', '"id":"long-id"').replace('"t"', '77'));
      const back = spliceMessage(once, { idText: '1', progressTokenText: '"t"' });
      expect(back.bytes.toString()).toBe(text);
      expect(back).toMatchObject({ idText: '1', progressTokenText: '"t"' });
    }
  });

  it('refuses an id for a notification', () => {
    expect(codeOf(() => spliceMessage(parse('{"jsonrpc":"2.0","method":"x"}'), { idText: '1' }))).toBe(
      'ERR_TRANSPORT_ARGUMENT',
    );
  });

  it('agrees with JSON.parse on any payload', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.oneof(fc.integer(), fc.string()), fc.boolean(), (params, id, pretty) => {
        const value = { jsonrpc: '2.0', id, method: 'x', params };
        const message = parseMessage(Buffer.from(JSON.stringify(value, null, pretty ? 1 : 0)));
        const spliced = spliceMessage(message, { idText: '"new"' });
        expect(spliced.json()).toEqual(JSON.parse(JSON.stringify({ ...value, id: 'new' })));
        expect(spliced.bytes.includes(10)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the scanner', () => {
  const judge = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const verdict = (payload: string) =>
    codeOf(() => parse(`{"jsonrpc":"2.0","id":1,"method":"x","params":${payload}}`)) === 'none';

  it('accepts exactly what JSON.parse accepts, for damaged JSON', () => {
    const damaged = fc
      .tuple(
        fc.json(),
        fc.nat(),
        fc.constantFrom(
          '',
          '"',
          '\\',
          '{',
          '}',
          '[',
          ']',
          ',',
          ':',
          '0',
          '-',
          'e',
          '.',
          'u',
          '\t',
          ' ',
          '\u0001',
          't',
          'é',
          '\u2028',
        ),
      )
      .map(([text, place, insert]) => {
        const at = place % (text.length + 1);
        return text.slice(0, at) + insert + text.slice(at + (place % 2));
      });
    fc.assert(
      fc.property(damaged, (payload) => {
        if (Buffer.from(payload).toString() !== payload) return;
        // The payload must stay one value: a comma would end the member.
        expect(verdict(`[${payload}]`)).toBe(judge(`[${payload}]`));
      }),
      { numRuns: 3_000 },
    );
  });

  it('accepts exactly what JSON.parse accepts, for long strings', () => {
    const piece = fc.constantFrom(
      'a'.repeat(300),
      'b',
      '\\n',
      '\\"',
      '\\\\',
      '\\u00e9',
      'é',
      '漢',
      '\\',
      '"',
      '\u0001',
      '\n',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const payload = `["${pieces.join('')}"]`;
        expect(verdict(payload)).toBe(judge(payload));
      }),
      { numRuns: 2_000 },
    );
  });

  it('splits an array where JSON.parse does', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), fc.boolean(), (values, pretty) => {
        const elements = splitArray(Buffer.from(JSON.stringify(values, null, pretty ? 2 : 0)));
        expect(elements?.map((element) => JSON.parse(element.toString()) as unknown)).toEqual(
          JSON.parse(JSON.stringify(values)),
        );
      }),
    );
    expect(splitArray(Buffer.from('[1,]'))).toBeUndefined();
    expect(splitArray(Buffer.from('{}'))).toBeUndefined();
    expect(splitArray(Buffer.from('[1] 2'))).toBeUndefined();
  });
});

describe('the key of an id', () => {
  it.each([
    ['1', '1.0', true],
    ['1', '"1"', false],
    ['10', '1e1', true],
    ['0', '-0', true],
    ['100', '1000e-1', true],
    ['"a"', '"\\u0061"', true],
    ['9007199254740993', '9007199254740992', false],
  ])('is for %s and %s the same: %s', (a, b, same) => {
    expect(idKey(a) === idKey(b)).toBe(same);
  });

  it.each(['1.5', 'null', 'true', '{}', '1e-1', '1e99999', `"${'x'.repeat(5_000)}"`])('refuses %s', (text) => {
    expect(codeOf(() => idKey(text))).toBe('ERR_TRANSPORT_MESSAGE');
  });
});

describe('a message of ours', () => {
  it('is made from a value', () => {
    expect(createMessage({ jsonrpc: '2.0', method: 'notifications/initialized' })).toMatchObject({
      kind: 'notification',
      method: 'notifications/initialized',
    });
  });
});
