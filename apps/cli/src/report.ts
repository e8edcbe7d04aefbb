import { CommanderError } from 'commander';
import type { CliContext } from './context.js';
import { CliError } from './errors.js';
import { exitCodes } from './exit.js';
import type { ExitCode } from './exit.js';
import { printable } from './output/safe-text.js';

/** What the JSON envelope on stderr says; absent members are left out. */
interface Envelope {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly file?: string;
  readonly line?: number;
}

/** Prints an error that ended a command, as text with one `Try:` line last or as a JSON envelope; answers the exit code. */
export function reportError(error: unknown, context: CliContext): ExitCode {
  if (isHelp(error)) return exitCodes.success;
  if (context.signal.aborted && isAbort(error, context.signal)) return exitCodes.interrupted;
  const exitCode = CliError.is(error) ? error.exitCode : exitCodes.error;
  const envelope = describe(error, context);
  if (context.wantsJson) {
    context.warn(JSON.stringify({ error: envelope }));
    return exitCode;
  }
  if (CliError.is(error) && error.silent) return exitCode;
  context.warn(`${context.noteStyle.red('error:')} ${printable(envelope.message)}`);
  if (context.debugging && error instanceof Error) context.warn(context.noteStyle.dim(stackOf(error)));
  if (envelope.hint !== undefined) context.warn(`Try: ${printable(envelope.hint)}`);
  return exitCode;
}

function describe(error: unknown, context: CliContext): Envelope {
  if (error instanceof CommanderError) {
    return {
      code: 'ERR_CLI_USAGE',
      message: error.message.replace(/^error: /, '').replaceAll('\n', ' '),
      hint: `thv ${helpTarget(context)}--help`,
    };
  }
  if (CliError.is(error)) {
    return {
      code: error.code,
      message: error.message,
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      ...(error.file === undefined ? {} : { file: error.file }),
      ...(error.line === undefined ? {} : { line: error.line }),
    };
  }
  if (!(error instanceof Error)) return { code: 'ERR_CLI_UNEXPECTED', message: String(error) };
  if ('syscall' in error && 'path' in error && typeof error.path === 'string') {
    const hint = `check that you may read and write ${error.path}, and that the disk is not full`;
    return { code: 'ERR_CLI_FILE', message: error.message, hint, file: error.path };
  }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'ERR_CLI_UNEXPECTED';
  const details = 'details' in error && isRecord(error.details) ? error.details : {};
  const hint = typeof details['hint'] === 'string' ? details['hint'] : undefined;
  return {
    code,
    message: error.message,
    ...(hint === undefined ? { hint: `thv ${helpTarget(context)}--help` } : { hint }),
    ...(typeof details['file'] === 'string' ? { file: details['file'] } : {}),
    ...(typeof details['line'] === 'number' ? { line: details['line'] } : {}),
  };
}

/** Help or version was printed, which ends commander as an error does. */
function isHelp(error: unknown): boolean {
  return error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help');
}

/** The command that failed, so that the hint leads to the right help page. */
function helpTarget(context: CliContext): string {
  return context.commandPath.map((word) => `${word} `).join('');
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError');
}

function stackOf(error: Error): string {
  const own = error.stack ?? error.message;
  return error.cause instanceof Error ? `${own}\ncaused by ${stackOf(error.cause)}` : own;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
