import { exitCodes } from './exit.js';
import type { ExitCode } from './exit.js';

/** Every code that the command line itself fails with; the table in `docs/errors.md` explains each. */
export type CliErrorCode =
  | 'ERR_CLI_USAGE'
  | 'ERR_CLI_UNSUPPORTED'
  | 'ERR_CLI_FILE'
  | 'ERR_CLI_INPUT'
  | 'ERR_CLI_CONFIG'
  | 'ERR_CLI_NOT_RUNNING'
  | 'ERR_CLI_CONNECT'
  | 'ERR_CLI_SERVER'
  | 'ERR_CLI_TOOL'
  | 'ERR_CLI_WORKFLOW'
  | 'ERR_CLI_TARGETS'
  | 'ERR_CLI_UNEXPECTED';

/** What else is known of an error that a command ends with. */
export interface CliErrorOptions {
  /** What to do about it: one sentence or command, printed as the last line, after `Try: `. */
  readonly hint?: string;
  /** @defaultValue `1` */
  readonly exitCode?: ExitCode;
  /** File and line, where the fault is in a file; both appear in the JSON envelope. */
  readonly file?: string;
  readonly line?: number;
  readonly cause?: unknown;
  /** The command has already printed all there is to say in text mode. */
  readonly silent?: boolean;
}

/** The one error class of the command line; a command throws it, `report.ts` prints it. */
export class CliError extends Error {
  readonly code: CliErrorCode;
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;
  readonly file: string | undefined;
  readonly line: number | undefined;
  readonly silent: boolean;

  constructor(code: CliErrorCode, message: string, options: CliErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CliError';
    this.code = code;
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? exitCodes.error;
    this.file = options.file;
    this.line = options.line;
    this.silent = options.silent ?? false;
  }

  static is(error: unknown): error is CliError {
    return error instanceof Error && error.name === 'CliError' && 'exitCode' in error;
  }
}
