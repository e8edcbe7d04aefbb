import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  askModern,
  hostileServer,
  modernRequest,
  modernServer,
  openSession,
  readAll,
  send,
} from './doubles/src/index.js';
import type { Command, ModernOptions, ModernParams } from './doubles/src/index.js';
import { badRequests, forgedStates } from './support/bad-modern-requests.js';
import { openGateway } from './support/gateway.js';
import type { GatewayTestOptions, GatewayUnderTest } from './support/gateway.js';
import { openJournal } from './support/journal.js';
import type { Journal } from './support/journal.js';

interface Served {
  readonly server: string;
  readonly command: (journal: string) => Command;
  readonly options: GatewayTestOptions;
}

const served: readonly Served[] = [
  { server: 'a Modern server', command: (journal) => modernServer({ journal }), options: {} },
  { server: 'a shared Legacy server', command: (journal) => hostileServer({ journal }), options: {} },
  {
    server: 'a leased Legacy server',
    command: (journal) => hostileServer({ journal }),
    options: { isolation: 'lease' },
  },
];

describe.each(served)('in front of $server', ({ command, options }) => {
  let journal: Journal;
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    journal = await openJournal();
    gateway = await openGateway(command(journal.file), options);
    // Whatever the gateway wants to know of the server, it has asked before the first test.
    await askModern(gateway.url, 'tools/list');
  });

  afterAll(async () => {
    await gateway.close();
    await journal.close();
  });

  it.each(badRequests)('refuses $name', async ({ name, send: build, status, code, data, hasNoId, isAsked }) => {
    const before = journal.touches();
    const id = `request with ${name}`;
    const answer = await readAll(await send(gateway.url, build(id)));
    expect([status].flat(), answer.text).toContain(answer.status);
    if (code !== undefined) expect([code].flat(), answer.text).toContain(answer.message?.error?.code);
    if (data !== undefined) expect(answer.message?.error?.data).toMatchObject(data);
    if (hasNoId === true) expect(answer.message?.id).toBeUndefined();
    else expect(answer.message?.id).toBe(id);
    expect(journal.touches() - before).toBe(isAsked === true ? 1 : 0);
  });

  it('names the versions that it speaks when it refuses one, as in its answer to server/discover', async () => {
    const mirror = { 'mcp-protocol-version': '1900-01-01' };
    const refused = await askModern(gateway.url, 'tools/list', {}, { version: '1900-01-01', mirror });
    const discovered = await askModern(gateway.url, 'server/discover');
    const supported = discovered.message?.result?.['supportedVersions'];
    expect(supported).toContain('2026-07-28');
    expect(refused.message?.error?.data).toMatchObject({ supported });
  });

  const accepted: readonly (readonly [name: string, params: ModernParams, options: ModernOptions])[] = [
    ['a name in base64', {}, { mirror: { 'mcp-name': '=?base64?ZWNobw==?=' } }],
    ['an id that is a number', {}, { id: 7 }],
    ['headers of Legacy sessions', {}, { mirror: { 'mcp-session-id': 'stray', 'last-event-id': '1' } }],
    ['an unknown parameter header', {}, { mirror: { 'mcp-param-unknown': 'whatever' } }],
    ['no client info', {}, { meta: { 'io.modelcontextprotocol/clientInfo': undefined } }],
    ['a known log level', {}, { meta: { 'io.modelcontextprotocol/logLevel': 'warning' } }],
    ['JSON alone in Accept', {}, { mirror: { accept: 'application/json' } }],
    ['white space around a header', {}, { mirror: { 'mcp-name': '  echo  ' } }],
  ];

  it.each(accepted)('takes %s', async (_name, more, requestOptions) => {
    const params = { name: 'echo', arguments: { message: 'heard' }, ...more };
    const answer = await askModern(gateway.url, 'tools/call', params, requestOptions);
    expect(answer.status, answer.text).toBe(200);
    expect(answer.message).toMatchObject({ result: { resultType: 'complete', content: [{ text: 'heard' }] } });
    if (requestOptions.id !== undefined) expect(answer.message?.id).toBe(requestOptions.id);
    expect(answer.headers['mcp-session-id']).toBeUndefined();
  });

  it('refuses GET and DELETE without a session', async () => {
    for (const method of ['GET', 'DELETE']) {
      const { headers } = modernRequest('tools/list');
      const { status } = await readAll(await send(gateway.url, { method, headers }));
      expect([400, 404, 405], method).toContain(status);
    }
  });

  it('takes a notification', async () => {
    const { headers } = modernRequest('notifications/cancelled');
    const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    const answer = await readAll(await send(gateway.url, { headers, body }));
    expect(answer).toMatchObject({ status: 202, text: '' });
  });

  it('never agrees with a Legacy client on the Modern version', async () => {
    const session = await openSession(gateway.url, { protocolVersion: '2026-07-28', headers: {} });
    expect(session.initialized.result?.['protocolVersion']).not.toBe('2026-07-28');
    expect(session.sessionId).toBeDefined();
    await session.close();
  });

  it('takes stray members of the envelope from a Legacy client', async () => {
    const session = await openSession(gateway.url);
    const _meta = { 'io.modelcontextprotocol/clientInfo': { name: 'stray', version: '1' } };
    const params = { name: 'echo', arguments: { message: 'heard' }, _meta };
    const answer = await session.request('tools/call', params);
    expect(answer.message?.result?.['content']).toMatchObject([{ text: 'heard' }]);
    expect(answer.message?.result).not.toHaveProperty('resultType');
    await session.close();
  });
});

