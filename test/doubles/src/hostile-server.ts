import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where a hostile server dies. `call`: before it answers; `mid-call`: in the middle of its answer. */
export type CrashPoint =
  'start' | 'initialize' | 'after-initialize' | 'initialized' | 'call' | 'mid-call' | 'after-call';

/** What the hostile server does wrong; an empty script is a well-behaved server. */
export interface HostileScript {
  /** Milliseconds before it does anything at all, and before it answers `initialize`. */
  readonly startDelayMs?: number;
  readonly initializeDelayMs?: number;
  /** Lines on stdout before the first message. */
  readonly banner?: readonly string[];
  /** A byte order mark before the first message. */
  readonly bom?: boolean;
  readonly crlf?: boolean;
  /** Text before and after every message, on the same line. */
  readonly linePrefix?: string;
  readonly lineSuffix?: string;
  /** A line that is no message before every n-th message. */
  readonly noiseEvery?: number;
  /** Writes go out in pieces of that many bytes, each in a turn of its own (or after `splitDelayMs`). */
  readonly splitBytes?: number;
  readonly splitDelayMs?: number;
  readonly stderrBytes?: number;
  readonly stderrLines?: readonly string[];
  /** Dies at a point, from the call after the first `after` ones on, with an exit code or by a signal. */
  readonly crash?: {
    readonly at: CrashPoint;
    readonly after?: number;
    readonly how?: number | 'SIGKILL' | 'SIGABRT' | 'SIGTERM';
    /** For `after-call`: milliseconds between the answer and the end. */
    readonly delayMs?: number;
  };
  /** What a second `initialize` gets; by default an answer. */
  readonly secondInitialize?: 'exit' | 'error';
  readonly initializeError?: { readonly code: number; readonly message: string };
  readonly protocolVersion?: string;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** Requests of these methods are never answered. */
  readonly silentMethods?: readonly string[];
  readonly refuseSubscribe?: boolean;
  readonly toolsPerPage?: number;
  /** A file to which every process of the server appends a line for each message that it receives. */
  readonly journal?: string;
  /** Never reads its input. */
  readonly readNothing?: boolean;
  readonly closeStdoutAtStart?: boolean;
  readonly ignoreSignals?: readonly NodeJS.Signals[];
  readonly ignoreStdinEnd?: boolean;
  /** A process below the server in the same group; it ends by itself after ten minutes at most. */
  readonly grandchild?: { readonly ignoreSignals?: readonly NodeJS.Signals[]; readonly inheritStdio?: boolean };
}

/** A command for a child process. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
}

/** The program file of the hostile server, for tests that build a command line themselves. */
export const hostileServerPath: string = fileURLToPath(new URL('./children/hostile-server.mjs', import.meta.url));

/** The command that starts the hostile server with a script. */
export function hostileServer(script: HostileScript = {}): Command {
  return { command: process.execPath, args: [hostileServerPath, JSON.stringify(script)] };
}

/** The hostile server behind a shell that does not replace itself, as `npx` and wrapper scripts are. */
export function hostileServerInShell(script: HostileScript = {}): Command {
  const { command, args } = hostileServer(script);
  const line = [command, ...args].map((part) => `'${part.replaceAll("'", String.raw`'\''`)}'`).join(' ');
  return { command: 'sh', args: ['-c', `${line}; exit $?`] };
}

/**
 * JSON text of what the tool `lossless` answers with: integers above 2^53, number spellings, key order, separators
 * U+2028 and U+2029, spaces, private and bidi code points, emoji with joiners. A proxy hands it on byte for byte.
 */
export const losslessResult: string = readFileSync(
  new URL('./children/lossless-result.txt', import.meta.url),
  'utf8',
).trimEnd();
