import { connect } from 'node:net';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { describe, expect, it } from 'vitest';
import { findFreePort, isPortFree, openListener } from '../src/index.js';

describe('a listener', () => {
  it('tells the real port and answers', async () => {
    await using listener = await openListener({ handler: (_, response) => response.end('hi') });
    expect(listener.port).toBeGreaterThan(0);
    expect(await (await fetch(listener.origin)).text()).toBe('hi');
  });

  it('refuses a port that is in use, and names it', async () => {
    await using listener = await openListener({ handler: () => undefined });
    await expect(openListener({ handler: () => undefined, port: listener.port })).rejects.toMatchObject({
      code: 'ERR_TRANSPORT_ADDRESS_IN_USE',
      details: { port: listener.port },
    });
    expect(await isPortFree(listener.port)).toBe(false);
  });

  it('reports a host that is not of this machine', async () => {
    await expect(openListener({ handler: () => undefined, host: '192.0.2.1' })).rejects.toMatchObject({
      code: 'ERR_TRANSPORT_LISTEN',
    });
  });

  it.each([{ port: -1 }, { port: 70_000 }, { port: 1.5 }, { headersTimeoutMs: 0 }])('refuses %j', async (options) => {
    await expect(openListener({ handler: () => undefined, ...options })).rejects.toMatchObject({
      code: 'ERR_TRANSPORT_ARGUMENT',
    });
  });

  it('lets a response finish when it closes, and ends what takes too long', async () => {
    const listener = await openListener({
      handler: (request, response) => {
        response.write('begin');
        if (request.url === '/quick') setTimeout(() => response.end('end'), 50);
      },
    });
    const quick = await fetch(`${listener.origin}/quick`);
    const endless = await fetch(`${listener.origin}/endless`);
    const closed = listener.close({ graceMs: 300 });
    expect(await quick.text()).toBe('beginend');
    await expect(endless.text()).rejects.toThrow();
    await closed;
    await listener.close();
    expect(await isPortFree(listener.port)).toBe(true);
  });

  it('closes a connection that does not finish its header', async () => {
    await using listener = await openListener({
      handler: () => undefined,
      headersTimeoutMs: 100,
      requestTimeoutMs: 200,
    });
    const socket = connect(listener.port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: x\r\n');
    socket.resume();
    await once(socket, 'close');
  });

  it('does not wait for connections that are kept alive', async () => {
    const agent = new Agent({ keepAlive: true });
    let answer = (): void => undefined;
    let arrive = (): void => undefined;
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const listener = await openListener({
      handler: (_, response) => {
        answer = () => response.end('x');
        arrive();
      },
    });
    const answered = new Promise<void>((resolve) => {
      get(listener.origin, { agent }, (response) => response.resume().once('end', resolve));
    });
    await arrived;
    const closed = listener.close({ graceMs: 600_000 });
    answer();
    await Promise.all([answered, closed]);
    agent.destroy();
  });
});

describe('a free port', () => {
  it('lies in the range and can be bound', async () => {
    const port = await findFreePort();
    expect(port).toBeGreaterThanOrEqual(10_000);
    await using listener = await openListener({ handler: () => undefined, port });
    expect(listener.port).toBe(port);
  });

  it('is not searched on a host that is not of this machine', async () => {
    await expect(findFreePort({ host: '192.0.2.1' })).rejects.toMatchObject({
      code: 'ERR_TRANSPORT_LISTEN',
      details: { host: '192.0.2.1' },
    });
  });

  it('is searched one after the other when the random ones are taken', async () => {
    await using listener = await openListener({ handler: () => undefined, port: await findFreePort() });
    const fraction = (listener.port - 10_000) / 55_536;
    expect(await findFreePort({ random: () => fraction })).not.toBe(listener.port);
  });
});
