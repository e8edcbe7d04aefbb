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
    name: 'version',
    summary: 'Print the version',
    section: 'Program',
    load: async () => (await import('./version.js')).register,
  },
];
