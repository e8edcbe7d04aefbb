import { describe, expect, it } from 'vitest';
import { createDispatcher, DispatcherError } from '../src/index.js';
import type { DispatcherOptions } from '../src/index.js';
import { TestClient } from './support/client.js';
import { ManualClock, settled } from './support/clock.js';
import { FakeConnection } from './support/connection.js';
import { perSession } from './support/sessions.js';
import { shared } from './support/shared.js';

describe('the end of a dispatcher', () => {
  it('answers what is on its way, ends the streams, and closes the server', async () => {
    const { connection, client, dispatcher } = shared();
    const alice = await client();
    const stream = alice.stream();
    const reply = alice.request('tools/call');
    await dispatcher.close();
    expect(reply.failure).toMatchObject({ reason: 'shutdown', status: 503 });
    expect(stream.ended).toBe(1);
    expect(connection.state).toBe('closed');
    expect(dispatcher.stats()).toMatchObject({ sessions: 0, streams: 0, inFlight: 0 });
  });

  it('waits for what is on its way when told so, and takes nothing new', async () => {
    const { connection, client, clock, dispatcher } = shared();
    const alice = await client();
    const reply = alice.request('tools/call');
    const closing = dispatcher.close({ drainMs: 30_000 });
    expect(alice.request('tools/call').failure.reason).toBe('shutdown');
    await clock.advance(1000);
    expect(reply.settlements).toBe(0);
    connection.answer('tools/call');
    await clock.advance(100);
    await closing;
    expect(reply.answer).toHaveProperty('result');
  });

  it('does not wait longer than told', async () => {
    const { client, clock, dispatcher } = shared();
    const reply = (await client()).request('tools/call');
    const closing = dispatcher.close({ drainMs: 1000 });
    await clock.advance(1100);
    await closing;
    expect(reply.failure.reason).toBe('shutdown');
  });

  it('closes the server once, however often it is asked', async () => {
    const { connection, dispatcher } = shared();
    await dispatcher.start();
    await Promise.all([dispatcher.close(), dispatcher.close(), dispatcher[Symbol.asyncDispose]()]);
    expect(connection.closed).toBe(1);
  });

  it('leaves no process of any session behind', async () => {
    const { client, dispatcher } = perSession();
    const backends = [await client(), await client()];
    await dispatcher.close();
    expect(backends.map(({ connection }) => connection.closed)).toEqual([1, 1]);
    const late = new TestClient(dispatcher).initialize();
    expect(late.failure.reason).toBe('shutdown');
  });

  it('refuses to start again', async () => {
    const { dispatcher } = shared();
    await dispatcher.close();
    await expect(dispatcher.start()).rejects.toMatchObject({ code: 'ERR_DISPATCHER_CLOSED' });
    await expect(dispatcher.ready()).rejects.toMatchObject({ code: 'ERR_DISPATCHER_CLOSED' });
  });

  it('stops its timers', async () => {
    const clock = new ManualClock();
    const { client, dispatcher } = shared({ clock });
    const alice = await client();
    alice.stream();
    alice.request('tools/call');
    await dispatcher.close();
    await clock.advance(10_000);
    expect(clock.pending).toBe(0);
  });
});

describe('the options', () => {
  const connection = new FakeConnection();
  it.each([
    [{ connection, requestTimeoutMs: 0 }, 'Expected `requestTimeoutMs` to be a positive integer, got `0` (number)'],
    [{ connection, maxSessions: 1.5 }, 'Expected `maxSessions` to be a positive integer, got `1.5` (number)'],
    [{ connection, streamAfterMs: -1 }, 'Expected `streamAfterMs` to be a non-negative integer, got `-1` (number)'],
    [
      { connection, keepAliveMs: '30' as unknown as number },
      'Expected `keepAliveMs` to be a positive integer, got `30` (string)',
    ],
    [
      { connection, methodTimeoutsMs: { ping: -5 } },
      'Expected `methodTimeoutsMs["ping"]` to be a positive integer, got `-5` (number)',
    ],
    [
      { connection, resumability: { maxBytes: 0 } },
      'Expected `resumability.maxBytes` to be a positive integer, got `0` (number)',
    ],
    [{}, 'Expected `connection` to be given for isolation "shared", got `undefined` (undefined)'],
    [{ isolation: 'session' }, 'Expected `connect` to be given for isolation "session", got `undefined` (undefined)'],
    [
      { isolation: 'none' as 'shared', connection },
      'Expected `isolation` to be "shared", "session" or "principal", got `none` (string)',
    ],
  ] satisfies [DispatcherOptions, string][])('%j are refused: %s', (options, text) => {
    let thrown: unknown;
    try {
      createDispatcher(options);
    } catch (error) {
      thrown = error;
    }
    expect(DispatcherError.is(thrown) && thrown.code).toBe('ERR_DISPATCHER_ARGUMENT');
    expect(String(thrown)).toContain(text);
  });

  it('have the defaults that the documentation lists', async () => {
    const { dispatcher } = shared();
    expect(dispatcher.settings).toMatchObject({
      requestTimeoutMs: 60_000,
      sessionTtlMs: 7_200_000,
      keepAliveMs: 30_000,
      maxQueuedMessages: 100,
      maxQueuedBytes: 16_777_216,
      maxInFlightPerSession: 64,
      streamQueueSize: 100,
      maxSinkBytes: 8_388_608,
      sinkStallMs: 60_000,
      pauseAboveBytes: 33_554_432,
      serverRequestTimeoutMs: 600_000,
    });
    expect(dispatcher.settings.timesOf('x')).toMatchObject({ timeoutMs: 60_000, maxTotalMs: 600_000 });
    expect(perSession().dispatcher.settings.maxSessions).toBe(32);
    await settled();
  });
});
