import type { Command } from 'commander';
import { Argument, InvalidArgumentError, Option } from 'commander';
import { completeOption } from '../../completion.js';
import { durationParser } from '../../duration-option.js';
import { choiceOption, formatOption } from '../../options.js';
import { didYouMean } from '../../suggest.js';
import { serverNames } from '../../workloads.js';
import type { RegisterCommand } from '../index.js';
import { callTool } from './call.js';
import type { CallFlags } from './call.js';
import { list, listKinds } from './list.js';
import type { ServerFlags } from './connect.js';

export const register: RegisterCommand = (command, context) => {
  command.description('Interact with MCP servers for debugging: list what they offer, call their tools.');
  const all = command
    .command('list')
    .alias('ls')
    .description('List the tools, resources and prompts of an MCP server, or one kind of them.')
    .usage('[tools|resources|prompts] [options]');
  addServerOptions(all)
    .addArgument(new Argument('[kind]').argParser(unknownKind))
    .action(async (_: unknown, flags: ServerFlags) => list(listKinds, flags, context));
  for (const kind of listKinds) {
    const one = all.command(kind).description(`List all ${kind} of an MCP server.`);
    // Options may stand before the word as well, `mcp list --server x tools`; those behind it win.
    addServerOptions(one).action(async () => list([kind], mergeFlags(all, one), context));
  }
  addServerOptions(command.command('call'))
    .description('Call a tool of an MCP server and print its result.')
    .argument('<tool>', 'Name of the tool')
    .option('--args <json>', 'Arguments as a JSON object, `-` for stdin')
    .option('--args-file <path>', 'File with the arguments as a JSON object, `-` for stdin')
    .option('--ignore-tool-error', 'Exit with 0 also when the tool reports an error')
    .action(async (tool: string, flags: CallFlags) => callTool(tool, flags, context));
};

/** A word here is none of the subcommands, or commander had gone there. */
function unknownKind(word: string): never {
  throw new InvalidArgumentError(`Expected one of ${listKinds.join(', ')}${didYouMean(word, listKinds)}.`);
}

function addServerOptions(command: Command): Command {
  const server = new Option('--server <name or URL>', 'Name or URL of the MCP server (required)');
  return command
    .addOption(completeOption(server, serverNames))
    .addOption(formatOption())
    .addOption(
      new Option('--timeout <duration>', 'How long everything may take')
        .argParser(durationParser)
        .default(30_000, '30s'),
    )
    .addOption(
      choiceOption('--transport <type>', 'Transport of the server', ['auto', 'sse', 'streamable-http'], 'auto'),
    );
}

function mergeFlags(outer: Command, inner: Command): ServerFlags {
  const merged: Record<string, unknown> = { ...inner.opts() };
  for (const [name, value] of Object.entries(outer.opts())) {
    if (outer.getOptionValueSource(name) === 'cli' && inner.getOptionValueSource(name) !== 'cli') merged[name] = value;
  }
  return merged as unknown as ServerFlags;
}
