import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withMeta } from '../src/attribution.js';
import { message } from './support/client.js';
import { shared } from './support/shared.js';

const key = 'example.com/request';
const call = 'tools/call';
const log = (value: unknown) => ({
  jsonrpc: '2.0',
  method: 'notifications/message',
  params: { level: 'info', data: 'x', _meta: { [key]: value } },
});
const valueSent = (json: Record<string, unknown> | undefined) =>
  (json as { params: { _meta: Record<string, unknown> } }).params._meta[key];

describe('a server that echoes the attribution key', () => {
  it('reaches the request that it echoes, and no other', async () => {
    const { connection, client } = shared({ attributionKey: key });
    const [alice, bob] = [await client(), await client()];
    const [ofAlice, ofBob] = [alice.request(call, { a: 1 }), bob.request(call, { _meta: { k: 2 } })];
    const [one, two] = connection.of(call).map(valueSent);
    expect(one).not.toBe(two);
    connection.say(log(two));
    expect(ofAlice.frames).toEqual([]);
    expect(ofBob.frames).toEqual([log(two)]);
    expect(connection.of(call).map(({ params }) => params)).toMatchObject([{ a: 1 }, { _meta: { k: 2 } }]);
  });

  it.each([['after the answer'], ['with a made-up value'], ['with a value that is no text'], ['without one']])(
    'reaches nobody %s',
    async (how) => {
      const { connection, client, drops } = shared({ attributionKey: key });
      const reply = (await client()).request(call);
      const value = valueSent(connection.last(call));
      if (how === 'after the answer') {
        connection.answer(call);
        connection.say(log(value));
      } else {
        connection.say(
          log(how === 'with a made-up value' ? `${String(value)}0` : how === 'without one' ? undefined : 1),
        );
      }
      expect(reply.frames).toEqual([]);
      expect(drops.map(({ reason }) => reason)).toEqual(['unattributed-log']);
    },
  );

  it('is not asked for its own requests to echo anything', async () => {
    const { connection, client } = shared({ attributionKey: key });
    await client();
    expect(connection.last('initialize')['params']).not.toHaveProperty('_meta');
  });

  it.each([['' as string], ['progressToken'], [7 as unknown as string]])('needs a key unlike %j', (attributionKey) => {
    expect(() => shared({ attributionKey })).toThrow(/Expected `attributionKey` to be a key of `_meta`/);
  });
});

describe('putting a member into _meta', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":1,"method":"x"}', '{"params":{"_meta":{"k":"v"}},"jsonrpc":"2.0","id":1,"method":"x"}'],
    [
      '{"params" : { },"jsonrpc":"2.0","id":1,"method":"x"}',
      '{"params" : {"_meta":{"k":"v"}},"jsonrpc":"2.0","id":1,"method":"x"}',
    ],
    [
      '{"params":{"z":12345678901234567890,"a":"}\\""},"jsonrpc":"2.0","id":1,"method":"x"}',
      '{"params":{"_meta":{"k":"v"},"z":12345678901234567890,"a":"}\\""},"jsonrpc":"2.0","id":1,"method":"x"}',
    ],
    [
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"x":{"_meta":{}},"\\u005fmeta":{}}}',
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"x":{"_meta":{}},"\\u005fmeta":{"k":"v"}}}',
    ],
    ['{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', '{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}'],
    [
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":7}}',
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":7}}',
    ],
  ])('makes of %s %s', (before, after) => {
    expect(withMeta(message(before), 'k', 'v').bytes.toString()).toBe(after);
  });

  it('agrees with JSON.parse', () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(
        object,
        fc.option(object, { nil: undefined }),
        fc.constantFrom(undefined, 1),
        (params, meta, space) => {
          const json = {
            id: 1,
            params: meta === undefined ? params : { ...params, _meta: meta },
            jsonrpc: '2.0',
            method: 'x',
          };
          const before = JSON.parse(JSON.stringify(json)) as { params: { _meta?: Record<string, unknown> } };
          const after = JSON.parse(
            withMeta(message(JSON.stringify(json, null, space)), 'k', 'v').bytes.toString(),
          ) as unknown;
          const existing = Object.hasOwn(before.params, '_meta') ? before.params._meta : {};
          if (typeof existing !== 'object' || existing === null || Array.isArray(existing)) return;
          expect(after).toEqual({ ...before, params: { ...before.params, _meta: { k: 'v', ...existing } } });
        },
      ),
    );
  });
});
