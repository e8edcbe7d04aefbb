import type { Command } from 'commander';
import { commandEntries } from './commands/index.js';
import { createContext } from './context.js';
import type { CliContext, ContextInput } from './context.js';
import { CliError } from './errors.js';
import { exitCodes } from './exit.js';
import type { ExitCode } from './exit.js';
import { buildProgram, firstWord, pathOf } from './program.js';
import { reportError } from './report.js';
import { didYouMean } from './suggest.js';

/** Commands that other programs of this kind have and this one will not. */
const notPartOfThis = new Set(['ai-plugin', 'llm', 'tunnel', 'build', 'tui', 'upgrade', 'runtime']);

/** Runs one command line to its end; answers the exit code and throws nothing. */
export async function runCli(input: ContextInput): Promise<ExitCode> {
  const context = createContext({ ...input, argv: helpAsOption(input.argv) });
  try {
    checkCommand(context);
    const program = await buildProgram(context);
    if (firstWord(context.argv) === undefined && !context.argv.includes('--version')) {
      checkGlobalOptions(program, context);
      context.write(program.helpInformation());
      return exitCodes.success;
    }
    findPath(program, context);
    await program.parseAsync([...context.argv], { from: 'user' });
    return context.exitCode;
  } catch (error) {
    return reportError(error, context);
  }
}

/** `help mcp call` is `mcp call --help`; commander would look one level deep only. */
function helpAsOption(argv: readonly string[]): readonly string[] {
  if (firstWord(argv) !== 'help' || argv.includes('--')) return argv;
  const rest = argv.filter((word, index) => index !== argv.indexOf('help'));
  return [...rest, '--help'];
}

/** Usage errors come before any action runs: find out early which command they belong to. */
function findPath(program: Command, context: CliContext): void {
  let at = program;
  for (const word of context.argv) {
    if (word.startsWith('-')) continue;
    const next = at.commands.find((command) => command.name() === word || command.aliases().includes(word));
    if (next === undefined) break;
    at = next;
  }
  context.commandPath = pathOf(at);
}

function checkCommand(context: CliContext): void {
  const word = firstWord(context.argv);
  if (word === undefined) return;
  const names = commandEntries.flatMap(({ name, aliases }) => [name, ...(aliases ?? [])]);
  if (names.includes(word)) return;
  if (notPartOfThis.has(word)) {
    throw new CliError('ERR_CLI_UNSUPPORTED', `"${word}" is not part of this program`, { hint: 'thv --help' });
  }
  const shown = commandEntries
    .filter(({ section }) => section !== undefined)
    .flatMap(({ name, aliases }) => [name, ...(aliases ?? [])]);
  throw new CliError('ERR_CLI_USAGE', `unknown command "${word}"${didYouMean(word, shown)}`, { hint: 'thv --help' });
}

/** Without a command, commander would not look at the options. */
function checkGlobalOptions(program: Command, context: CliContext): void {
  const known = program.options.flatMap(({ long, short }) => [long, short]).concat('-h', '--help');
  const unknown = context.argv.find((word) => !known.includes(word));
  if (unknown === undefined) return;
  const longs = known.filter((flag) => flag?.startsWith('--') === true) as string[];
  throw new CliError('ERR_CLI_USAGE', `unknown option "${unknown}"${didYouMean(unknown, longs)}`, {
    hint: 'thv --help',
  });
}
