import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRetry, metaOf, parseMessage, spliceMessage, stringParam } from '../src/index.js';

const request = (params: unknown) =>
  parseMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })));

const key = fc.constantFrom(
  'name',
  'uri',
  '_meta',
  'inputResponses',
  'requestState',
  'arguments',
  'other',
  '__proto__',
);
const params = fc.oneof(
  fc.dictionary(key, fc.oneof(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()))),
  fc.jsonValue(),
);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const own = (value: unknown, name: string) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined);
const asText = (value: unknown) => (typeof value === 'string' ? value : undefined);
const asObject = (value: unknown) => (isObject(value) ? value : undefined);

describe('what a request says of itself', () => {
  it('is read as JSON.parse would read it', () => {
    fc.assert(
      fc.property(params, (given) => {
        const message = request(given);
        // A message that was changed on its way has no notes of where its members stand.
        for (const one of [message, spliceMessage(message, { idText: '"other"' })]) {
          const parsed: unknown = JSON.parse(message.bytes.toString()).params;
          expect(metaOf(one)).toEqual(asObject(own(parsed, '_meta')));
          expect(stringParam(one, 'name')).toBe(asText(own(parsed, 'name')));
          expect(stringParam(one, 'uri')).toBe(asText(own(parsed, 'uri')));
          const members = ['inputResponses', 'requestState'];
          expect(isRetry(one)).toBe(isObject(parsed) && members.some((member) => Object.hasOwn(parsed, member)));
        }
      }),
    );
  });

  it('is seen through escapes', () => {
    const text = String.raw`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"n\u0061me":"\u0065cho","_met\u0061":{"a\u0062":"\ud83d\ude42"}}}`;
    const message = parseMessage(Buffer.from(text));
    expect(stringParam(message, 'name')).toBe('echo');
    expect(metaOf(message)).toEqual({ ab: '🙂' });
  });

  it.each(['name', 'uri', 'requestState', 'inputResponses', '_meta'])('may not be said twice: %s', (member) => {
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"${member}":"a","${member}":"b"}}`;
    expect(() => parseMessage(Buffer.from(text))).toThrow(`params.${member}`);
  });

  it('is the same object for the same text, and not kept for ever', () => {
    const _meta = { client: 'one' };
    expect(metaOf(request({ _meta }))).toBe(metaOf(request({ _meta, name: 'x' })));
    const first = metaOf(request({ _meta }));
    for (let index = 0; index < 300; index += 1) metaOf(request({ _meta: { index } }));
    expect(metaOf(request({ _meta }))).not.toBe(first);
    expect(metaOf(request({ _meta }))).toEqual(first);
  });
});
