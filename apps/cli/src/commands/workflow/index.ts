import type { Command } from 'commander';
import type { CliContext } from '../../context.js';
import { choiceOption } from '../../options.js';
import type { RegisterCommand } from '../index.js';
import { drawGraph } from './graph.js';
import { validateWorkflow } from './validate.js';

export const register: RegisterCommand = (command, context) => {
  command.description('Validate, draw and run workflows.');
  registerAuthoring(command, context);
};

function registerAuthoring(command: Command, context: CliContext): void {
  command
    .command('validate')
    .description('Check the workflows of a file; findings go to stdout as path:line:column.')
    .argument('<file>', 'YAML or JSON file with workflows, or - for stdin')
    .argument('[name]', 'Check this workflow alone')
    .addOption(
      choiceOption(
        '--format <format>',
        'Output format; yaml prints the status block',
        ['text', 'json', 'sarif', 'yaml'],
        'text',
      ),
    )
    .option('--strict', 'Take warnings for errors, and follow references through variables')
    .action(async (file: string, name: string | undefined, flags) => validateWorkflow(file, name, flags, context));
  command
    .command('graph')
    .description('Draw the plan of a workflow.')
    .argument('<file>', 'YAML or JSON file with workflows, or - for stdin')
    .argument('[name]', 'The workflow, where the file has several')
    .addOption(choiceOption('--format <format>', 'Output format', ['text', 'mermaid', 'json', 'svg', 'dot'], 'text'))
    .action(async (file: string, name: string | undefined, flags) => drawGraph(file, name, flags, context));
}
