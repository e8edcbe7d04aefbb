import { join } from 'node:path';
import { createEngine, createMemoryStore, WorkflowError } from '@thv/workflow-dag';
import type { Elicitor, Engine, Store, ToolCaller } from '@thv/workflow-dag';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { pathsOf } from '../../workloads.js';

/** Parts of an engine for the command line. */
export interface EngineParts {
  readonly tools?: ToolCaller;
  readonly elicitor?: Elicitor;
}

/** The file with all runs, unless the command line names another. */
export function storePath(path: string | undefined, context: CliContext): string {
  return path ?? join(pathsOf(context).state, 'workflows.db');
}

/** Opens the store: a SQLite file, or `memory`, which forgets the run with the process. */
export async function openStore(path: string | undefined, context: CliContext): Promise<Store> {
  if (path === 'memory') return createMemoryStore();
  const { openSqliteStore } = await import('@thv/workflow-dag/sqlite');
  try {
    return await openSqliteStore(storePath(path, context));
  } catch (error) {
    if (!WorkflowError.is(error, 'ERR_WORKFLOW_DAG_DRIVER')) throw error;
    throw new CliError('ERR_CLI_UNSUPPORTED', error.message, {
      hint: '--store memory runs without it; such a run cannot be resumed',
      cause: error,
    });
  }
}

/** Opens store and engine, hands the engine out, and closes both. */
export async function withEngine<T>(
  store: string | undefined,
  { tools = noTools, elicitor }: EngineParts,
  context: CliContext,
  action: (engine: Engine) => Promise<T>,
): Promise<T> {
  const opened = await openStore(store, context);
  const engine = createEngine({
    tools,
    store: opened,
    // The file has been validated, with all findings shown.
    validation: false,
    ...(elicitor === undefined ? {} : { elicitor }),
    onError: (error) => context.debug('workflow store', { error: String(error) }),
  });
  try {
    return await action(engine);
  } finally {
    await engine.close();
    await opened.close();
  }
}

/** For commands that only look at runs. */
const noTools: ToolCaller = {
  resolve: () => undefined,
  call: async () => Promise.reject(new Error('no server is connected')),
};
