import { randomBytes, randomUUID } from 'node:crypto';
import { openRawConnection, postText, targetOf } from './raw-connection.js';
import type { RawConnection, RawResponse, Target } from './raw-connection.js';

/** Bytes on a fresh connection, and what an honest listener may do: answer with one of these statuses, or close. */
export interface HostileBytes {
  readonly name: string;
  readonly bytes: Buffer;
  readonly statuses: readonly number[];
}

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

/** Requests that break HTTP itself; the listener answers a 4xx or 5xx or closes, and goes on serving others. */
export function brokenRequests(url: string): readonly HostileBytes[] {
  const target = targetOf(url);
  const host = `host: ${target.host}:${target.port}\r\n`;
  const line = `POST ${target.path} HTTP/1.1\r\n${host}content-type: application/json\r\n`;
  const table: readonly (readonly [string, string | Buffer, readonly number[]])[] = [
    ['random bytes', randomBytes(4096), [400]],
    ['a TLS hello', Buffer.from('1603010200010001fc0303', 'hex'), [400]],
    ['an empty line and nothing else', '\r\n\r\n', []],
    ['a method that does not exist', `FROB ${target.path} HTTP/1.1\r\n${host}\r\n`, [400, 405]],
    ['a version that does not exist', `POST ${target.path} HTTP/9.9\r\n${host}\r\n`, [400, 505]],
    ['no host', `POST ${target.path} HTTP/1.1\r\ncontent-length: 0\r\n\r\n`, [400, 403]],
    ['a negative length', `${line}content-length: -1\r\n\r\n${ping}`, [400]],
    ['a length that is no number', `${line}content-length: abc\r\n\r\n${ping}`, [400]],
    ['two lengths', `${line}content-length: ${ping.length}\r\ncontent-length: 5\r\n\r\n${ping}`, [400]],
    [
      'a length and chunks at once',
      `${line}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nPOST ${target.path} HTTP/1.1\r\n${host}\r\n`,
      [400],
    ],
    ['a chunk size that is no number', `${line}transfer-encoding: chunked\r\n\r\nzz\r\n${ping}\r\n0\r\n\r\n`, [400]],
    ['a header without a name', `${line}: x\r\ncontent-length: 0\r\n\r\n`, [400]],
    ['a header with a NUL', `${line}x: a\0b\r\ncontent-length: 0\r\n\r\n`, [400]],
    ['headers of a megabyte', `${line}x: ${'a'.repeat(1_000_000)}\r\n\r\n`, [431]],
    ['ten thousand headers', `${line}${'x: 1\r\n'.repeat(10_000)}\r\n`, [431]],
    ['a path of a hundred kilobytes', `POST /${'a'.repeat(100_000)} HTTP/1.1\r\n${host}\r\n`, [404, 414, 431]],
    [
      'an absolute target at another host',
      `GET http://example.com/ HTTP/1.1\r\nhost: example.com\r\n\r\n`,
      [400, 403, 404, 421],
    ],
    [
      'an upgrade',
      `GET ${target.path} HTTP/1.1\r\n${host}connection: upgrade\r\nupgrade: websocket\r\n\r\n`,
      [400, 404, 405, 406, 426],
    ],
    ['CONNECT', `CONNECT example.com:443 HTTP/1.1\r\nhost: example.com\r\n\r\n`, [400, 403, 404, 405, 501]],
  ];
  return table.map(([name, bytes, statuses]) => ({ name, bytes: Buffer.from(bytes), statuses }));
}

/** Sends bytes on a fresh connection; answers the status, or `undefined` when the listener closed without one. */
export async function sendBytes(url: string, bytes: Buffer, timeoutMs = 2000): Promise<number | undefined> {
  const connection = await openRawConnection(targetOf(url));
  // Half a request leaves an honest listener waiting for more: the client goes away after a while.
  const timer = setTimeout(() => connection.destroy(), timeoutMs);
  try {
    await connection.write(bytes);
    return (await connection.readHead()).status;
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
    connection.destroy();
  }
}

/** The ways in which a client can leave in the middle. */
export type Departure = 'in the head' | 'in the body' | 'after the body' | 'in the answer';

/** Every {@link Departure}. */
export const departures: readonly Departure[] = ['in the head', 'in the body', 'after the body', 'in the answer'];

/** Posts a body and resets the connection in the middle of the exchange. */
export async function departIn(
  departure: Departure,
  url: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const target = targetOf(url);
  const bytes = postText(target, body, headers);
  const connection = await openRawConnection(target);
  const bodyStart = bytes.length - Buffer.byteLength(body);
  if (departure === 'in the head') await connection.write(bytes.subarray(0, Math.floor(bodyStart / 2)));
  else if (departure === 'in the body')
    await connection.write(bytes.subarray(0, bodyStart + Math.ceil(body.length / 2)));
  else await connection.write(bytes);
  if (departure === 'in the answer') await connection.readHead();
  connection.destroy();
  await connection.closed;
}

