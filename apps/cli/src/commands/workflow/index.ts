import { Option } from 'commander';
import type { Command } from 'commander';
import type { CliContext } from '../../context.js';
import { completeArguments } from '../../completion.js';
import { choiceOption, formatOption, integerParser } from '../../options.js';
import type { RegisterCommand } from '../index.js';
import { drawGraph } from './graph.js';
import { runWorkflow } from './run.js';
import type { RunFlags } from './run.js';
import { cancelRun, listRuns, resumeRun, runIds, showRun } from './runs.js';
import type { ListFlags, ResumeFlags, RunsFlags } from './runs.js';
import { validateWorkflow } from './validate.js';

export const register: RegisterCommand = (command, context) => {
  command.description('Validate, draw and run workflows.');
  registerAuthoring(command, context);
  registerRun(command, context);
  registerRuns(command, context);
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

/** What starting and resuming have in common. */
function executeOptions(command: Command): Command {
  return command
    .option('--servers <file>', 'File with the servers whose tools are called (default: the running servers)')
    .option('-g, --group <name>', 'Call tools of the running servers of this group alone')
    .option('--answers <file>', 'File with answers to the questions of the workflow, by step id')
    .addOption(storeOption())
    .addOption(formatOption());
}

function storeOption(): Option {
  return new Option('--store <file>', 'Where runs are kept: a SQLite file, or memory (default: in the state folder)');
}

function registerRun(command: Command, context: CliContext): void {
  const run = command
    .command('run')
    .description('Run a workflow to its end; its output goes to stdout, progress to stderr.')
    .argument('<file>', 'YAML or JSON file with workflows, or - for stdin')
    .argument('[name]', 'The workflow, where the file has several')
    .option('--args <json>', 'Parameters, as a JSON object')
    .option('--args-file <file>', 'File with the parameters')
    .option('--vars <json>', 'Variables that templates read as .vars, as a JSON object')
    .option('--eager', 'Start a step as soon as its own dependencies are over, not level by level')
    .option('--no-cache', 'Call every tool, also where a cached result is there');
  executeOptions(run).action(async (file: string, name: string | undefined, flags: RunFlags) =>
    runWorkflow(file, name, flags, context),
  );
}

function registerRuns(parent: Command, context: CliContext): void {
  const command = parent.command('runs').description('Look at runs, cancel them, go on with them.');
  command
    .command('list')
    .alias('ls')
    .description('List runs, the newest first.')
    .addOption(
      choiceOption('--status <status>', 'Runs with this status alone', [
        'pending',
        'running',
        'waiting_for_elicitation',
        'completed',
        'failed',
        'cancelled',
        'timed_out',
      ]),
    )
    .addOption(new Option('--limit <number>', 'How many at most').argParser(integerParser(1, 1000)).default(50))
    .addOption(storeOption())
    .addOption(formatOption())
    .action(async (flags: ListFlags) => listRuns(flags, context));
  const show = command
    .command('show')
    .description('Show a run and its steps.')
    .argument('<id>', 'Id of the run, or its beginning')
    .addOption(storeOption())
    .addOption(formatOption())
    .action(async (id: string, flags: RunsFlags) => showRun(id, flags, context));
  const cancel = command
    .command('cancel')
    .description('Cancel a run, wherever it runs.')
    .argument('<id>', 'Id of the run, or its beginning')
    .addOption(storeOption())
    .addOption(formatOption())
    .action(async (id: string, flags: RunsFlags) => cancelRun(id, flags, context));
  const resume = command
    .command('resume')
    .description('Go on with a run whose process is gone; completed steps are not repeated.')
    .argument('<id>', 'Id of the run, or its beginning')
    .option('--retry-failed', 'Run the failed steps of a failed run again');
  executeOptions(resume).action(async (id: string, flags: ResumeFlags) => resumeRun(id, flags, context));
  for (const child of [show, cancel, resume]) completeArguments(child, runIds);
}
