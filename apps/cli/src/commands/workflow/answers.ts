import { compileSchema } from '@thv/workflow-dag';
import type { ElicitAnswer, JsonObject, JsonValue } from '@thv/workflow-dag';
import { parse } from 'yaml';
import type { CliContext } from '../../context.js';
import { CliError } from '../../errors.js';
import { readText } from './load.js';

/** Answers to questions by the id of the step that asks. */
export type Answers = ReadonlyMap<string, ElicitAnswer>;

/**
 * Reads a file of answers, YAML or JSON: each step's id with the content of the answer, or with an action (`accept`,
 * `decline`, `cancel`) and a content.
 */
export async function readAnswers(path: string, context: CliContext): Promise<Answers> {
  const text = await readText(path, context);
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 100 });
  } catch (cause) {
    throw refused(path, `it is no YAML: ${(cause as Error).message.split('\n')[0] ?? ''}`, cause);
  }
  if (!isObject(value)) throw refused(path, 'it must be a map of step ids to answers');
  return new Map(Object.entries(value).map(([id, answer]) => [id, answerOf(path, id, answer)]));
}

function answerOf(path: string, id: string, value: unknown): ElicitAnswer {
  if (typeof value === 'string' && ['decline', 'cancel'].includes(value))
    return { action: value as 'decline' | 'cancel' };
  if (!isObject(value) || !('action' in value)) return { action: 'accept', content: contentOf(value) };
  const { action, content } = value;
  if (action === 'decline' || action === 'cancel') return { action };
  if (action === 'accept') return { action, content: contentOf(content ?? {}) };
  // An answer may well have a field of this name.
  if (Object.keys(value).some((key) => key !== 'action' && key !== 'content'))
    return { action: 'accept', content: value };
  throw refused(path, `the action of "${id}" must be accept, decline or cancel, got ${JSON.stringify(action)}`);
}

/** A bare value answers a question whose schema is that of a primitive. */
function contentOf(value: unknown): JsonObject {
  return isObject(value) ? value : { value: value as JsonValue };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function refused(path: string, problem: string, cause?: unknown): CliError {
  return new CliError('ERR_CLI_INPUT', `${path} has no answers: ${problem}`, {
    file: path,
    hint: 'write for example {"approve": {"proceed": true}}',
    cause,
  });
}

/** What an answer has against it; empty where it fits. */
export function problemsOf(schema: JsonObject, content: JsonObject): readonly string[] {
  const compiled = compileSchema(schema);
  if (!('check' in compiled)) return [];
  return compiled.check(content).map(({ pointer, message }) => `${pointer.slice(1)} ${message}`.trim());
}
