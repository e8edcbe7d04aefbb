import { resolve } from 'node:path';
import { prepareParameters, toolReferences, validateDefinition, WorkflowError } from '@thv/workflow-dag';
import type { JsonObject, Run, Scheduling, WorkflowDefinition, WorkflowResult } from '@thv/workflow-dag';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { exitCodes } from '../../exit.js';
import { printable } from '../../output/safe-text.js';
import { readAnswers } from './answers.js';
import type { Answers } from './answers.js';
import { createElicitor } from './ask.js';
import type { TerminalElicitor } from './ask.js';
import { withEngine } from './engine.js';
import { loadFile, pick, readText } from './load.js';
import { showProgress } from './progress.js';
import type { Progress } from './progress.js';
import { forget, remember } from './remembered.js';
import type { Remembered } from './remembered.js';
import { openTools } from './tools.js';

/** Flags that starting and resuming have in common. */
export interface ExecuteFlags {
  readonly servers?: string;
  readonly group?: string;
  readonly answers?: string;
  readonly store?: string;
  readonly format: 'text' | 'json';
}

/** Flags of `workflow run`. */
export interface RunFlags extends ExecuteFlags {
  readonly args?: string;
  readonly argsFile?: string;
  readonly vars?: string;
  readonly eager?: boolean;
  /** `--no-cache` */
  readonly cache: boolean;
}

/** `thv workflow run`: runs a workflow to its end; the output goes to stdout, everything else to stderr. */
export async function runWorkflow(
  path: string,
  name: string | undefined,
  flags: RunFlags,
  context: CliContext,
): Promise<void> {
  const definition = pick(await loadFile(path, context), path, name);
  refuseInvalid(definition, path);
  const params = await readParameters(definition, flags, context);
  const vars = flags.vars === undefined ? {} : parseObject(flags.vars, '--vars');
  const how = howTo(flags, context);
  const scheduling: Scheduling = flags.eager === true ? 'eager' : 'levels';
  await execute(definition, how, flags, context, async (engine) =>
    engine.run(definition, params, { vars, scheduling, noCache: !flags.cache, signal: context.signal }),
  );
}

/** Absolute paths, so that a run can be resumed from any folder. */
export function howTo({ servers, group, answers }: ExecuteFlags, { cwd }: CliContext): Remembered {
  return {
    ...(servers === undefined ? {} : { servers: resolve(cwd, servers) }),
    ...(group === undefined ? {} : { group }),
    ...(answers === undefined ? {} : { answers: resolve(cwd, answers) }),
  };
}

type Start = (engine: Parameters<Parameters<typeof withEngine>[3]>[0]) => Promise<Run>;

/** Connects tools and terminal, starts or resumes a run, shows it, and prints how it ended. */
export async function execute(
  definition: WorkflowDefinition,
  how: Remembered,
  flags: ExecuteFlags,
  context: CliContext,
  start: Start,
): Promise<void> {
  const answers: Answers = how.answers === undefined ? new Map() : await readAnswers(how.answers, definition, context);
  refuseUnaskable(definition, answers, context);
  const tools = await openTools(toolReferences(definition), how, context);
  let progress: Progress | undefined;
  // The first step may ask before the table has its place.
  let show: () => void = () => undefined;
  const ready = new Promise<void>((resolveReady) => (show = resolveReady));
  const elicitor = createElicitor(
    { answers, ready, pause: () => progress?.pause(), resume: () => progress?.resume() },
    context,
  );
  try {
    const result = await withEngine(flags.store, { tools, elicitor }, context, async (engine) => {
      const run = await start(engine);
      if (flags.store !== 'memory') await remember(run.id, how, context);
      context.note(`Run ${run.id}`);
      progress = showProgress(definition, context);
      progress.restore((await engine.status(run.id)).steps);
      show();
      try {
        return await follow(run, progress, context);
      } finally {
        progress.end();
      }
    });
    // A failed run may be resumed with --retry-failed.
    if (result.status !== 'failed') await forget(result.runId, context);
    report(result, elicitor, flags, context);
  } finally {
    await tools.close();
  }
}

