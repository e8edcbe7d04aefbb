import { describe, expect, it } from 'vitest';
import { MrtrError, Suspend, driveRounds, resumeRounds } from '../src/index.js';
import type { DriveOptions, DrivenRequest, JsonObject } from '../src/index.js';

const form = { method: 'elicitation/create', params: { mode: 'form', message: '?', requestedSchema: {} } } as const;
const address = {
  method: 'elicitation/create',
  params: { mode: 'url', message: '?', url: 'https://example.com/' },
} as const;
const round = (inputRequests: object | undefined, requestState?: string): JsonObject => ({
  resultType: 'input_required',
  ...(inputRequests === undefined ? {} : { inputRequests: inputRequests as JsonObject }),
  ...(requestState === undefined ? {} : { requestState }),
});
const done = { resultType: 'complete', content: [] };
const call: DrivenRequest = {
  method: 'tools/call',
  params: { name: 'a', arguments: { n: 1 }, _meta: { progressToken: 'mine', trace: 't' } },
};

/** Answers each request with the next of `results`, and keeps what was sent. */
function server(...results: JsonObject[]) {
  const sent: DrivenRequest[] = [];
  const send = async (request: DrivenRequest): Promise<JsonObject> => {
    sent.push(request);
    return results[sent.length - 1] ?? results.at(-1) ?? done;
  };
  return { send, sent };
}

function options(changed: Partial<DriveOptions> = {}) {
  const slept: number[] = [];
  let tokens = 0;
  const made: DriveOptions = {
    handlers: {
      form: () => ({ action: 'accept', content: {} }),
      url: () => ({ action: 'accept' }),
      roots: () => ({ roots: [] }),
    },
    createProgressToken: () => ++tokens,
    sleep: async (delayMs, signal) => {
      signal.throwIfAborted();
      slept.push(delayMs);
    },
    ...changed,
  };
  return { made, slept };
}

