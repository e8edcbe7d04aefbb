import { drawWorkflow, validateDefinition } from '@thv/workflow-dag';
import type { DrawFormat } from '@thv/workflow-dag';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { loadFile, pick } from './load.js';

const graphRules = new Set([
  'workflow/cycle',
  'workflow/unknown-dependency',
  'workflow/duplicate-step',
  'workflow/steps',
]);

/** `thv workflow graph`: the plan of a workflow; a workflow with other faults is drawn all the same. */
export async function drawGraph(
  path: string,
  name: string | undefined,
  { format }: { readonly format: DrawFormat },
  context: CliContext,
): Promise<void> {
  const definition = pick(await loadFile(path, context), path, name);
  const { errors } = validateDefinition(definition, { maxSteps: 100_000 });
  const broken = errors.find(({ code }) => graphRules.has(code));
  if (broken !== undefined) {
    throw new CliError('ERR_CLI_INPUT', `${path}: ${broken.message}`, {
      file: path,
      ...(broken.line === undefined ? {} : { line: broken.line }),
      hint: `thv workflow validate ${path}`,
    });
  }
  context.write(drawWorkflow(definition, format));
}
