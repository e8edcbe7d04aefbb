/** A server that is started as a child process and spoken to over its standard input and output. */
export interface StdioServer {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the few variables that every program needs. */
  readonly env: Readonly<Record<string, string>>;
  /** Relative to the folder of the file. */
  readonly cwd?: string;
  /** Milliseconds until it must have answered its first request. @defaultValue 30000 */
  readonly connectTimeoutMs: number;
}

/** A server that is connected to by its address. */
export interface RemoteServer {
  readonly kind: 'remote';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** @defaultValue 'streamable-http', or 'sse' for an address that ends with `/sse` */
  readonly transport: 'streamable-http' | 'sse';
  /** Milliseconds until it must have answered its first request. @defaultValue 30000 */
  readonly connectTimeoutMs: number;
}

/** How a server is reached. */
export type ServerConfig = StdioServer | RemoteServer;

/** The names and addresses of a servers file. */
export type Servers = ReadonlyMap<string, ServerConfig>;

/** Default of `timeout`. */
export const CONNECT_TIMEOUT_MS = 30_000;
