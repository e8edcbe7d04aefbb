import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import type { FrameFilter } from '../../chain.js';
import { errorBytes } from '../../error-body.js';
import { RPC_CODES } from '../../revision.js';
import { filtered } from './frame-events.js';
import { incomingHeaders } from './headers.js';
import { upstreamFailure } from './upstream-error.js';
import type { UpstreamFailure } from './upstream-error.js';

/** How a response reaches the client. */
export interface RelayOptions {
  readonly host: string;
  /** Replaces the session id of the server. */
  readonly sessionId: string | undefined;
  /** Shows each message to the middlewares. */
  readonly filter: FrameFilter | undefined;
  /** Stand between server and client, for event streams. */
  readonly transforms: readonly Transform[];
  /** The id of the request, where one waits for an answer. */
  readonly idText: string | undefined;
  readonly maxBodyBytes: number;
  readonly fail: (failure: UpstreamFailure) => void;
  readonly onBroken: (failure: UpstreamFailure) => void;
}

/** JSON up to this is sent only when it is complete, so that half of it becomes an error that says so. */
const HELD_BYTES = 64 * 1024;
const SHORT_BYTES = 8 * 1024;
const NONE: ReadonlySet<string> = new Set();
const CHANGED: ReadonlySet<string> = new Set(['content-length', 'content-encoding', 'etag', 'content-md5', 'digest']);
const LF = 0x0a;

export const isEventStream = ({ headers }: IncomingMessage): boolean =>
  /^\s*text\/event-stream\b/i.test(headers['content-type'] ?? '');

export const isJson = ({ headers }: IncomingMessage): boolean =>
  /^\s*application\/(?:[\w.+-]+\+)?json\b/i.test(headers['content-type'] ?? '');

/** Sends a response on as it comes. */
export function relay(incoming: IncomingMessage, response: ServerResponse, options: RelayOptions): void {
  if (isEventStream(incoming)) relayEvents(incoming, response, options);
  else if (isJson(incoming)) relayJson(incoming, response, options);
  else relayBytes(incoming, response, options);
}

function head(incoming: IncomingMessage, response: ServerResponse, sessionId: string | undefined, drop = NONE): void {
  const headers = incomingHeaders(incoming.rawHeaders, drop, sessionId);
  response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage ?? '', headers);
}

const truncated = (host: string): UpstreamFailure =>
  upstreamFailure('truncated', `${host} sent half a response; look at its log, then send the request again`);

function relayBytes(incoming: IncomingMessage, response: ServerResponse, options: RelayOptions): void {
  head(incoming, response, options.sessionId);
  if (incoming.headers['content-length'] === undefined) response.flushHeaders();
  pass(incoming, response, options);
}

/** Bytes without a look at them, no faster than the client takes them. */
function pass(incoming: IncomingMessage, response: ServerResponse, { host, onBroken }: RelayOptions): void {
  incoming.on('data', (chunk: Buffer) => {
    if (!response.write(chunk)) incoming.pause();
  });
  response.on('drain', () => incoming.resume());
  whenOver(incoming, (isWhole) => {
    if (isWhole) response.end();
    else {
      onBroken(truncated(host));
      response.destroy();
    }
  });
}

