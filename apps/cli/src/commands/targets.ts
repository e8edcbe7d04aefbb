import type { Workload, WorkloadManager } from '@thv/workloads';
import type { CliContext } from '../context.js';
import { CliError } from '../errors.js';
import { exitCodes } from '../exit.js';
import { printable } from '../output/safe-text.js';
import { withSuggestions } from '../workloads.js';

/** What became of one of several targets. */
export interface TargetResult {
  readonly name: string;
  readonly result: string;
  readonly error?: { readonly code: string; readonly message: string };
}

/** How one command works on one target. */
export interface TargetAction {
  /** `stop`, for messages. */
  readonly verb: string;
  /** Does it and answers the word for the result, `stopped`. */
  run(name: string): Promise<string>;
  /** The line for a result. */
  line(name: string, result: string): string;
}

/**
 * Runs an action on several names at once. One name fails as itself; of several, each failure is told, the others are
 * done, and the exit code is 3.
 */
export async function onTargets(
  context: CliContext,
  manager: WorkloadManager,
  names: readonly string[],
  format: 'text' | 'json',
  action: TargetAction,
): Promise<readonly TargetResult[]> {
  const unique = [...new Set(names)];
  const run = async (name: string): Promise<string> => withSuggestions(manager, name, async () => action.run(name));
  const [only] = unique;
  if (unique.length === 1 && only !== undefined) {
    const result = await run(only);
    if (format === 'json') context.json({ name: only, result });
    else context.out(action.line(only, result));
    return [{ name: only, result }];
  }
  const results = await Promise.all(
    unique.map(async (name): Promise<TargetResult> => {
      try {
        return { name, result: await run(name) };
      } catch (error) {
        if (context.signal.aborted) throw error;
        const message = error instanceof Error ? error.message : String(error);
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'ERR_CLI_UNEXPECTED';
        return { name, result: 'failed', error: { code, message } };
      }
    }),
  );
  if (format === 'json') context.json(results);
  else for (const result of results) printLine(result, context, action);
  const failed = results.filter(({ error }) => error !== undefined);
  if (failed.length > 0) {
    throw new CliError('ERR_CLI_TARGETS', `could not ${action.verb} ${failed.length} of ${results.length} servers`, {
      exitCode: exitCodes.operational,
      hint: `thv status ${failed[0]?.name ?? ''}`,
    });
  }
  return results;
}

function printLine({ name, result, error }: TargetResult, context: CliContext, action: TargetAction): void {
  if (error === undefined) context.out(action.line(name, result));
  else context.warn(`${context.noteStyle.red('error:')} ${printable(error.message)}`);
}

export function namesOf(workloads: readonly Workload[]): string[] {
  return workloads.map(({ name }) => name);
}