describe('driveRounds', () => {
  it('M43 sends the original parameters, the answers of the round alone, the state byte for byte and a new token', async () => {
    const { send, sent } = server(
      round({ a: form }, 'one'),
      round({ b: { method: 'roots/list' } }, 'two "\\u0000é'),
      done,
    );
    expect(await driveRounds(send, call, options().made)).toEqual({ kind: 'complete', result: done });
    const params = sent.map((request) => request.params as Record<string, JsonObject>);
    expect(params.map(({ inputResponses, requestState }) => ({ inputResponses, requestState }))).toEqual([
      { inputResponses: undefined, requestState: undefined },
      { inputResponses: { a: { action: 'accept', content: {} } }, requestState: 'one' },
      { inputResponses: { b: { roots: [] } }, requestState: 'two "\\u0000é' },
    ]);
    for (const { name, arguments: args, _meta } of params) {
      expect({ name, args, trace: _meta?.['trace'] }).toEqual({ name: 'a', args: { n: 1 }, trace: 't' });
      expect(_meta?.['io.modelcontextprotocol/clientCapabilities']).toEqual({
        elicitation: { form: {}, url: {} },
        roots: {},
      });
    }
    expect(params.map(({ _meta }) => _meta?.['progressToken'])).toEqual([1, 2, 3]);
  });

  it('tells an empty state from none', async () => {
    const { send, sent } = server(round({ a: form }, ''), round({ a: form }), done);
    await driveRounds(send, call, options().made);
    expect(sent.map(({ params }) => params['requestState'])).toEqual([undefined, '', undefined]);
    expect(Object.keys(sent[2]?.params ?? {})).not.toContain('requestState');
  });

  it('is not changed by who changes the parameters meanwhile, and changes nobody else', async () => {
    const params = { name: 'a', arguments: { n: 1 } };
    const results = [round({ a: form }, 's'), done];
    const sent: JsonObject[] = [];
    const send = async (request: DrivenRequest): Promise<JsonObject> => {
      sent.push(request.params);
      (request.params['arguments'] as { n: number }).n = 99;
      params.arguments.n = 7;
      return results.shift() ?? done;
    };
    const other = server(done);
    await Promise.all([
      driveRounds(send, { method: 'tools/call', params }, options().made),
      driveRounds(other.send, call, options().made),
    ]);
    expect(sent[1]?.['name']).toBe('a');
    expect(other.sent).toHaveLength(1);
    expect(Object.keys(other.sent[0]?.params ?? {})).not.toContain('requestState');
  });

  it('M45 waits longer before each round that asks nothing, and asks nobody', async () => {
    const { send } = server(round(undefined, 'a'), round(undefined, 'b'), round(undefined, 'c'), done);
    const { made, slept } = options({ handlers: { form: () => Promise.reject(new Error('asked')) } });
    expect(await driveRounds(send, call, made)).toMatchObject({ kind: 'complete' });
    expect(slept).toEqual([250, 500, 1000]);
  });

  it('asks a person once to open an address, however often the server comes back', async () => {
    const { send } = server(round({ a: address }, '1'), round({ a: address }, '2'), done);
    let asked = 0;
    const { made, slept } = options({
      handlers: {
        url: () => {
          asked += 1;
          return { action: 'accept' };
        },
      },
    });
    await driveRounds(send, call, made);
    expect({ asked, slept }).toEqual({ asked: 1, slept: [250, 500] });
  });

  it('M46 stops at the cap with the last round', async () => {
    const { send, sent } = server(round({ a: form }, 'x'));
    const error: unknown = await driveRounds(send, call, options({ maxRounds: 3 }).made).catch(
      (thrown: unknown) => thrown,
    );
    expect(MrtrError.is(error, 'ERR_MRTR_ROUNDS') && error.details['round']).toEqual(round({ a: form }, 'x'));
    expect(sent).toHaveLength(4);
  });

  it.each([
    ['M48 tools/list', 'tools/list', round({ a: form })],
    ['an unknown type', 'tools/call', { resultType: 'later' }],
    ['a kind that is no question', 'tools/call', round({ a: { method: 'tools/call' } })],
    ['nothing at all', 'tools/call', round({})],
    ['a state that is no text', 'tools/call', { resultType: 'input_required', requestState: 7 }],
    ['questions that are no object', 'tools/call', { resultType: 'input_required', inputRequests: [] }],
    ['what was not declared', 'tools/call', round({ a: { method: 'sampling/createMessage', params: {} } })],
  ])('refuses %s, and sends nothing more', async (_, method, result) => {
    const { send, sent } = server(result as JsonObject);
    await expect(driveRounds(send, { method, params: {} }, options().made)).rejects.toMatchObject({
      code: 'ERR_MRTR_PROTOCOL',
    });
    expect(sent).toHaveLength(1);
  });

  it('takes a result without a type as complete, unless it is strict', async () => {
    const result = { content: [] };
    expect(await driveRounds(server(result).send, call, options().made)).toEqual({ kind: 'complete', result });
    await expect(driveRounds(server(result).send, call, options({ strict: true }).made)).rejects.toMatchObject({
      code: 'ERR_MRTR_PROTOCOL',
    });
  });

  it('M50 ends the other questions when one fails, and sends no retry', async () => {
    const { send, sent } = server(round({ a: form, b: { method: 'roots/list' } }), done);
    let aborted = false;
    const { made } = options({
      handlers: {
        form: () => Promise.reject(new Error('no model')),
        roots: (_, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              aborted = true;
              resolve({ roots: [] });
            });
          }),
      },
    });
    await expect(driveRounds(send, call, made)).rejects.toThrow('no model');
    expect({ aborted, sent: sent.length }).toEqual({ aborted: true, sent: 1 });
  });

  it('answers only a few questions at the same time', async () => {
    const questions = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`k${index}`, form]));
    let now = 0;
    let most = 0;
    const { made } = options({
      concurrency: 2,
      handlers: {
        form: async () => {
          most = Math.max(most, ++now);
          await Promise.resolve();
          now -= 1;
          return { action: 'decline' };
        },
      },
    });
    const { send, sent } = server(round(questions), done);
    await driveRounds(send, call, made);
    expect(most).toBe(2);
    expect(Object.keys(sent[1]?.params['inputResponses'] as object)).toEqual(Object.keys(questions));
  });

  it('passes on that a person declined or cancelled', async () => {
    const { send, sent } = server(round({ a: form }), done);
    await driveRounds(send, call, options({ handlers: { form: () => ({ action: 'decline' }) } }).made);
    expect(sent[1]?.params['inputResponses']).toEqual({ a: { action: 'decline' } });
  });

  it('refuses an answer that is none', async () => {
    const handlers = { form: () => 'yes' as unknown as JsonObject };
    await expect(driveRounds(server(round({ a: form })).send, call, options({ handlers }).made)).rejects.toMatchObject({
      code: 'ERR_MRTR_UNANSWERED',
    });
  });

  it.each(['handler', 'pacing', 'retry'] as const)('M51 ends when it is aborted during %s', async (when) => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const stop = () => controller.abort(reason);
    const sent: DrivenRequest[] = [];
    const send = async (request: DrivenRequest, { signal }: { signal: AbortSignal }): Promise<JsonObject> => {
      sent.push(request);
      if (sent.length > 1) {
        stop();
        signal.throwIfAborted();
      }
      return when === 'pacing' ? round(undefined, 's') : round({ a: form });
    };
    const { made } = options({
      signal: controller.signal,
      handlers: {
        form: () => {
          if (when === 'handler') stop();
          return { action: 'accept' };
        },
      },
      ...(when === 'pacing'
        ? {
            sleep: async (_: number, signal: AbortSignal) => {
              stop();
              signal.throwIfAborted();
            },
          }
        : {}),
    });
    await expect(driveRounds(send, call, made)).rejects.toBe(reason);
    expect(sent).toHaveLength(when === 'retry' ? 2 : 1);
  });

  it('M53 stops for a handler that needs time, and goes on in another place with its token', async () => {
    const first = server(round({ a: form }, 'kept'));
    const suspended = await driveRounds(
      first.send,
      call,
      options({ handlers: { form: () => Promise.reject(new Suspend()) } }).made,
    );
    if (suspended.kind !== 'suspended') throw new Error(suspended.kind);
    expect(suspended.round).toEqual(round({ a: form }, 'kept'));
    const second = server(done);
    expect(await resumeRounds(second.send, suspended.token, options().made)).toMatchObject({ kind: 'complete' });
    expect(second.sent[0]).toMatchObject({
      method: 'tools/call',
      params: { name: 'a', arguments: { n: 1 }, requestState: 'kept', inputResponses: { a: { action: 'accept' } } },
    });
    for (const token of ['', 'thvs1.', 'x', suspended.token.slice(0, -20)]) {
      expect(() => resumeRounds(second.send, token, options().made)).toThrow(
        expect.objectContaining({ code: 'ERR_MRTR_TOKEN' }),
      );
    }
  });

  it('M55 ends at the deadline for all rounds, and sends no retry', async () => {
    const { send, sent } = server(round({ a: form }), done);
    const { made } = options({ totalTimeoutMs: 30, handlers: { form: () => new Promise(() => undefined) } });
    await expect(driveRounds(send, call, made)).rejects.toMatchObject({ code: 'ERR_MRTR_TIMEOUT' });
    expect(sent).toHaveLength(1);
  });

  it('ends a single request at its own deadline', async () => {
    const send = (_: DrivenRequest, { signal }: { signal: AbortSignal }): Promise<JsonObject> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    await expect(driveRounds(send, call, options({ requestTimeoutMs: 20 }).made)).rejects.toMatchObject({
      code: 'ERR_MRTR_TIMEOUT',
    });
  });

  it('refuses options of the wrong kind', () => {
    expect(() => driveRounds(server().send, call, options({ maxRounds: 0 }).made)).toThrow(
      '`maxRounds` to be a positive integer',
    );
  });
});
