import { describe, expect, it } from 'vitest';
import { message } from './support/client.js';
import { shared } from './support/shared.js';

const call = 'tools/call';
const wireToken = (json: Record<string, unknown>) =>
  (json as { params: { _meta?: { progressToken?: unknown } } }).params._meta?.progressToken;
const progress = (progressToken: unknown, rest: Record<string, unknown> = { progress: 1 }) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken, ...rest },
});

describe('progress', () => {
  it('reaches exactly the request it belongs to, although both clients chose one token', async () => {
    const { connection, client } = shared();
    const [alice, bob] = [await client(), await client()];
    const ofAlice = alice.request(call, { _meta: { progressToken: 'x' } });
    const ofBob = bob.request(call, { _meta: { progressToken: 'x' } });
    const [one, two] = connection.of(call).map(wireToken);
    expect(one).not.toBe(two);
    connection.say(progress(two, { progress: 2, message: 'bob' }));
    connection.say(progress(one, { progress: 1, message: 'alice' }));
    expect(ofAlice.frames).toEqual([progress('x', { progress: 1, message: 'alice' })]);
    expect(ofBob.frames).toEqual([progress('x', { progress: 2, message: 'bob' })]);
  });

  it.each([['text'], [''], [0], [12], ['12'], ['"quoted" \\ and é']])(
    'restores the token %j with its type',
    async (token) => {
      const { connection, client } = shared();
      const reply = (await client()).request(call, { _meta: { progressToken: token } });
      connection.say(progress(wireToken(connection.last(call)), { progress: 0.5, total: 2 }));
      expect(reply.frames).toEqual([progress(token, { progress: 0.5, total: 2 })]);
    },
  );

  it('keeps every other byte of the notification', async () => {
    const { connection, dispatcher, client } = shared();
    const alice = await client();
    const { RecordingReply } = await import('./support/client.js');
    const reply = new RecordingReply(true);
    const texts: string[] = [];
    const send = reply.send.bind(reply);
    reply.send = (frame) => {
      texts.push(frame.bytes.toString());
      return send(frame);
    };
    dispatcher.request(
      message('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"}}}'),
      reply,
      alice.origin,
    );
    const token = String(wireToken(connection.last(call)));
    const text = (value: string) =>
      `{"method":"notifications/progress","jsonrpc":"2.0","params":{"z":12345678901234567890,"progressToken" : ${value},"m":"\\"progressToken\\": 7 \u2028"}}`;
    connection.say(text(token));
    expect(texts).toEqual([text('"t"').replace('"progressToken" : ', '"progressToken":')]);
  });

  it('keeps its meaning where the key stands twice', async () => {
    const { connection, client } = shared();
    const reply = (await client()).request(call, { _meta: { progressToken: 't' } });
    const token = wireToken(connection.last(call));
    connection.say(progress(token, { progress: 1, _meta: { progressToken: 99 } }));
    expect(reply.frames).toEqual([progress('t', { progress: 1, _meta: { progressToken: 99 } })]);
  });

  it('does not ask for it where the client takes no stream', async () => {
    const { connection, client, drops } = shared();
    const reply = (await client()).request(call, { a: 1, _meta: { progressToken: 't', k: 2 } }, { streams: false });
    expect(connection.last(call)['params']).toEqual({ a: 1, _meta: { k: 2 } });
    connection.say(progress(connection.last(call)['id']));
    expect(reply.frames).toEqual([]);
    expect(drops.map(({ reason }) => reason)).toEqual(['unknown-progress']);
  });

  it.each([['t'], [9999], [null], [{ a: 1 }], [undefined]])(
    'with the token %j, which we never gave, reaches nobody',
    async (token) => {
      const { connection, client, drops } = shared();
      const reply = (await client()).request(call, { _meta: { progressToken: 't' } });
      connection.say(progress(token));
      expect(reply.frames).toEqual([]);
      expect(drops).toHaveLength(1);
    },
  );

  it('of a request without a token reaches nobody', async () => {
    const { connection, client } = shared();
    const reply = (await client()).request(call);
    connection.say(progress(connection.last(call)['id']));
    expect(reply.frames).toEqual([]);
  });

  it('after the answer reaches nobody', async () => {
    const { connection, client } = shared();
    const reply = (await client()).request(call, { _meta: { progressToken: 't' } });
    const token = wireToken(connection.last(call));
    connection.answer(call);
    connection.say(progress(token));
    expect(reply.log).toEqual(['settled answer']);
  });

  it('collapses to the newest while the client does not read, and comes before the answer', async () => {
    const { connection, client } = shared();
    const reply = (await client()).request(call, { _meta: { progressToken: 't' } });
    const token = wireToken(connection.last(call));
    reply.accepting = false;
    for (let n = 1; n <= 50; n++) connection.say(progress(token, { progress: n }));
    expect(reply.frames).toHaveLength(1);
    reply.accepting = true;
    reply.onDrain?.();
    expect(reply.frames.map((frame) => (frame['params'] as { progress: number }).progress)).toEqual([1, 50]);
    reply.accepting = false;
    connection.say(progress(token, { progress: 51 }));
    connection.say(progress(token, { progress: 52 }));
    connection.answer(call);
    expect(reply.log.at(-1)).toBe('settled answer');
    expect(reply.frames.at(-1)).toMatchObject({ params: { progress: 52 } });
  });
});
