import { afterEach, describe, expect, it } from 'vitest';
import { createMessage, createStdioConnection } from '../src/index.js';
import type { ConnectionDown, Message, StdioConnection, StdioConnectionOptions } from '../src/index.js';
import { processGroup, until, within } from '@thv/doubles';

const open: StdioConnection[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

/** A child whose whole behaviour is one line of JavaScript. */
function connect(script: string, options: Partial<StdioConnectionOptions> = {}) {
  const messages: Message[] = [];
  const downs: ConnectionDown[] = [];
  const connection = createStdioConnection({
    command: process.execPath,
    args: ['-e', script],
    env: { PATH: process.env.PATH },
    restart: false,
    stopGraceMs: 300,
    ...options,
  });
  open.push(connection);
  const handlers = {
    onMessage: (message: Message) => void messages.push(message),
    onUp: () => undefined,
    onDown: (down: ConnectionDown) => void downs.push(down),
  };
  return {
    connection,
    messages,
    downs,
    start: (signal?: AbortSignal) => connection.start(handlers, signal ? { signal } : {}),
  };
}

const note = (text: string) => createMessage({ jsonrpc: '2.0', method: 'x', params: { text } });
const FOREVER = 'setInterval(() => {}, 1000);';

describe('a start', () => {
  it('is over when the connection is closed meanwhile', async () => {
    const { connection, start, downs } = connect(FOREVER);
    const started = start();
    const closed = connection.close();
    await expect(within(5_000, 'the start', started)).rejects.toMatchObject({
      code: 'ERR_TRANSPORT_SPAWN',
      message: expect.stringContaining('was closed while it started') as string,
    });
    await closed;
    expect(downs).toEqual([]);
    expect(connection.state).toBe('closed');
  });

  it('is given up on a signal, before and after the process exists', async () => {
    const gone = new Error('changed my mind');
    await expect(connect(FOREVER).start(AbortSignal.abort(gone))).rejects.toBe(gone);
    const { connection, start } = connect(FOREVER);
    const controller = new AbortController();
    const started = start(controller.signal);
    controller.abort(gone);
    await expect(started).rejects.toBe(gone);
    await connection.close();
    expect(connection.state).toBe('closed');
  });
});

describe('a pipe', () => {
  it('tells of room also below the mark of the stream', async () => {
    const { connection, start } = connect('process.stdin.resume();', { highWaterBytes: 1 });
    await start();
    for (let index = 0; index < 50; index += 1) {
      if (!connection.send(note('x'.repeat(5_000)))) await within(5_000, 'room', connection.drained());
    }
  });

  it('that breaks because the server exits is told as the exit, with what it wrote before', async () => {
    const last = JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} });
    const { connection, start, downs, messages } = connect(
      `process.stdin.once('data', () => { process.stdin.destroy();
        process.stdout.write(${JSON.stringify(`${last}\n`)}, () => { process.stderr.write('last words\\n', () => process.exit(7)); }); });`,
    );
    await start();
    const flood = setInterval(() => connection.send(note('x'.repeat(100_000))), 1);
    await until('it is down', () => downs.length > 0).finally(() => clearInterval(flood));
    expect(downs[0]).toMatchObject({ reason: 'exit', exitCode: 7, stderrTail: ['last words'] });
    expect(messages.map(({ idText }) => idText)).toEqual(['1']);
  });

  it('that the server closes while it lives on ends it', async () => {
    const { connection, start, downs } = connect(`require('node:fs').closeSync(0); ${FOREVER}`);
    await start();
    const pid = connection.pid ?? 0;
    const flood = setInterval(() => connection.send(note('x')), 5);
    await until('it is down', () => downs.length > 0).finally(() => clearInterval(flood));
    expect(downs[0]?.reason).toBe('write-failed');
    await until('it is gone', () => processGroup(pid).length === 0);
  });
});

describe('an exit', () => {
  it('brings all of a long stderr and the last line of stdout', async () => {
    const { start, downs, messages } = connect(
      `for (let i = 0; i < 2000; i += 1) console.error('line ' + i);
       process.stdout.write('{"jsonrpc":"2.0","id":1,"result":{}}'); process.exitCode = 3;`,
    );
    await start();
    await until('it is down', () => downs.length > 0);
    expect(downs[0]).toMatchObject({ reason: 'exit', exitCode: 3 });
    expect(downs[0]?.stderrTail.at(-1)).toBe('line 1999');
    expect(downs[0]?.stderrTail).toHaveLength(50);
    expect(messages).toHaveLength(1);
  });

  it('is told before the close resolves, once', async () => {
    const { connection, start, downs } = connect('process.stdin.resume();');
    await start();
    const closes = [connection.close(), connection.close()];
    await Promise.all(closes);
    expect(downs).toHaveLength(1);
    expect(downs[0]).toMatchObject({ reason: 'closed', exitCode: 0 });
  });

  it('does not wait for a process that left the group and holds the pipes', async () => {
    const { connection, start, downs, messages } = connect(
      `const { spawn } = require('node:child_process');
       spawn(process.execPath, ['-e', 'setTimeout(() => {}, 4000)'], { detached: true, stdio: 'inherit' });
       console.log('{"jsonrpc":"2.0","method":"started"}');
       process.stdin.resume().once('end', () => process.exit(0));`,
    );
    await start();
    await until('it has started', () => messages.length > 0);
    await within(3_000, 'the close', connection.close());
    expect(downs).toHaveLength(1);
  });
});

describe('a close', () => {
  it('during a restart tells nothing twice', async () => {
    let restart = (): void => undefined;
    const clock = {
      now: () => 0,
      setTimer: (_: number, callback: () => void) => {
        restart = callback;
        return () => undefined;
      },
    };
    const { connection, start, downs } = connect("process.stdin.once('data', () => process.exit(1));", {
      clock,
      restart: { maxAttempts: 1 },
    });
    await start();
    connection.send(note('end'));
    await until('it is down', () => downs.length > 0);
    restart();
    await connection.close();
    expect(downs).toEqual([expect.objectContaining({ reason: 'exit', retryAfterMs: 5_000 })]);
    expect(connection.state).toBe('closed');
  });
});

it.each([{ initialDelayMs: -1 }, { maxDelayMs: 1.5 }, { maxAttempts: Number.NaN }, { resetAfterMs: -5 }])(
  'refuses the restart option %j',
  (restart) => {
    expect(() => createStdioConnection({ command: 'node', env: {}, restart })).toThrow(
      /`restart\.\w+` to be an integer/,
    );
  },
);
