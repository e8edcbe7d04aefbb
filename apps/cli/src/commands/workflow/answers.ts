import { compileSchema } from '@thv/workflow-dag';
import type { ElicitAnswer, ElicitationStep, JsonObject, JsonValue, WorkflowDefinition } from '@thv/workflow-dag';
import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import type { Document } from 'yaml';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { printable } from '../../output/safe-text.js';
import { didYouMean } from '../../suggest.js';
import { readText } from './load.js';

/** Answers to questions by the id of the step that asks. */
export type Answers = ReadonlyMap<string, ElicitAnswer>;

/** A file of answers, its text with places. */
interface AnswersFile {
  readonly path: string;
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
}

/**
 * Reads a file of answers to the questions of a workflow, YAML or JSON: each step's id with the content of the answer,
 * or with an action (`accept`, `decline`, `cancel`) and a content. What no question could take is refused here, before
 * any tool is called.
 */
export async function readAnswers(path: string, definition: WorkflowDefinition, context: CliContext): Promise<Answers> {
  const lines = new LineCounter();
  const document = parseDocument(await readText(path, context), { lineCounter: lines });
  const file = { path, document, lines };
  const [cause] = document.errors;
  if (cause !== undefined) throw refused(file, `it is no YAML: ${cause.message.split('\n')[0] ?? ''}`, { cause });
  const value = contentsOf(file);
  if (!isObject(value)) throw refused(file, 'it must be a map of step ids to answers');
  return new Map(
    Object.entries(value).map(([id, answer]) => [id, answerOf(file, questionOf(file, id, definition), answer)]),
  );
}

function contentsOf(file: AnswersFile): unknown {
  try {
    return file.document.toJS({ maxAliasCount: 100 });
  } catch (cause) {
    throw refused(file, (cause as Error).message, { cause });
  }
}

function questionOf(file: AnswersFile, id: string, { steps }: WorkflowDefinition): ElicitationStep {
  const questions = steps.filter((step) => step.type === 'elicitation');
  const question = questions.find((step) => step.id === id);
  if (question !== undefined) return question;
  const ids = questions.map((step) => step.id);
  const hint = ids.length === 0 ? 'leave --answers out: the workflow asks nothing' : `questions: ${ids.join(', ')}`;
  throw refused(file, `the workflow has no question "${id}"${didYouMean(id, ids)}`, { id, hint });
}

function answerOf(file: AnswersFile, question: ElicitationStep, value: unknown): ElicitAnswer {
  const { id } = question;
  if (value === 'decline' || value === 'cancel') return { action: value };
  if (!isObject(value) || !('action' in value)) return accepted(file, question, value);
  const { action, content } = value;
  if (action === 'decline' || action === 'cancel') return { action };
  if (action === 'accept') return accepted(file, question, content ?? {});
  // An answer may well have a field of this name.
  if (Object.keys(value).some((key) => key !== 'action' && key !== 'content')) return accepted(file, question, value);
  throw refused(file, `the action of "${id}" must be accept, decline or cancel, got ${JSON.stringify(action)}`, { id });
}

function accepted(file: AnswersFile, { id, schema }: ElicitationStep, value: unknown): ElicitAnswer {
  const content = contentOf(value);
  const problems = problemsOf(schema, content);
  if (problems.length === 0) return { action: 'accept', content };
  throw refused(file, `the answer to "${id}" does not fit its schema: ${problems.join('; ')}`, {
    id,
    hint: `see the schema of step "${id}" in the workflow`,
  });
}

/** A bare value answers a question whose schema is that of a primitive. */
function contentOf(value: unknown): JsonObject {
  return isObject(value) ? value : { value: value as JsonValue };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Refusal {
  /** Whose line to name. */
  readonly id?: string;
  readonly hint?: string;
  readonly cause?: unknown;
}

function refused(file: AnswersFile, problem: string, { id, hint, cause }: Refusal = {}): CliError {
  const line = id === undefined ? undefined : lineOf(file, id);
  const place = line === undefined ? file.path : `${file.path}:${line}`;
  return new CliError('ERR_CLI_INPUT', printable(`${place}: ${problem}`), {
    file: file.path,
    ...(line === undefined ? {} : { line }),
    hint: printable(hint ?? 'write for example {"approve": {"proceed": true}}'),
    cause,
  });
}

function lineOf({ document, lines }: AnswersFile, id: string): number | undefined {
  if (!isMap(document.contents)) return undefined;
  const key = document.contents.items
    .map((pair) => pair.key)
    .find((node) => isScalar(node) && String(node.value) === id);
  return isScalar(key) && key.range ? lines.linePos(key.range[0]).line : undefined;
}

/** What an answer has against it; empty where it fits. */
export function problemsOf(schema: JsonObject, content: JsonObject): readonly string[] {
  const compiled = compileSchema(schema);
  if (!('check' in compiled)) return [];
  return compiled.check(content).map(({ pointer, message }) => `${pointer.slice(1)} ${message}`.trim());
}
