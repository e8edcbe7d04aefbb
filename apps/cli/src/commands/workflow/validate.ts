import { computeStatus, referencingServers, validateFile } from '@thv/workflow-dag';
import type { FileValidation, Issue, WorkflowFile } from '@thv/workflow-dag';
import { stringify } from 'yaml';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { exitCodes } from '../../exit.js';
import { printable } from '../../output/safe-text.js';
import { didYouMean } from '../../suggest.js';
import { loadFile } from './load.js';
import { toSarif } from './sarif.js';

/** Flags of `workflow validate`. */
export interface ValidateFlags {
  readonly format: 'text' | 'json' | 'sarif' | 'yaml';
  readonly strict?: boolean;
}

/** `thv workflow validate`: findings on stdout as `path:line:column`; exit code 1 when there is an error. */
export async function validateWorkflow(
  path: string,
  name: string | undefined,
  { format, strict = false }: ValidateFlags,
  context: CliContext,
): Promise<void> {
  const file = selectNamed(await loadFile(path, context), path, name);
  const validation = validateFile(file, { strictReferences: strict });
  const issues = inOrder([...validation.errors, ...validation.warnings]).map((issue) =>
    strict ? ({ ...issue, severity: 'error' } as const) : issue,
  );
  if (!issues.some(({ severity }) => severity === 'error')) refuseEmpty(file, path);
  if (issues.some(({ severity }) => severity === 'error')) context.exitCode = exitCodes.error;
  if (format === 'json') context.json(asJson(path, validation, issues));
  else if (format === 'sarif') context.json(toSarif(path, issues));
  else if (format === 'yaml') context.write(asStatus(file, issues));
  else print(path, validation, issues, context);
}

function selectNamed(file: WorkflowFile, path: string, name: string | undefined): WorkflowFile {
  if (name === undefined) return file;
  const definitions = file.definitions.filter(
    (definition) => definition.name === name || definition.metadata?.name === name,
  );
  if (definitions.length > 0) return { ...file, definitions, servers: [] };
  const names = file.definitions.map((definition) => definition.name);
  throw new CliError('ERR_CLI_INPUT', `${path} has no workflow "${name}"${didYouMean(name, names)}`, {
    file: path,
    hint: names.length === 0 ? `thv workflow validate ${path}` : `one of: ${names.join(', ')}`,
  });
}

function refuseEmpty({ definitions, servers }: WorkflowFile, path: string): void {
  if (definitions.length > 0 || servers.length > 0) return;
  throw new CliError('ERR_CLI_INPUT', `${path} has no workflow`, {
    file: path,
    hint: 'a workflow has name, description and steps; thv schema workflow prints its schema',
  });
}

function inOrder(issues: readonly Issue[]): Issue[] {
  return issues.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
}

function asJson(path: string, { workflows }: FileValidation, issues: readonly Issue[]): object {
  return {
    valid: !issues.some(({ severity }) => severity === 'error'),
    file: path,
    workflows: workflows.map(({ definition, validation }) => ({
      name: definition.name,
      valid: validation.ok,
      steps: definition.steps.length,
    })),
    issues,
  };
}

/** The status block of each workflow, as a controller would write it. */
function asStatus(file: WorkflowFile, issues: readonly Issue[]): string {
  const known = new Set(issues);
  const blocks = file.definitions.map((definition) => {
    const extraIssues = [...known].filter(
      ({ code, value }) => code === 'workflow/duplicate-name' && value === definition.name,
    );
    const status = computeStatus(definition, { referencingServers: referencingServers(file, definition), extraIssues });
    const title = file.definitions.length > 1 ? `# ${printable(definition.name)}\n` : '';
    return title + stringify({ status }, { lineWidth: 0 });
  });
  return blocks.join('---\n');
}

function print(path: string, { workflows }: FileValidation, issues: readonly Issue[], context: CliContext): void {
  const places = issues.map(({ line, column }) => `${path}${line === undefined ? '' : `:${line}:${column ?? 1}`}`);
  for (const [index, { severity, message, hint, code }] of issues.entries()) {
    const mark = severity === 'error' ? context.style.red('error  ') : context.style.yellow('warning');
    const remedy = hint === undefined ? '' : ` (${hint})`;
    context.out(
      `${printable(places[index] ?? '')} ${mark} ${printable(message + remedy)}  ${context.style.dim(`[${code}]`)}`,
    );
  }
  if (issues.length > 0) {
    const errors = issues.filter(({ severity }) => severity === 'error').length;
    const counts = `${count(errors, 'error')}, ${count(issues.length - errors, 'warning')}`;
    context.out(`${count(issues.length, 'problem')} (${counts})`);
  }
  if (context.exitCode !== exitCodes.success) return;
  const names = workflows.map(({ definition }) => `${definition.name} (${count(definition.steps.length, 'step')})`);
  context.out(printable(`${path} is valid${names.length === 0 ? '' : `: ${names.join(', ')}`}`));
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
