import { Command, Help } from 'commander';
import { commandEntries } from './commands/index.js';
import type { CommandEntry } from './commands/index.js';
import type { CliContext } from './context.js';
import { version } from './version.js';

const sections = ['Start here', 'Servers', 'Workflows', 'Skills', 'Program'] as const;

/**
 * Builds the command tree: every command of the first level by name, and the one that the command line names in full.
 * `everything` loads all of them (the documentation and tests use it).
 */
export async function buildProgram(context: CliContext, { everything = false } = {}): Promise<Command> {
  const program = new Command('thv')
    .description('Runs, joins and guards MCP servers')
    .option('--debug', 'Log what happens, as JSON lines on stderr')
    .option('--quiet', 'Print results and errors alone')
    .option('--no-color', 'Print without colours')
    .version(version, '--version', 'Print the version')
    .helpOption('-h, --help', 'Show help')
    .enablePositionalOptions()
    .showSuggestionAfterError();
  harden(program, context);
  const wanted = firstWord(context.argv);
  for (const entry of commandEntries) {
    const named = [entry.name, ...(entry.aliases ?? [])].some((name) => name === wanted);
    await addEntry(program, entry, context, everything || named);
  }
  program.helpCommand('help [command]', 'Show the help of a command');
  program.configureHelp({ formatHelp: (command, helper) => formatRootHelp(command, helper) });
  return program;
}

async function addEntry(program: Command, entry: CommandEntry, context: CliContext, load: boolean): Promise<void> {
  const command = program.command(entry.name, { hidden: entry.section === undefined }).summary(entry.summary);
  if (command.description() === '') command.description(`${entry.summary}.`);
  for (const alias of entry.aliases ?? []) command.alias(alias);
  command.helpOption('-h, --help', 'Show help');
  command.configureHelp({});
  if (load) {
    const register = await entry.load();
    register(command, context);
  } else {
    command.allowUnknownOption().allowExcessArguments();
  }
  harden(command, context);
}

/** Errors are thrown, never printed here; help goes where results go. */
function harden(command: Command, context: CliContext): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => context.write(text),
    // Errors are thrown; what is left is the help of a command that needs a subcommand.
    writeErr: (text) => context.write(text),
    outputError: () => undefined,
    getOutHelpWidth: () => context.stdout.columns ?? 100,
    getErrHelpWidth: () => context.stderr.columns ?? 100,
  });
  command.hook('preAction', (_, action) => {
    context.commandPath = pathOf(action);
  });
  if (command.parent !== null) inheritDebugOptions(command);
  for (const child of command.commands) harden(child, context);
}

// `thv list --debug` must work as `thv --debug list` does; context.ts has read both already.
function inheritDebugOptions(command: Command): void {
  for (const [flags, description] of [
    ['--debug', 'Log what happens, as JSON lines on stderr'],
    ['--quiet', 'Print results and errors alone'],
    ['--no-color', 'Print without colours'],
  ] as const) {
    if (command.options.some((option) => option.long === flags)) continue;
    const option = command.createOption(flags, description);
    option.hidden = true;
    command.addOption(option);
  }
}

/** The names from below the root down to `command`. */
export function pathOf(command: Command): string[] {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null && at.parent !== null; at = at.parent) names.unshift(at.name());
  return names;
}

/** The name of the command on a command line; no option of the first level takes a value. */
export function firstWord(argv: readonly string[]): string | undefined {
  return argv.find((word) => !word.startsWith('-'));
}

function formatRootHelp(command: Command, helper: Help): string {
  if (command.parent !== null) return Help.prototype.formatHelp.call(helper, command, helper);
  const width = Math.max(...commandEntries.map(({ name }) => name.length));
  const lines = ['Usage: thv [command]', '', command.description(), ''];
  for (const section of sections) {
    const entries = commandEntries.filter((entry) => entry.section === section);
    if (entries.length === 0) continue;
    lines.push(`${section}:`);
    for (const { name, summary } of entries) lines.push(`  ${name.padEnd(width)}  ${summary}`);
    lines.push('');
  }
  lines.push('Options:');
  for (const option of helper.visibleOptions(command))
    lines.push(`  ${option.flags.padEnd(width + 8)}  ${option.description}`);
  lines.push('', 'Try: thv run --name everything -- npx -y @modelcontextprotocol/server-everything stdio', '');
  return lines.join('\n');
}
