import type { ClientRequest, IncomingMessage } from 'node:http';

/** A body, or as much of it as was read. */
export interface ReadBody {
  readonly bytes: Buffer;
  readonly isWhole: boolean;
  /** Hands over what follows, where something does; once. */
  readonly rest?: (handlers: RestHandlers) => void;
}

/** Who takes the rest of a body. */
export interface RestHandlers {
  onData(chunk: Buffer): void;
  onEnd(): void;
}

/** As much of the rest is kept while it is decided where it goes; pausing at once would cost two calls to the system. */
const MAX_WAITING_BYTES = 256 * 1024;

const EMPTY = Buffer.alloc(0);

/** True for a request that brings a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Reads a body until it ends or more than `limit` bytes are there. */
export function readBody(request: IncomingMessage, limit: number, done: (body: ReadBody) => void): void {
  const announced = Number(request.headers['content-length'] ?? Number.NaN);
  let chunks: Buffer[] = [];
  let size = 0;
  let isDecided = false;
  let hasEnded = false;
  let taker: RestHandlers | undefined;
  const rest = (handlers: RestHandlers): void => {
    taker = handlers;
    for (const chunk of chunks) handlers.onData(chunk);
    chunks = [];
    if (hasEnded) handlers.onEnd();
    else if (size > MAX_WAITING_BYTES) request.resume();
  };
  const decide = (isWhole: boolean): void => {
    const [first = EMPTY] = chunks;
    const bytes = chunks.length <= 1 ? first : Buffer.concat(chunks, size);
    isDecided = true;
    chunks = [];
    size = 0;
    done(isWhole ? { bytes, isWhole } : { bytes, isWhole, rest });
  };
  request.on('data', (chunk: Buffer) => {
    if (taker !== undefined) {
      taker.onData(chunk);
      return;
    }
    chunks.push(chunk);
    size += chunk.length;
    if (isDecided) {
      if (size > MAX_WAITING_BYTES) request.pause();
      return;
    }
    // The last piece may take the body over the limit; then there is nothing left to wait for.
    if (size > limit && size !== announced) decide(false);
  });
  request.on('end', () => {
    hasEnded = true;
    if (taker !== undefined) taker.onEnd();
    else if (!isDecided) decide(true);
  });
}

/** Sends the rest of a body on, no faster than the receiver takes it. */
export function passBody(
  request: IncomingMessage,
  outgoing: ClientRequest,
  {
    body,
    maxBytes,
    onTooLarge,
  }: { readonly body: ReadBody; readonly maxBytes: number; readonly onTooLarge: () => void },
): void {
  let size = body.bytes.length;
  outgoing.on('drain', () => request.resume());
  // Half a body must not become a whole one.
  request.on('aborted', () => outgoing.destroy());
  body.rest?.({
    onData(chunk) {
      size += chunk.length;
      if (size > maxBytes) {
        request.pause();
        onTooLarge();
      } else if (!outgoing.write(chunk)) request.pause();
    },
    onEnd: () => outgoing.end(),
  });
}

/** The value of `Content-Length`. */
export const toNumber = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text);

/** A POST without a body says so; other methods have none to speak of. */
export const emptyLength = ({ method }: IncomingMessage): number | undefined =>
  method === 'POST' || method === 'PUT' || method === 'PATCH' ? 0 : undefined;
