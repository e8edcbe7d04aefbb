import { Argument } from 'commander';
import { completionScript, shells } from '../completion-scripts.js';
import type { Shell } from '../completion-scripts.js';
import { CliError } from '../errors.js';
import { didYouMean } from '../suggest.js';
import type { RegisterCommand } from './index.js';

export const register: RegisterCommand = (command, context) => {
  command.description('Print the script that makes a shell complete commands, options and the names of servers.');
  const argument = new Argument('<shell>', shells.join(', ')).argParser((text: string): Shell => {
    const shell = shells.find((name) => name === text);
    if (shell !== undefined) return shell;
    throw new CliError('ERR_CLI_USAGE', `unknown shell "${text}"${didYouMean(text, shells)}`, {
      hint: `thv completion ${shells.join('|')}`,
    });
  });
  argument.argChoices = [...shells];
  command.addArgument(argument).action((shell: Shell) => context.write(completionScript(shell)));
};
