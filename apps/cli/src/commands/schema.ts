import { serversSchema } from '@thv/vmcp';
import { definitionSchema } from '@thv/workflow-dag';
import { runConfigSchema } from '@thv/workloads';
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
  command
    .command('run-config')
    .description('The schema of a run configuration, which `export` writes and `run --from-config` reads.')
    .action(() => context.json(runConfigSchema));
};
