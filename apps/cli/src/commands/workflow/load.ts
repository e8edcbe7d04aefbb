import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseFile, selectDefinition, WorkflowError } from '@thv/workflow-dag';
import type { WorkflowDefinition, WorkflowFile } from '@thv/workflow-dag';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { readInput } from '../../prompt.js';

const maxBytes = 4 * 1024 * 1024;

/** Reads a file below the working directory, or stdin where it is called `-`. */
export async function readText(path: string, context: CliContext): Promise<string> {
  try {
    return path === '-' ? await readInput(context, maxBytes) : await readFile(resolve(context.cwd, path), 'utf8');
  } catch (cause) {
    if (context.signal.aborted) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'it does not exist' : code === 'EISDIR' ? 'it is a folder' : message;
    throw new CliError('ERR_CLI_FILE', `${path} cannot be read: ${reason}`, {
      file: path,
      hint: code === 'EISDIR' ? 'name a file in it' : 'check the path',
      cause,
    });
  }
}

/** Reads the workflows of a file. */
export async function loadFile(path: string, context: CliContext): Promise<WorkflowFile> {
  return parseFile(await readText(path, context));
}

/** Picks a workflow; the error names the file. */
export function pick(file: WorkflowFile, path: string, name: string | undefined): WorkflowDefinition {
  try {
    return selectDefinition(file, name);
  } catch (error) {
    if (!WorkflowError.is(error)) throw error;
    const issues = error.details['issues'];
    const line = Array.isArray(issues) ? (issues[0] as { readonly line?: number } | undefined)?.line : undefined;
    throw new CliError('ERR_CLI_INPUT', `${path}: ${error.message}`, {
      file: path,
      hint: `thv workflow validate ${path}`,
      ...(line === undefined ? {} : { line }),
      cause: error,
    });
  }
}
