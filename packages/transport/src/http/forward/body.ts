import type { ClientRequest, IncomingMessage } from 'node:http';

/** A body, or as much of it as was read. */
export interface ReadBody {
  readonly bytes: Buffer;
  readonly isWhole: boolean;
}

const EMPTY = Buffer.alloc(0);

/** True for a request that brings a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Reads a body until it ends or `limit` bytes are there; then the rest waits. */
export function readBody(request: IncomingMessage, limit: number, done: (body: ReadBody) => void): void {
  const announced = Number(request.headers['content-length'] ?? Number.NaN);
  const chunks: Buffer[] = [];
  let size = 0;
  const finish = (isWhole: boolean): void => {
    request.off('data', onData);
    request.off('end', onEnd);
    const [first = EMPTY] = chunks;
    done({ bytes: chunks.length <= 1 ? first : Buffer.concat(chunks, size), isWhole });
  };
  const onData = (chunk: Buffer): void => {
    chunks.push(chunk);
    size += chunk.length;
    // The last piece may take the body over the limit; then there is nothing left to wait for.
    if (size <= limit || size === announced) return;
    request.pause();
    finish(false);
  };
  const onEnd = (): void => finish(true);
  request.on('data', onData);
  request.on('end', onEnd);
}

/** Sends the rest of a body on, no faster than the receiver takes it; `sent` bytes went before. */
export function passBody(
  request: IncomingMessage,
  outgoing: ClientRequest,
  options: { readonly sent: number; readonly maxBytes: number; readonly onTooLarge: () => void },
): void {
  let size = options.sent;
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > options.maxBytes) {
      request.pause();
      options.onTooLarge();
    } else if (!outgoing.write(chunk)) {
      request.pause();
    }
  });
  outgoing.on('drain', () => request.resume());
  request.on('end', () => outgoing.end());
  // Half a body must not become a whole one.
  request.on('aborted', () => outgoing.destroy());
  request.resume();
}
