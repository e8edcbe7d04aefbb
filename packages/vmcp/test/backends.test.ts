import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createEngine, parseDefinition, type ToolCall } from '@thv/workflow-dag';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBackends, parseServers, VmcpError, type Backends } from '../src/index.js';
import { answer } from './support/answers.mjs';

const script = fileURLToPath(new URL('support/stdio-server.mjs', import.meta.url));
const cleanups: (() => Promise<unknown>)[] = [];
let folder = '';

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'vmcp-')));
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  await rm(folder, { recursive: true, force: true });
});

const child = (extra = '', args: readonly string[] = []): string =>
  `{command: ${JSON.stringify(process.execPath)}, args: ${JSON.stringify([script, ...args])}${extra}}`;

async function open(text: string, options: Parameters<typeof openBackends>[1] = {}): Promise<Backends> {
  const backends = await openBackends(parseServers(text), options);
  cleanups.push(async () => backends.close());
  return backends;
}

function callOf(
  backends: Backends,
  reference: string,
  args: ToolCall['arguments'] = {},
  signal = new AbortController().signal,
): ToolCall {
  const tool = backends.resolve(reference);
  if (tool === undefined) throw new Error(`no tool ${reference}`);
  const ids = {
    runId: 'r',
    stepId: 's',
    iteration: undefined,
    attempt: 1,
    idempotencyKey: 'key-1',
    principal: undefined,
  };
  return { reference, tool, arguments: args, signal, ...ids };
}

/** The same small server over HTTP, answering in JSON. */
async function openHttp(): Promise<{ readonly url: string; readonly headers: (string | undefined)[] }> {
  const headers: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    headers.push(request.headers['x-key'] as string | undefined);
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const message = JSON.parse(Buffer.concat(chunks).toString()) as { id?: number; method: string };
      if (message.id === undefined) return void response.writeHead(202).end();
      void answer(message).then((body) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body }));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, headers };
}

