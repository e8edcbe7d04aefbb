import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createEndpointRewriter, normalPrefix, rewriteEndpoint } from '../src/http/forward/endpoint-events.js';
import type { EndpointRewrite } from '../src/http/forward/endpoint-events.js';
import { ask, openProxy, openServer } from './support/server.js';

async function through(chunks: readonly Buffer[], rewrite: EndpointRewrite): Promise<Buffer> {
  const transform = createEndpointRewriter(rewrite);
  const out: Buffer[] = [];
  transform.on('data', (chunk: Buffer) => out.push(chunk));
  const done = new Promise((resolve) => transform.once('end', resolve));
  for (const chunk of chunks) transform.write(chunk);
  transform.end();
  await done;
  return Buffer.concat(out);
}

describe('the address of an endpoint event', () => {
  it.each<[string, EndpointRewrite, string]>([
    ['/sse?sessionId=a', { prefix: '' }, '/sse?sessionId=a'],
    ['/sse?sessionId=a', { prefix: '/play' }, '/play/sse?sessionId=a'],
    ['messages', { prefix: '/play' }, '/play/messages'],
    ['http://a:1/m?x=1', { prefix: '/p' }, 'http://a:1/p/m?x=1'],
    ['/m', { prefix: '', host: 'b.example', scheme: 'https' }, 'https://b.example/m'],
    ['/m', { prefix: '/p', host: 'b.example' }, 'http://b.example/p/m'],
    ['http://a/m', { prefix: '', scheme: 'https' }, 'http://a/m'],
    ['http://a:1/m', { prefix: '', serverHost: 'a:1' }, '/m'],
    ['http://a:1/m', { prefix: '/p', host: 'b', scheme: 'https', serverHost: 'a:1' }, 'https://b/p/m'],
  ])('%s with %j becomes %s', (address, rewrite, expected) => {
    expect(rewriteEndpoint(address, rewrite)).toBe(expected);
  });

  it.each([
    ['', ''],
    ['/', ''],
    ['a', '/a'],
    ['/a/', '/a'],
    ['//a/b//', '/a/b'],
    [undefined, ''],
  ])('has the prefix %j as %j', (given, expected) => {
    expect(normalPrefix(given)).toBe(expected);
  });

  it('changes wherever the stream is cut, and nothing else does', async () => {
    const stream =
      ': hi\r\n\r\nevent: message\r\ndata: /a\r\n\r\nevent: endpoint\ndata: /m?sessionId=ab-1\n\nevent: endpoint\ndata: /second ż\n\n';
    const expected = stream.replace('/m?', '/p/m?');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: stream.length }), { maxLength: 6 }), async (cuts) => {
        const bytes = Buffer.from(stream);
        const points = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const chunks = points.slice(1).map((end, index) => bytes.subarray(points[index], end));
        const ids: string[] = [];
        const out = await through(chunks, { prefix: '/p', onSession: (id) => ids.push(id) });
        expect(out.toString()).toBe(expected);
        expect(ids).toEqual(['ab-1']);
      }),
    );
  });
});

describe('an SSE server behind a transparent proxy', () => {
  const session = 'sessionId=0f8fad5b-d9cb-469f-a165-70867728950e';
  const open = (after: (write: (chunk: string | Buffer) => void, end: () => void) => void) =>
    openServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: /messages?${session}\n\n`);
      after(
        (chunk) => void response.write(chunk),
        () => void response.end(),
      );
    });

  it.each([
    [
      'the prefix that was set, before all',
      { endpointPrefix: '/own', trustProxyHeaders: true },
      `/own/messages?${session}`,
    ],
    ['that of a trusted proxy', { trustProxyHeaders: true }, `/theirs/messages?${session}`],
    ['none from anybody else', {}, `/messages?${session}`],
  ])('gets %s', async (_name, options, expected) => {
    await using server = await open((_write, end) => end());
    await using proxy = await openProxy({ target: server.origin, transport: 'sse', ...options });
    const { body } = await ask(`${proxy.origin}/sse`, { headers: { 'x-forwarded-prefix': '/theirs/' } });
    expect(body.toString()).toBe(`event: endpoint\ndata: ${expected}\n\n`);
    expect(proxy.proxy.sessionCount).toBe(1);
    expect(proxy.proxy.isReady).toBe(true);
  });

  it('sends a line of 5 MiB unchanged', async () => {
    const long = Buffer.from(`event: message\ndata: {"image":"${'QUJD'.repeat(1_310_720)}"}\n\n`);
    await using server = await open((write, end) => {
      write(long);
      end();
    });
    await using proxy = await openProxy({ target: server.origin, transport: 'sse', endpointPrefix: '/p' });
    const { body } = await ask(`${proxy.origin}/sse`);
    const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
    expect(digest(body.subarray(body.indexOf('\n\n') + 2))).toBe(digest(long));
  });

  it('sends each event at once', async () => {
    let next: (() => void) | undefined;
    await using server = await open((write, end) => {
      next = () => {
        write('data: two\n\n');
        end();
      };
      write('data: one\n\n');
    });
    await using proxy = await openProxy({ target: server.origin, transport: 'sse' });
    const response = await fetch(`${proxy.origin}/sse`);
    let text = '';
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      if (text.includes('one') && !text.includes('two')) next?.();
    }
    expect(text).toContain('data: two');
  });
});
