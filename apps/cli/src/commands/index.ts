import type { Command } from 'commander';
import type { CliContext } from '../context.js';

/** Adds arguments, options, subcommands and actions to a command that has its name, aliases and summary already. */
export type RegisterCommand = (command: Command, context: CliContext) => void;

/** One entry of the first level. Its code is loaded when the command line names it, so that `--help` stays fast. */
export interface CommandEntry {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly summary: string;
  /** Heading in `thv --help`; an entry without one is not shown. */
  readonly section?: 'Start here' | 'Servers' | 'Workflows' | 'Skills' | 'Program';
  readonly load: () => Promise<RegisterCommand>;
}

/** Every command of the first level, in the order of the help. A new group is one more line here and a folder beside. */
export const commandEntries: readonly CommandEntry[] = [
  {
    name: 'run',
    summary: 'Run an MCP server and print its URL',
    section: 'Start here',
    load: async () => (await import('./run/index.js')).register,
  },
  {
    name: 'list',
    aliases: ['ls'],
    summary: 'List MCP servers',
    section: 'Start here',
    load: async () => (await import('./list.js')).register,
  },
  {
    name: 'mcp',
    summary: 'List what a server offers, call its tools',
    section: 'Start here',
    load: async () => (await import('./mcp/index.js')).register,
  },
  {
    name: 'logs',
    summary: 'Print the logs of a server',
    section: 'Start here',
    load: async () => (await import('./logs.js')).register,
  },
  {
    name: 'stop',
    summary: 'Stop servers',
    section: 'Start here',
    load: async () => (await import('./stop.js')).register,
  },
  {
    name: 'rm',
    aliases: ['remove'],
    summary: 'Remove servers',
    section: 'Start here',
    load: async () => (await import('./rm.js')).register,
  },
  {
    name: 'start',
    aliases: ['restart'],
    summary: 'Start stopped servers, with the same URL',
    section: 'Servers',
    load: async () => (await import('./start.js')).register,
  },
  {
    name: 'status',
    summary: 'Show the status of a server',
    section: 'Servers',
    load: async () => (await import('./status.js')).register,
  },
  {
    name: 'group',
    summary: 'Manage groups of servers',
    section: 'Servers',
    load: async () => (await import('./group/index.js')).register,
  },
  {
    name: 'proxy',
    summary: 'Put a proxy in front of a server, or speak stdio to one',
    section: 'Servers',
    load: async () => (await import('./proxy/index.js')).register,
  },
  {
    name: 'export',
    summary: 'Write the configuration of a server to a file',
    section: 'Servers',
    load: async () => (await import('./export.js')).register,
  },
  {
    name: 'workflow',
    summary: 'Validate, draw and run workflows',
    section: 'Workflows',
    load: async () => (await import('./workflow/index.js')).register,
  },
  {
    name: 'schema',
    summary: 'Print the JSON Schema of a file',
    section: 'Workflows',
    load: async () => (await import('./schema.js')).register,
  },
  {
    name: 'skill',
    summary: 'Build, publish, install and lock Agent Skills',
    section: 'Skills',
    load: async () => (await import('./skill/index.js')).register,
  },
  {
    name: 'config',
    summary: 'Read and write the defaults of this user',
    section: 'Program',
    load: async () => (await import('./config.js')).register,
  },
  {
    name: 'completion',
    summary: 'Print the completion script of a shell',
    section: 'Program',
    load: async () => (await import('./completion.js')).register,
  },
  {
    name: 'version',
    summary: 'Print the version',
    section: 'Program',
    load: async () => (await import('./version.js')).register,
  },
  {
    name: '__complete',
    summary: 'Complete a command line',
    load: async () => (await import('./complete.js')).register,
  },
  {
    name: '__supervise',
    summary: 'Supervise a server',
    load: async () => (await import('./supervise.js')).register,
  },
];
