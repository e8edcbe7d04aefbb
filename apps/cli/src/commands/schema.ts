import { serversSchema } from '@thv/vmcp';
import { definitionSchema } from '@thv/workflow-dag';
import type { RegisterCommand } from './index.js';

export const register: RegisterCommand = (command, context) => {
  command.description('Print the JSON Schema (2020-12) of a file that this program reads.');
  command
    .command('workflow')
    .description('The schema of a file with workflows.')
    .action(() => context.json(definitionSchema));
  command
    .command('servers')
    .description('The schema of a servers file, which `workflow run` reads.')
    .action(() => context.json(serversSchema));
};