describe('backends', () => {
  it('offer every tool of every server, under its own name where that is clear', async () => {
    const { tools, resolve, ambiguous } = bound(
      await open(`servers: {a: ${child()}, b: ${child(', env: {PREFIX: "b-"}')}}`),
    );
    expect(tools).toHaveLength(14);
    expect(tools.map(({ advertised }) => advertised)).toEqual(
      expect.arrayContaining(['add', 'meta', 'b-add', 'b-meta']),
    );
    for (const reference of ['add', 'a.add', 'a_add']) {
      expect(resolve(reference)).toMatchObject({ name: 'add', workload: 'a', inputSchema: { type: 'object' } });
    }
    expect(resolve('b.add')).toBeUndefined();
    expect(ambiguous('nothing')).toEqual([]);
  });

  it('ask for the server where two have a tool of the same name', async () => {
    const { tools, resolve, ambiguous } = bound(await open(`servers: {a: ${child()}, b: ${child()}}`));
    expect(resolve('add')).toBeUndefined();
    expect(ambiguous('add')).toEqual(['a.add', 'b.add']);
    expect(resolve('b_add')).toMatchObject({ workload: 'b' });
    expect(tools.map(({ advertised }) => advertised)).toContain('a_add');
  });

  it('call tools over stdio and over HTTP', async () => {
    const { url, headers } = await openHttp();
    const backends = await open(`servers: {local: ${child()}, remote: {url: "${url}", headers: {x-key: k}}}`);
    expect(await backends.call(callOf(backends, 'local.add', { n: 1 }))).toMatchObject({
      structuredContent: { sum: 2 },
    });
    expect(await backends.call(callOf(backends, 'remote.add', { n: 2 }))).toMatchObject({
      structuredContent: { sum: 3 },
    });
    expect(await backends.call(callOf(backends, 'local.fail'))).toMatchObject({ isError: true });
    const meta = await backends.call(callOf(backends, 'local.meta'));
    expect(JSON.stringify(meta.content)).toContain('key-1');
    expect(new Set(headers)).toEqual(new Set(['k']));
  });

  it('give a child its own variables and folder, and none of this process', async () => {
    process.env['PARENT_SECRET'] = 'x';
    cleanups.push(async () => void delete process.env['PARENT_SECRET']);
    const backends = await open(`servers: {a: ${child(', env: {TOKEN: t}, cwd: .')}}`, { folder });
    const { content } = await backends.call(callOf(backends, 'env'));
    expect(JSON.parse(String(content?.[0]?.['text']))).toEqual({ cwd: folder, token: 't' });
  });

  it('connect only to the servers that are asked for', async () => {
    const backends = await open(`servers: {a: ${child()}, b: {command: /nowhere/at-all}}`, { only: new Set(['a']) });
    expect(backends.tools.every(({ workload }) => workload === 'a')).toBe(true);
  });

  it('say which servers cannot be reached, and why', async () => {
    const text = `servers: {good: ${child()}, dead: ${child('', ['--die'])}, none: {command: /nowhere/at-all}, mute: ${child(', timeout: 500ms', ['--mute'])}}`;
    const error: unknown = await openBackends(parseServers(text)).catch((reason: unknown) => reason);
    if (!VmcpError.is(error, 'ERR_VMCP_CONNECT')) throw error;
    expect(error.details['failures']).toHaveLength(3);
    expect(error.message).toMatch(/server "dead" .* its last line on stderr: no license found/);
    expect(error.message).toMatch(/server "none" \(\/nowhere\/at-all\) cannot be reached: .*ENOENT/);
    expect(error.message).toMatch(/server "mute" .* no answer within 0\.5 s/);
  });

  it('give up connecting when they are told to', async () => {
    const controller = new AbortController();
    const opening = openBackends(parseServers(`servers: {a: ${child('', ['--mute'])}}`), { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(opening).rejects.toThrow('enough');
  });

  it('tell failures that another attempt would repeat from others', async () => {
    const backends = await open(`servers: {a: ${child()}}`);
    await expect(backends.call(callOf(backends, 'wrong'))).rejects.toMatchObject({
      code: 'ERR_VMCP_CALL',
      retryable: false,
      details: { server: 'a', tool: 'wrong', code: -32602 },
    });
    await expect(backends.call(callOf(backends, 'crash'))).rejects.toMatchObject({
      code: 'ERR_VMCP_CALL',
      retryable: true,
    });
  });

  it('connect again to a server that has gone away', async () => {
    const backends = await open(`servers: {a: ${child()}}`);
    await backends.call(callOf(backends, 'crash')).catch(() => undefined);
    const results = await Promise.all([1, 2].map(async (n) => backends.call(callOf(backends, 'add', { n }))));
    expect(results).toMatchObject([{ structuredContent: { sum: 2 } }, { structuredContent: { sum: 3 } }]);
  });

  it('end a call with its signal', async () => {
    const backends = await open(`servers: {a: ${child()}}`);
    const controller = new AbortController();
    const call = backends.call(callOf(backends, 'slow', {}, controller.signal));
    controller.abort(new Error('too slow'));
    await expect(call).rejects.toThrow('too slow');
    expect(await backends.call(callOf(backends, 'add'))).toMatchObject({ structuredContent: { sum: 1 } });
  });

  it('make no call once they are closed', async () => {
    const backends = await open(`servers: {a: ${child()}}`);
    const call = callOf(backends, 'add');
    await backends.close();
    await backends.close();
    await expect(backends.call(call)).rejects.toMatchObject({ code: 'ERR_VMCP_CLOSED', retryable: false });
  });

  it('serve an engine, whose retries find the server started again', async () => {
    const file = join(folder, 'calls');
    const backends = await open(`servers: {a: ${child(`, env: {CALLS_FILE: "${file}"}`)}}`);
    const definition = parseDefinition({
      name: 'chain',
      description: 'd',
      steps: [
        { id: 'one', tool: 'a.add', arguments: { n: '{{.params.n}}' } },
        {
          id: 'down',
          tool: 'a.crash',
          dependsOn: ['one'],
          onError: { action: 'retry', maxRetries: 1, retryDelay: '1ms', onExhausted: 'continue' },
        },
        { id: 'two', tool: 'a.add', arguments: { n: '{{.steps.one.output.sum}}' }, dependsOn: ['one', 'down'] },
      ],
    });
    const engine = createEngine({ tools: backends });
    cleanups.push(async () => engine.close());
    const run = await engine.run(definition, { n: 5 });
    expect(await run.result).toMatchObject({ status: 'completed', output: { sum: 7 }, failedSteps: ['down'] });
    const calls = (await readFile(file, 'utf8')).trim().split('\n').toSorted();
    expect(calls).toEqual(['add', 'add', 'crash', 'crash']);
  });
});

describe('the options of backends', () => {
  it('are checked', async () => {
    await expect(openBackends({} as never)).rejects.toMatchObject({ code: 'ERR_VMCP_ARGUMENT' });
  });
});

function bound(backends: Backends) {
  return {
    tools: backends.tools,
    resolve: (reference: string) => backends.resolve(reference),
    ambiguous: (reference: string) => backends.ambiguous(reference),
  };
}
