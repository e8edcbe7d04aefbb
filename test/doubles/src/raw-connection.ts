import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** Where a listener is. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** Path with query. */
  readonly path: string;
}

/** Splits a URL into what a raw socket needs. */
export function targetOf(url: string | URL): Target {
  const { hostname, port, pathname, search } = new URL(url);
  return { host: hostname.replaceAll(/^\[|\]$/g, ''), port: Number(port), path: pathname + search };
}

/** The head of a response. */
export interface RawHead {
  readonly status: number;
  /** Lower-case names; a repeated header is joined with a comma. */
  readonly headers: ReadonlyMap<string, string>;
}

/** A whole response. */
export interface RawResponse extends RawHead {
  readonly body: Buffer;
}

/** One connection that writes what it is told to, and reads at the pace that the test wants. */
export interface RawConnection {
  /** Resolves when the kernel took the bytes or the peer is gone. */
  write(data: string | Buffer): Promise<void>;
  /** The next response on this connection, in order. Rejects when the connection ends first. */
  readResponse(): Promise<RawResponse>;
  /** The head of the next response; the body follows with {@link RawConnection.readBodyChunk}. */
  readHead(): Promise<RawHead>;
  /** The next piece of a chunked body; `undefined` at its end. */
  readBodyChunk(): Promise<Buffer | undefined>;
  /** Everything until the peer closes. */
  readToEnd(): Promise<Buffer>;
  /** Stops and resumes taking bytes from the kernel, as a slow reader does. */
  pause(): void;
  resume(): void;
  /** Half-closes: nothing more will be written. */
  end(): void;
  /** Resets the connection. */
  destroy(): void;
  /** Resolves once the connection is closed, by whomever. */
  readonly closed: Promise<void>;
  readonly socket: Socket;
}

interface Inbox {
  /** Resolves with true after at least one more byte, or with false at the end. */
  more(): Promise<boolean>;
  bytes: Buffer;
  isEnded: boolean;
}

function openInbox(socket: Socket): Inbox {
  let wake: (() => void) | undefined;
  const inbox: Inbox = {
    bytes: Buffer.alloc(0),
    isEnded: false,
    async more() {
      const before = inbox.bytes.length;
      while (inbox.bytes.length === before && !inbox.isEnded) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return inbox.bytes.length > before;
    },
  };
  socket.on('data', (chunk: Buffer) => {
    inbox.bytes = Buffer.concat([inbox.bytes, chunk]);
    wake?.();
  });
  const finish = (): void => {
    inbox.isEnded = true;
    wake?.();
  };
  socket.on('end', finish);
  socket.on('close', finish);
  return inbox;
}

async function takeUntil(inbox: Inbox, mark: string): Promise<string> {
  for (;;) {
    const at = inbox.bytes.indexOf(mark);
    if (at !== -1) {
      const text = inbox.bytes.subarray(0, at).toString('latin1');
      inbox.bytes = inbox.bytes.subarray(at + mark.length);
      return text;
    }
    if (!(await inbox.more())) {
      throw new Error(`The connection ended after ${JSON.stringify(inbox.bytes.subarray(0, 200).toString('latin1'))}`);
    }
  }
}

async function takeBytes(inbox: Inbox, count: number): Promise<Buffer> {
  while (inbox.bytes.length < count) {
    if (!(await inbox.more())) throw new Error(`The connection ended ${count - inbox.bytes.length} bytes too early`);
  }
  const taken = inbox.bytes.subarray(0, count);
  inbox.bytes = inbox.bytes.subarray(count);
  return taken;
}

async function takeHead(inbox: Inbox): Promise<RawHead> {
  const [first = '', ...lines] = (await takeUntil(inbox, '\r\n\r\n')).split('\r\n');
  const headers = new Map<string, string>();
  for (const line of lines) {
    const name = line.slice(0, line.indexOf(':')).trim().toLowerCase();
    const value = line.slice(line.indexOf(':') + 1).trim();
    headers.set(name, headers.has(name) ? `${headers.get(name) ?? ''}, ${value}` : value);
  }
  return { status: Number(first.split(' ')[1]), headers };
}

async function takeChunk(inbox: Inbox): Promise<Buffer | undefined> {
  const size = Number.parseInt(await takeUntil(inbox, '\r\n'), 16);
  const data = await takeBytes(inbox, size);
  await takeBytes(inbox, 2);
  return size === 0 ? undefined : data;
}

async function takeBody(inbox: Inbox, head: RawHead): Promise<Buffer> {
  if (head.status === 204 || head.status === 304 || head.status < 200) return Buffer.alloc(0);
  if (head.headers.get('transfer-encoding') === 'chunked') {
    const chunks: Buffer[] = [];
    for (let chunk = await takeChunk(inbox); chunk !== undefined; chunk = await takeChunk(inbox)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
  const length = head.headers.get('content-length');
  if (length !== undefined) return takeBytes(inbox, Number(length));
  while (await inbox.more());
  return inbox.bytes;
}

/** Opens a connection to a listener; resolves when it is established. */
export async function openRawConnection(target: Target): Promise<RawConnection> {
  const socket = connect({ host: target.host, port: target.port, noDelay: true });
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  // A reset is what many of these tests provoke; `closed` and the end of the inbox tell about it.
  socket.on('error', () => {});
  const inbox = openInbox(socket);
  return {
    write: (data) =>
      new Promise((resolve) => {
        if (socket.destroyed) resolve();
        else socket.write(data, () => resolve());
      }),
    async readResponse() {
      const head = await takeHead(inbox);
      return { ...head, body: await takeBody(inbox, head) };
    },
    readHead: () => takeHead(inbox),
    readBodyChunk: () => takeChunk(inbox),
    async readToEnd() {
      while (await inbox.more());
      return inbox.bytes;
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    end: () => void socket.end(),
    destroy: () => void socket.resetAndDestroy(),
    closed,
    socket,
  };
}

/** The text of a POST with a JSON body; `headers` are written as they are, and win over the usual ones. */
export function postText(
  target: Target,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const bytes = Buffer.from(body);
  const usual: Record<string, string> = {
    host: `${target.host}:${target.port}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'content-length': String(bytes.length),
  };
  for (const [name, value] of Object.entries(headers)) usual[name.toLowerCase()] = value;
  const lines = Object.entries(usual).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${target.path} HTTP/1.1\r\n${lines.join('')}\r\n`), bytes]);
}
