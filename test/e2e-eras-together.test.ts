import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askModern, eraClients, hostileServer, modernServer, openSession, readAll } from './doubles/src/index.js';
import type { Command, ReadResponse } from './doubles/src/index.js';
import { openGateway } from './support/gateway.js';
import type { GatewayTestOptions, GatewayUnderTest } from './support/gateway.js';

const hosts: readonly {
  readonly server: string;
  readonly command: Command;
  readonly options: GatewayTestOptions;
}[] = [
  { server: 'a Modern server', command: modernServer(), options: {} },
  { server: 'a shared Legacy server', command: hostileServer(), options: {} },
  { server: 'a leased Legacy server', command: hostileServer(), options: { isolation: 'lease' } },
];

const progressOf = (answer: ReadResponse) =>
  answer.messages
    .filter(({ method }) => method === 'notifications/progress')
    .map(({ params }) => [params?.['progressToken'], params?.['progress']]);

describe.each(hosts)('clients of both eras in front of $server', ({ command, options }) => {
  let gateway: GatewayUnderTest;
  beforeAll(async () => {
    gateway = await openGateway(command, options);
  });
  afterAll(async () => {
    await gateway.close();
  });

  it('get their own answers and their own progress under equal ids and equal tokens', async () => {
    const { url } = gateway;
    const sessions = await Promise.all([openSession(url), openSession(url)]);
    const params = (count: number) => ({ name: 'progress', arguments: { count, delayMs: 5, ms: 5 } });
    const meta = { progressToken: 1 };
    const legacy = sessions.map(async (session, index) => {
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...params(index + 1), _meta: meta } };
      return readAll(await session.post(message));
    });
    const modern = [3, 4].map(async (count) => askModern(url, 'tools/call', params(count), { id: 1, meta }));
    const answers = await Promise.all([...legacy, ...modern]);
    for (const [index, answer] of answers.entries()) {
      const steps = Array.from({ length: index + 1 }, (_value, step) => [1, step + 1]);
      expect(progressOf(answer), `client ${index}`).toEqual(steps);
      expect(answer.message).toMatchObject({ id: 1, result: { content: [{ text: 'done' }] } });
    }
    const kinds = answers.map(({ message }) => message?.result?.['resultType']);
    expect(kinds).toEqual([undefined, undefined, 'complete', 'complete']);
    for (const session of sessions) await session.close();
  });

  it('get nothing of each other when they speak all at once', async () => {
    const { url } = gateway;
    const clients = await Promise.all(eraClients.map(({ connect }) => connect(url)));
    const rounds = Array.from({ length: 10 }, (_value, round) => round);
    const heard = await Promise.all(
      clients.map((client, index) =>
        Promise.all(
          rounds.map(async (round) => (await client.call('echo', { message: `client ${index}, call ${round}` })).text),
        ),
      ),
    );
    expect(heard).toEqual(clients.map((_client, index) => rounds.map((round) => `client ${index}, call ${round}`)));
    for (const client of clients) await client.close();
  });

  it('keep the type of their ids', async () => {
    const [text, number] = await Promise.all([
      askModern(gateway.url, 'tools/call', { name: 'echo', arguments: { message: 'a' } }, { id: '1' }),
      askModern(gateway.url, 'tools/call', { name: 'echo', arguments: { message: 'b' } }, { id: 1 }),
    ]);
    expect(text.message).toMatchObject({ id: '1', result: { content: [{ text: 'a' }] } });
    expect(number.message).toMatchObject({ id: 1, result: { content: [{ text: 'b' }] } });
  });
});