function relayJson(incoming: IncomingMessage, response: ServerResponse, options: RelayOptions): void {
  const { filter, host } = options;
  const status = incoming.statusCode ?? 502;
  const limit = filter === undefined ? HELD_BYTES : options.maxBodyBytes;
  const chunks: Buffer[] = [];
  let size = 0;
  // A long answer is not held at all: it cannot become an error any more.
  let isHeld = filter !== undefined || !(Number(incoming.headers['content-length']) > limit);
  if (!isHeld) {
    head(incoming, response, options.sessionId);
    response.on('drain', () => incoming.resume());
  }
  incoming.on('data', (chunk: Buffer) => {
    if (!isHeld) {
      if (!response.write(chunk)) incoming.pause();
      return;
    }
    chunks.push(chunk);
    size += chunk.length;
    if (size <= limit) return;
    isHeld = false;
    if (filter !== undefined) {
      options.fail(upstreamFailure('protocol', `${host} answered with more than ${limit} bytes; allow larger bodies`));
      incoming.destroy();
      return;
    }
    head(incoming, response, options.sessionId);
    for (const held of chunks) response.write(held);
    response.on('drain', () => incoming.resume());
  });
  whenOver(incoming, (isWhole) => {
    if (isHeld && !isWhole) options.fail(truncated(host));
    else if (!isWhole) {
      options.onBroken(truncated(host));
      response.destroy();
    } else if (!isHeld) response.end();
    else if (filter === undefined || status >= 400) {
      head(incoming, response, options.sessionId);
      const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size);
      // A short body as a string joins the head in one write; as a buffer it costs a gathered write of its own.
      if (size <= SHORT_BYTES) response.end(body.toString('latin1'), 'latin1');
      else response.end(body);
    } else sendFiltered(incoming, response, Buffer.concat(chunks, size), options);
  });
}

function sendFiltered(incoming: IncomingMessage, response: ServerResponse, body: Buffer, options: RelayOptions): void {
  const { filter, idText, sessionId } = options;
  const message = filter === undefined || body.length === 0 ? undefined : filtered(body, filter);
  const withheld = {
    code: RPC_CODES.internalError,
    message: 'The response was withheld',
    data: { reason: 'withheld' },
  };
  const bytes = message?.bytes ?? (body.length === 0 ? body : errorBytes(withheld, idText));
  const headers = incomingHeaders(incoming.rawHeaders, CHANGED, sessionId);
  headers.push('Content-Length', String(bytes.length));
  response.writeHead(incoming.statusCode ?? 502, headers);
  response.end(bytes);
}

function relayEvents(incoming: IncomingMessage, response: ServerResponse, options: RelayOptions): void {
  const { transforms, host, idText } = options;
  head(incoming, response, options.sessionId, transforms.length === 0 ? NONE : CHANGED);
  response.flushHeaders();
  let source: NodeJS.ReadableStream = incoming;
  for (const transform of transforms) {
    source = source.pipe(transform);
    transform.once('error', (error) => {
      options.onBroken(upstreamFailure('protocol', `${host}: ${error.message}`));
      incoming.destroy();
    });
  }
  let last = LF;
  let beforeLast = LF;
  source.on('data', (chunk: Buffer) => {
    if (chunk.length > 1) [beforeLast, last] = [chunk[chunk.length - 2] as number, chunk[chunk.length - 1] as number];
    else if (chunk.length === 1) [beforeLast, last] = [last, chunk[0] as number];
    if (!response.write(chunk)) source.pause();
  });
  response.on('drain', () => source.resume());
  if (source !== incoming) source.on('end', () => response.end());
  whenOver(incoming, (isWhole) => {
    if (isWhole) {
      if (source === incoming) response.end();
      return;
    }
    const failure = truncated(host);
    options.onBroken(failure);
    // Between two events there is room for one of ours: who waits for an answer learns that none comes.
    if (idText !== undefined && last === LF && beforeLast === LF && !response.destroyed) {
      const error = { code: RPC_CODES.internalError, message: failure.message, data: { reason: failure.class } };
      response.end(
        Buffer.concat([Buffer.from('event: message\ndata: '), errorBytes(error, idText), Buffer.from('\n\n')]),
      );
    } else response.destroy();
  });
}

/** Calls back once: with true when a response is complete, with false when it broke off. */
function whenOver(incoming: IncomingMessage, done: (isWhole: boolean) => void): void {
  let isOver = false;
  const over = (isWhole: boolean): void => {
    if (isOver) return;
    isOver = true;
    done(isWhole);
  };
  incoming.once('end', () => over(incoming.complete));
  incoming.once('close', () => over(incoming.complete));
}
