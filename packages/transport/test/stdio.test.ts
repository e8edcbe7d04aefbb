import { hostileServer, hostileServerInShell, losslessResult, processGroup, until } from '@thv/doubles';
import type { HostileScript } from '@thv/doubles';
import { afterEach, describe, expect, it } from 'vitest';
import { createMessage, createStdioConnection } from '../src/index.js';
import type { ConnectionDown, Message, StdioConnection, StdioConnectionOptions } from '../src/index.js';

const STUBBORN = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const open: StdioConnection[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

interface Life {
  readonly connection: StdioConnection;
  readonly messages: Message[];
  readonly downs: ConnectionDown[];
  readonly noise: string[];
  readonly oversize: (string | undefined)[];
  ups: number;
  call(id: number, name: string, args?: object): Promise<Message>;
}

async function start(
  script: HostileScript,
  options: Partial<StdioConnectionOptions> = {},
  command = hostileServer(script),
): Promise<Life> {
  const connection = createStdioConnection({
    ...command,
    env: { PATH: process.env.PATH },
    restart: false,
    stopGraceMs: 400,
    ...options,
  });
  open.push(connection);
  const life: Life = {
    connection,
    messages: [],
    downs: [],
    noise: [],
    oversize: [],
    ups: 0,
    async call(id, name, args = {}) {
      connection.send(createMessage({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } }));
      await until(
        'the wanted state',
        () => life.messages.some(({ idText }) => idText === String(id)) || life.downs.length > 0,
      );
      return life.messages.find(({ idText }) => idText === String(id)) as Message;
    },
  };
  await connection.start({
    onMessage: (message) => life.messages.push(message),
    onUp: () => {
      life.ups += 1;
    },
    onDown: (down) => life.downs.push(down),
    onNoise: (text) => life.noise.push(text),
    onOversize: (idText) => life.oversize.push(idText),
  });
  return life;
}