describe('states that nobody has handed out', () => {
  let journal: Journal;
  let gateway: GatewayUnderTest;
  beforeAll(async () => {
    journal = await openJournal();
    gateway = await openGateway(hostileServer({ journal: journal.file }), { isolation: 'lease' });
  });
  afterAll(async () => {
    await gateway.close();
    await journal.close();
  });

  it.each(forgedStates)('are refused by a leased server: %s', async (_name, requestState) => {
    const params = { name: 'echo', arguments: { message: 'never heard' }, inputResponses: {}, requestState };
    const answer = await askModern(gateway.url, 'tools/call', params, {
      id: 'forged',
      capabilities: { elicitation: {} },
    });
    expect(answer.message, answer.text).toMatchObject({
      id: 'forged',
      error: { code: -32602, data: { reason: 'invalid_request_state' } },
    });
    expect(journal.calls('echo')).toBe(0);
  });
});

describe('arguments that travel in headers', () => {
  let journal: Journal;
  let gateway: GatewayUnderTest;
  beforeAll(async () => {
    journal = await openJournal();
    gateway = await openGateway(modernServer({ journal: journal.file }));
  });
  afterAll(async () => {
    await gateway.close();
    await journal.close();
  });

  const args = { region: 'Zürich', attempt: 42, note: 'free' };
  const region = '=?base64?WsO8cmljaA==?=';
  const cases: readonly (readonly [string, object, Record<string, string>, boolean])[] = [
    ['are taken as they should be', args, { 'mcp-param-region': region, 'mcp-param-attempt': '42' }, true],
    ['are compared as numbers', args, { 'mcp-param-region': region, 'mcp-param-attempt': '42.0' }, true],
    ['need not be there for null', { ...args, attempt: null }, { 'mcp-param-region': region }, true],
    ['are missed', args, { 'mcp-param-region': region }, false],
    ['are compared', args, { 'mcp-param-region': 'Bern', 'mcp-param-attempt': '42' }, false],
    ['are decoded', args, { 'mcp-param-region': '=?base64?WsO8?cmljaA=?=', 'mcp-param-attempt': '42' }, false],
  ];

  it.each(cases)('%s', async (_name, sent, mirror, isTaken) => {
    const before = journal.calls('mirrored');
    const params = { name: 'mirrored', arguments: sent };
    const answer = await askModern(gateway.url, 'tools/call', params, { id: 'mirrored', mirror });
    if (isTaken) {
      expect(answer.status, answer.text).toBe(200);
    } else {
      expect(answer.status, answer.text).toBe(400);
      expect(answer.message).toMatchObject({ id: 'mirrored', error: { code: -32020 } });
    }
    expect(journal.calls('mirrored') - before).toBe(isTaken ? 1 : 0);
  });
});
