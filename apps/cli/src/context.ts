import type { Readable, Writable } from 'node:stream';
import { createStyle } from './output/style.js';
import type { Style } from './output/style.js';
import { exitCodes } from './exit.js';
import type { ExitCode } from './exit.js';

/** A stream that may be a terminal. */
export type TerminalOutput = Writable & { readonly isTTY?: boolean; readonly columns?: number };
export type TerminalInput = Readable & { readonly isTTY?: boolean };

/** What the program is started with; a test passes its own. */
export interface ContextInput {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: TerminalInput;
  readonly stdout: TerminalOutput;
  readonly stderr: TerminalOutput;
  /** Aborted on Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** The arguments after `process.execPath` with which this program starts itself again. */
  readonly self: readonly string[];
}

/** All that a command may use of the world; handed to every command, so that none touches `process`. */
export interface CliContext extends ContextInput {
  /** The arguments after the first `--`; `undefined` when there is none. */
  readonly rest: readonly string[] | undefined;
  /** `--format json` stands on the command line: no colour, errors as a JSON envelope. */
  readonly wantsJson: boolean;
  readonly debugging: boolean;
  readonly quiet: boolean;
  /** For stdout. */
  readonly style: Style;
  /** For stderr. */
  readonly noteStyle: Style;
  /** A result: one line on stdout. */
  out(text: string): void;
  /** A result as it is, no line break added. */
  write(text: string): void;
  /** A result as indented JSON. */
  json(value: unknown): void;
  /** Progress, hints: one line on stderr, none with `--quiet` or `--format json`. */
  note(text: string): void;
  /** One line on stderr, also with `--quiet`. */
  warn(text: string): void;
  /** One JSON line on stderr, with `--debug` alone. */
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** What the process exits with when the command ends without an error. */
  exitCode: ExitCode;
  /** The names of the commands that were found on the command line, outermost first. */
  commandPath: readonly string[];
}

/** Reads what must be known before any command is loaded, and binds the printers. */
export function createContext(input: ContextInput): CliContext {
  const { argv, env, stdout, stderr } = input;
  const dashes = argv.indexOf('--');
  const own = dashes < 0 ? argv : argv.slice(0, dashes);
  const wantsJson = own.some(
    (word, index) => word === '--format=json' || (word === '--format' && own[index + 1] === 'json'),
  );
  const debugging = own.includes('--debug') || isTrue(env['TOOLHIVE_DEBUG']);
  const quiet = own.includes('--quiet');
  const off = own.includes('--no-color') || wantsJson;
  return {
    ...input,
    argv: own,
    rest: dashes < 0 ? undefined : argv.slice(dashes + 1),
    wantsJson,
    debugging,
    quiet,
    style: createStyle({ env, isTty: stdout.isTTY === true, off }),
    noteStyle: createStyle({ env, isTty: stderr.isTTY === true, off }),
    out: (text) => void stdout.write(`${text}\n`),
    write: (text) => void stdout.write(text),
    json: (value) => void stdout.write(`${JSON.stringify(value, null, 2)}\n`),
    note: (text) => void (quiet || wantsJson || stderr.write(`${text}\n`)),
    warn: (text) => void stderr.write(`${text}\n`),
    debug: (message, fields = {}) => {
      if (!debugging) return;
      stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level: 'debug', msg: message, ...fields })}\n`);
    },
    exitCode: exitCodes.success,
    commandPath: [],
  };
}

function isTrue(value: string | undefined): boolean {
  return value === '1' || value === 'true';
}
