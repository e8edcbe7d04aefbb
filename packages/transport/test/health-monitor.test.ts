import { describe, expect, it } from 'vitest';
import { createHealthMonitor, findFreePort } from '../src/index.js';
import type { Clock, HealthOptions } from '../src/index.js';
import { ask, openProxy, openServer, readBody, rpc, sendJson } from './support/server.js';

/** A clock that a test moves. */
function createClock() {
  let now = 0;
  let timers: { readonly due: number; readonly callback: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    setTimer(delayMs, callback) {
      const timer = { due: now + delayMs, callback };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
  };
  return {
    clock,
    async forward(ms: number): Promise<void> {
      const until = now + ms;
      for (;;) {
        for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
        const next = timers.filter(({ due }) => due <= until).sort((a, b) => a.due - b.due)[0];
        if (next === undefined) break;
        now = next.due;
        timers = timers.filter((timer) => timer !== next);
        next.callback();
      }
      now = until;
    },
  };
}

function setUp(answers: readonly boolean[], options: HealthOptions = {}) {
  const time = createClock();
  const looks: number[] = [];
  const failed: string[] = [];
  const monitor = createHealthMonitor(
    async () => {
      looks.push(time.clock.now());
      if (answers[looks.length - 1] === false) throw new Error('gone');
    },
    { clock: time.clock, onFailed: (reason) => failed.push(reason), ...options },
  );
  return { ...time, looks, failed, monitor };
}

describe('a health monitor', () => {
  it('begins with the first answer of the server', async () => {
    const { monitor, forward, looks } = setUp([]);
    await forward(60_000);
    expect(looks).toEqual([]);
    monitor.begin();
    await forward(20_000);
    expect(looks).toEqual([70_000, 80_000]);
    monitor.close();
    await forward(60_000);
    expect(looks).toHaveLength(2);
  });

  it('gives up after five intervals in a row, about a minute, and tells once', async () => {
    const { monitor, forward, looks, failed } = setUp(Array.from({ length: 20 }, () => false));
    monitor.begin();
    await forward(69_999);
    expect(failed).toEqual([]);
    await forward(1);
    expect(looks).toEqual([10, 15, 25, 30, 40, 45, 55, 60, 70].map((seconds) => seconds * 1000));
    expect(failed).toEqual(['the server did not answer 5 times in a row: gone']);
    await forward(100_000);
    expect(failed).toHaveLength(1);
    expect(monitor).toMatchObject({ hasFailed: true, failures: 5, last: { isAlive: false, error: 'gone' } });
  });

  it('forgives when the second look finds the server', async () => {
    const { monitor, forward, failed } = setUp([false, true, false, true, false, true], { failureThreshold: 2 });
    monitor.begin();
    await forward(60_000);
    expect(failed).toEqual([]);
    expect(monitor.failures).toBe(0);
  });

  it('asks no second time with a threshold of 1', async () => {
    const { monitor, forward, looks, failed } = setUp([false], { failureThreshold: 1 });
    monitor.begin();
    await forward(10_000);
    expect(looks).toHaveLength(1);
    expect(failed).toHaveLength(1);
  });

  it('fails a server that never answers a client until a deadline', async () => {
    const { forward, failed } = setUp([], { startDeadlineMs: 5000 });
    await forward(5000);
    expect(failed).toEqual(['the server answered no client within 5 s']);
  });

  it.each([{ intervalMs: 0 }, { failureThreshold: 1.5 }, { retryDelayMs: -1 }, { pingTimeoutMs: 0 }])(
    'refuses %j',
    (options) => {
      expect(() => setUp([], options)).toThrow(expect.objectContaining({ code: 'ERR_TRANSPORT_ARGUMENT' }) as Error);
    },
  );

  it('of a proxy asks the server in its own way, and shows what it found', async () => {
    const seen: string[] = [];
    await using server = await openServer(async (request, response) => {
      const body = (await readBody(request)).toString();
      seen.push(`${request.method} ${request.url} ${request.headers['x-key']} ${body.includes('"ping"')}`);
      sendJson(response, { jsonrpc: '2.0', id: 1, result: {} });
    });
    const { clock, forward } = createClock();
    await using proxy = await openProxy({
      target: `${server.origin}/mcp`,
      health: {},
      clock,
      headers: { 'x-key': 'k' },
    });
    await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'initialize') });
    await forward(10_000);
    await expect.poll(() => seen).toEqual(['POST /mcp k false', 'GET /mcp k false']);
    await expect
      .poll(async () => (await ask(`${proxy.origin}/health`)).json)
      .toMatchObject({ mcp: { available: true } });
  });

  it('of a proxy ends with a server that is gone', async () => {
    const port = await findFreePort();
    const failed: string[] = [];
    const health = {
      intervalMs: 20,
      retryDelayMs: 5,
      failureThreshold: 2,
      onFailed: (text: string) => failed.push(text),
    };
    const server = await openServer((_, response) => sendJson(response, { jsonrpc: '2.0', id: 1, result: {} }), port);
    await using proxy = await openProxy({ target: server.origin, health });
    await ask(`${proxy.origin}/mcp`, { body: rpc(1, 'initialize') });
    await server.close();
    await expect.poll(() => failed).toHaveLength(1);
    expect(failed[0]).toMatch(/ECONNREFUSED/);
    expect((await ask(`${proxy.origin}/health`)).status).toBe(503);
  });
});