/** Waits for the end; an interruption cancels the run and waits for that. */
async function follow(run: Run, progress: Progress, { signal }: CliContext): Promise<WorkflowResult> {
  const shown = showEvents(run, progress);
  const cancel = (): void => void run.cancel('interrupted').catch(() => undefined);
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  try {
    const result = await run.result;
    await shown;
    return result;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** The events of a run end with it, so that this does. */
async function showEvents(run: Run, progress: Progress): Promise<void> {
  for await (const event of run.events) progress.onEvent(event);
}

function report(
  result: WorkflowResult,
  elicitor: TerminalElicitor,
  { format }: ExecuteFlags,
  context: CliContext,
): void {
  if (format === 'json') context.json(result);
  else if (result.status === 'completed') context.json(result.output);
  if (result.status === 'completed') {
    const { failedSteps } = result;
    if (failedSteps.length > 0) context.note(printable(`Completed; failed on the way: ${failedSteps.join(', ')}`));
    return;
  }
  if (context.signal.aborted) throw context.signal.reason;
  const [unanswered] = elicitor.unanswered;
  if (unanswered !== undefined) throw nobodyToAsk(unanswered);
  const reason = result.error?.message ?? 'no reason given';
  throw new CliError(
    'ERR_CLI_WORKFLOW',
    printable(`workflow "${result.name}" ${result.status.replace('_', ' ')}: ${reason}`),
    {
      hint: `thv workflow runs show ${result.runId}`,
    },
  );
}

/** A question that surely comes and that nobody could answer: better said before anything has happened. */
function refuseUnaskable(definition: WorkflowDefinition, answers: Answers, context: CliContext): void {
  if (context.stdin.isTTY === true) return;
  const question = definition.steps.find(
    (step) =>
      step.type === 'elicitation' &&
      step.condition === undefined &&
      step.defaultResponse === undefined &&
      !answers.has(step.id),
  );
  if (question !== undefined) throw nobodyToAsk(question.id);
}

function nobodyToAsk(stepId: string): CliError {
  return new CliError('ERR_CLI_INPUT', `step "${stepId}" asks a question, and there is no terminal to ask on`, {
    hint: `--answers FILE, with {"${stepId}": {…}}`,
    exitCode: exitCodes.refused,
  });
}

function refuseInvalid(definition: WorkflowDefinition, path: string): void {
  const { errors } = validateDefinition(definition);
  const [first] = errors;
  if (first === undefined) return;
  const more = errors.length > 1 ? `; and ${errors.length - 1} more` : '';
  const place = first.line === undefined ? '' : `:${first.line}:${first.column ?? 1}`;
  const remedy = first.hint === undefined ? '' : ` (${first.hint})`;
  throw new CliError('ERR_CLI_INPUT', `${path}${place} ${first.message}${remedy}${more}`, {
    file: path,
    ...(first.line === undefined ? {} : { line: first.line }),
    hint: `thv workflow validate ${path}`,
  });
}

async function readParameters(
  definition: WorkflowDefinition,
  { args, argsFile }: RunFlags,
  context: CliContext,
): Promise<JsonObject> {
  if (args !== undefined && argsFile !== undefined) {
    throw new CliError('ERR_CLI_USAGE', '--args and --args-file exclude each other', { hint: 'give one of the two' });
  }
  const text = argsFile === undefined ? args : await readText(argsFile, context);
  const given = text === undefined ? {} : parseObject(text, argsFile ?? '--args');
  try {
    return prepareParameters(definition, given);
  } catch (error) {
    if (!WorkflowError.is(error)) throw error;
    const names = Object.keys((definition.parameters?.['properties'] ?? {}) as JsonObject);
    throw new CliError('ERR_CLI_INPUT', error.message, {
      hint: names.length === 0 ? '--args {}' : `--args '{${names.map((name) => `"${name}": …`).join(', ')}}'`,
      cause: error,
    });
  }
}

function parseObject(text: string, source: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CliError('ERR_CLI_INPUT', `${source} is no JSON: ${(cause as Error).message}`, {
      hint: `${source.startsWith('--') ? source : '--args'} '{"name": "value"}'`,
      cause,
    });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  throw new CliError(
    'ERR_CLI_INPUT',
    `${source} must be a JSON object, got ${Array.isArray(value) ? 'an array' : typeof value}`,
    {
      hint: `${source.startsWith('--') ? source : '--args'} '{"name": "value"}'`,
    },
  );
}