describe('a server as a child process', () => {
  it('answers, and its bytes arrive as it wrote them', async () => {
    const life = await start({});
    const answer = await life.call(1, 'lossless');
    expect(answer.bytes.toString()).toContain(losslessResult);
  });

  it.each([1, 2, 3, 7])('is understood when it writes %d bytes at a time', async (splitBytes) => {
    const life = await start({ splitBytes, bom: true, crlf: true, banner: ['starting ą€🙂漢 …'] });
    const answer = await life.call(1, 'echo', { message: 'ą€🙂漢' });
    expect(answer.bytes.toString()).toContain('ą€🙂漢');
  });

  it('may make noise without harm', async () => {
    const life = await start({ banner: ['Welcome {', 'to me }'], noiseEvery: 1, stderrBytes: 300_000 });
    for (let id = 1; id <= 5; id += 1) expect((await life.call(id, 'echo', { message: 'x' })).isError).toBe(false);
    expect(life.noise.length).toBeGreaterThan(0);
  });

  it('has an answer above the limit discarded, and the id told', async () => {
    const life = await start({}, { maxLineBytes: 10_000 });
    life.connection.send(
      createMessage({
        jsonrpc: '2.0',
        id: 5,
        method: 'tools/call',
        params: { name: 'large', arguments: { bytes: 200_000 } },
      }),
    );
    await until('the wanted state', () => life.oversize.length > 0);
    expect(life.oversize).toEqual(['5']);
    expect((await life.call(6, 'echo', { message: 'still here' })).isError).toBe(false);
  });

  it('is down at once when it exits, with exit code and the end of stderr, and what it wrote before arrives', async () => {
    const life = await start({ stderrLines: ['first', 'last words'] });
    const answer = await life.call(1, 'unterminated-answer');
    expect(answer).toBeDefined();
    await until('the wanted state', () => life.downs.length > 0);
    expect(life.downs[0]?.reason).toBe('exit');
    expect(life.downs[0]?.stderrTail).toContain('last words');
    expect(life.connection.state).toBe('closed');
  });

  it('counts as dead when it closes its output and lives on', async () => {
    const life = await start({ ignoreStdinEnd: true });
    const { pid } = life.connection;
    life.connection.send(
      createMessage({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'close-stdout', arguments: {} } }),
    );
    await until('the wanted state', () => life.downs.length > 0);
    expect(life.downs[0]?.reason).toBe('stdout-closed');
    await until('the wanted state', () => processGroup(pid ?? 0).length === 0);
  });

  it('is held back when it reads nothing, and lets go when it dies', async () => {
    const life = await start({ readNothing: true }, { highWaterBytes: 100_000 });
    const big = createMessage({ jsonrpc: '2.0', method: 'x', params: { text: 'x'.repeat(50_000) } });
    let room = true;
    for (let index = 0; index < 20 && room; index += 1) room = life.connection.send(big);
    expect(room).toBe(false);
    const drained = life.connection.drained();
    process.kill(life.connection.pid ?? 0, 'SIGKILL');
    await drained;
    await until('the wanted state', () => life.downs.length > 0);
    expect(life.downs[0]?.signal).toBe('SIGKILL');
  });

  it('stops writing while it is paused', async () => {
    const life = await start({});
    life.connection.pause();
    life.connection.send(
      createMessage({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'echo', arguments: { message: 'x' } },
      }),
    );
    life.connection.send(
      createMessage({
        jsonrpc: '2.0',
        id: 2,
        method: 'tools/call',
        params: { name: 'large', arguments: { bytes: 1_000_000 } },
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(life.messages).toEqual([]);
    life.connection.resume();
    await until('the wanted state', () => life.messages.length === 2);
  });
});

describe('the end of a server', () => {
  it.each([
    ['by itself', hostileServer({})],
    ['behind a shell', hostileServerInShell({})],
    ['that ignores its input and SIGTERM', hostileServer({ ignoreSignals: STUBBORN, ignoreStdinEnd: true })],
    ['behind a shell and deaf', hostileServerInShell({ ignoreSignals: STUBBORN, ignoreStdinEnd: true })],
    ['with a grandchild that ignores signals', hostileServer({ grandchild: { ignoreSignals: STUBBORN } })],
    [
      'with a grandchild that holds the pipes',
      hostileServer({ grandchild: { ignoreSignals: STUBBORN, inheritStdio: true } }),
    ],
  ])('leaves nothing behind: %s', async (_, command) => {
    const life = await start({}, {}, command);
    const pid = life.connection.pid ?? 0;
    await life.call(1, 'echo', { message: 'x' });
    expect(processGroup(pid).length).toBeGreaterThan(0);
    await life.connection.close();
    expect(processGroup(pid)).toEqual([]);
    expect(life.downs).toHaveLength(1);
    expect(life.downs[0]?.reason).toBe('closed');
    await life.connection.close();
  });

  it('takes along the grandchildren of a server that crashed', async () => {
    const life = await start({ grandchild: { ignoreSignals: STUBBORN } });
    const pid = life.connection.pid ?? 0;
    await life.call(1, 'crash', { how: 'SIGKILL' });
    await until('the wanted state', () => processGroup(pid).length === 0);
    expect(life.downs[0]).toMatchObject({ reason: 'exit', signal: 'SIGKILL' });
  });
});

describe('the start of a server', () => {
  it('fails with the name and PATH when the command is missing', async () => {
    const connection = createStdioConnection({ command: 'no-such-program', env: { PATH: '/usr/bin' } });
    await expect(connection.start({ onMessage() {}, onUp() {}, onDown() {} })).rejects.toMatchObject({
      code: 'ERR_TRANSPORT_SPAWN',
      message: expect.stringMatching(/"no-such-program" was not found.*\/usr\/bin/) as string,
    });
    expect(connection.state).toBe('closed');
  });

  it('fails for arguments that the system refuses', async () => {
    const connection = createStdioConnection({ command: 'node', args: ['a\0b'], env: {} });
    await expect(connection.start({ onMessage() {}, onUp() {}, onDown() {} })).rejects.toMatchObject({
      code: 'ERR_TRANSPORT_SPAWN',
    });
  });

  it('is refused a second time, and for wrong options', async () => {
    const life = await start({});
    await expect(life.connection.start({ onMessage() {}, onUp() {}, onDown() {} })).rejects.toMatchObject({
      code: 'ERR_TRANSPORT_ARGUMENT',
    });
    expect(() => createStdioConnection({ command: '', env: {} })).toThrow(/`command`/);
    expect(() => createStdioConnection({ command: 'node', env: {}, maxLineBytes: 0 })).toThrow(
      /`maxLineBytes` to be a positive integer, got `0` \(number\)/,
    );
  });

  it('passes the environment that was given and no other', async () => {
    const life = await start({}, { env: { PATH: process.env.PATH, MINE: 'yes' } });
    const answer = await life.call(1, 'environment', { names: ['MINE', 'HOME'] });
    expect(answer.bytes.toString()).toContain('yes');
    expect(answer.bytes.toString()).not.toContain(process.env.HOME ?? '/root');
  });
});

describe('a restart', () => {
  /** Timers that the test fires itself. */
  function manualClock() {
    const timers: { delayMs: number; callback: () => void }[] = [];
    let now = 0;
    return {
      timers,
      advance(ms: number) {
        now += ms;
      },
      clock: {
        now: () => now,
        setTimer(delayMs: number, callback: () => void) {
          const timer = { delayMs, callback };
          timers.push(timer);
          return () => timers.splice(timers.indexOf(timer), 1);
        },
      },
    };
  }

  it('follows a crash with growing delays, starts anew after a long life, and gives up', async () => {
    const { timers, clock, advance } = manualClock();
    const life = await start({}, { clock, restart: { maxAttempts: 3 } });
    for (const expected of [5_000, 10_000, 20_000]) {
      life.connection.send(
        createMessage({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'crash', arguments: { how: 3 } },
        }),
      );
      const before = life.downs.length;
      await until('the wanted state', () => life.downs.length > before);
      expect(life.downs.at(-1)).toMatchObject({ exitCode: 3, retryAfterMs: expected });
      expect(life.connection.state).toBe('restarting');
      const ups = life.ups;
      timers.shift()?.callback();
      await until('the wanted state', () => life.ups > ups);
    }
    advance(31_000);
    await crash(life);
    expect(life.downs.at(-1)).toMatchObject({ retryAfterMs: 5_000 });
    for (const expected of [10_000, 20_000, undefined]) {
      const ups = life.ups;
      timers.shift()?.callback();
      await until('the wanted state', () => life.ups > ups);
      await crash(life);
      expect(life.downs.at(-1)?.retryAfterMs).toBe(expected);
    }
    expect(life.connection.state).toBe('closed');
  });

  it('does not follow a stop, and is called off by one', async () => {
    const { timers, clock } = manualClock();
    const life = await start({}, { clock, restart: {} });
    await crash(life);
    expect(timers).toHaveLength(1);
    await life.connection.close();
    expect(timers).toHaveLength(0);
    expect(life.connection.state).toBe('closed');
  });

  async function crash(life: Life): Promise<void> {
    const before = life.downs.length;
    life.connection.send(
      createMessage({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'crash', arguments: { how: 1 } } }),
    );
    await until('the wanted state', () => life.downs.length > before);
  }
});
