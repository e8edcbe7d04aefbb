export type { FrameFilter } from '@thv/transport';

/** Header names and values in turn, ready for `writeHead`. */
export type HeaderList = readonly string[];

/** One HTTP response, whichever server it belongs to. Everything above it is the same for `node:http` and `fetch`. */
export interface ResponseWriter {
  /** Sends a whole response. */
  reply(status: number, headers: HeaderList, body?: Buffer): void;
  /** Sends status 200 and headers at once; `write` and `end` follow. */
  openStream(headers: HeaderList): void;
  /** Takes a chunk; `false` above the high-water mark, then `onDrain` once. */
  write(chunk: Buffer): boolean;
  end(chunk?: Buffer): void;
  destroy(): void;
  /** False once the client is gone or the response is complete. */
  readonly open: boolean;
  readonly bufferedBytes: number;
  onDrain?: (() => void) | undefined;
  /** Calls back once when the connection goes before the response is complete. */
  whenGone(callback: () => void): void;
}

/** A request without its body. */
export interface Incoming {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly remoteAddress: string | undefined;
  /** The port that the client connected to, where the server knows it. */
  readonly localPort: number | undefined;
  /** The address that the client connected to, where the server knows it. */
  readonly localAddress: string | undefined;
}

/** The value of a header; of several the first. */
export function headerOf(request: Incoming, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' || value === undefined ? value : value[0];
}