/** Opens connections that each send half a request and then nothing. The caller destroys them. */
export async function openHalfRequests(url: string, count: number): Promise<readonly RawConnection[]> {
  const target = targetOf(url);
  return inBatches(count, async (index) => {
    const connection = await openRawConnection(target);
    const bytes = postText(target, ping, { 'content-length': '1000' });
    await connection.write(index % 2 === 0 ? bytes.subarray(0, 40) : bytes);
    return connection;
  });
}

/** Opens `count` standalone streams, each on a connection of its own, and answers the statuses. The caller destroys them. */
export async function openManyGets(
  url: string,
  count: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly connections: readonly RawConnection[]; readonly statuses: readonly number[] }> {
  const target = targetOf(url);
  const head = getText(target, { accept: 'text/event-stream', ...headers });
  const opened = await inBatches(count, async () => {
    const connection = await openRawConnection(target);
    await connection.write(head);
    return { connection, status: (await connection.readHead()).status };
  });
  return { connections: opened.map(({ connection }) => connection), statuses: opened.map(({ status }) => status) };
}

/** Guesses session ids with every verb; answers the distinct statuses. An honest listener gives 404 alone. */
export async function guessSessions(url: string, count: number, near?: string): Promise<ReadonlySet<number>> {
  const target = targetOf(url);
  const statuses = new Set<number>();
  const connection = await openRawConnection(target);
  for (let index = 0; index < count; index += 1) {
    const id = guess(index, near);
    const requests = [
      postText(target, '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', { 'mcp-session-id': id }),
      getText(target, { accept: 'text/event-stream', 'mcp-session-id': id }),
      getText(target, { 'mcp-session-id': id }, 'DELETE'),
    ];
    for (const bytes of requests) {
      await connection.write(bytes);
      statuses.add((await connection.readResponse()).status);
    }
  }
  connection.destroy();
  return statuses;
}

function guess(index: number, near: string | undefined): string {
  const shapes = [randomUUID(), `${index}`, '00000000-0000-0000-0000-000000000000', '../../etc/passwd', '__proto__'];
  if (near !== undefined) shapes.push(near.slice(0, -1), near.toUpperCase(), `${near}0`);
  const id = shapes[index % shapes.length] ?? '';
  return id === near ? randomUUID() : id;
}

/** Writes several requests at once on one connection and reads the answers in order. */
export async function pipeline(
  url: string,
  bodies: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): Promise<readonly RawResponse[]> {
  const target = targetOf(url);
  const connection = await openRawConnection(target);
  await connection.write(Buffer.concat(bodies.map((body) => postText(target, body, headers))));
  const responses: RawResponse[] = [];
  for (const _body of bodies) responses.push(await connection.readResponse());
  connection.destroy();
  return responses;
}

/** Posts a body and never reads the answer. The caller destroys the connection. */
export async function openSlowReader(
  url: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<RawConnection> {
  const target = targetOf(url);
  const connection = await openRawConnection(target);
  connection.pause();
  await connection.write(postText(target, body, headers));
  return connection;
}

/** Sends a body in chunks without saying its length, up to `maxBytes`; answers the status that stops it. */
export async function sendEndlessBody(url: string, maxBytes: number): Promise<number | undefined> {
  const target = targetOf(url);
  const connection = await openRawConnection(target);
  const chunk = Buffer.from(`10000\r\n${' '.repeat(65_536)}\r\n`);
  const head = postText(target, '', { 'transfer-encoding': 'chunked' })
    .toString()
    .replace(/content-length: 0\r\n/, '');
  await connection.write(head);
  for (let sent = 0; sent < maxBytes && !connection.socket.destroyed; sent += 65_536) {
    await Promise.race([connection.write(chunk), connection.closed]);
  }
  const status = await connection.readHead().then(
    (answer) => answer.status,
    () => undefined,
  );
  connection.destroy();
  return status;
}

/** The text of a request without a body. */
export function getText(target: Target, headers: Readonly<Record<string, string>> = {}, method = 'GET'): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target.path} HTTP/1.1\r\nhost: ${target.host}:${target.port}\r\n${lines.join('')}\r\n`;
}

/** Twenty at a time, so that no backlog of the listener overflows. */
async function inBatches<T>(count: number, open: (index: number) => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (let start = 0; start < count; start += 20) {
    const size = Math.min(20, count - start);
    all.push(...(await Promise.all(Array.from({ length: size }, (_value, index) => open(start + index)))));
  }
  return all;
}
