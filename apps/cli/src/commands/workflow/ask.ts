import { createInterface } from 'node:readline/promises';
import type { Interface } from 'node:readline/promises';
import type { ElicitAnswer, Elicitor, ElicitRequest, JsonObject, JsonValue } from '@thv/workflow-dag';
import type { CliContext } from '../../context.js';
import { printable } from '../../output/safe-text.js';
import { problemsOf } from './answers.js';
import type { Answers } from './answers.js';

/** Asks on the terminal, or takes the answers of a file. */
export interface TerminalElicitor extends Elicitor {
  /** Steps whose question nobody could answer. */
  readonly unanswered: ReadonlySet<string>;
}

/** What else happens on the terminal. */
export interface AskOptions {
  readonly answers: Answers;
  /** The terminal is free from then on. */
  readonly ready: Promise<void>;
  /** Called before and after a question, so that nothing draws over it. */
  readonly pause: () => void;
  readonly resume: () => void;
}

/** Makes the elicitor of the command line. Questions go to stderr, one after the other. */
export function createElicitor({ answers, ready, pause, resume }: AskOptions, context: CliContext): TerminalElicitor {
  const unanswered = new Set<string>();
  let before: Promise<unknown> = Promise.resolve();
  const onTerminal = async (request: ElicitRequest): Promise<ElicitAnswer> => {
    await ready;
    request.signal.throwIfAborted();
    pause();
    try {
      return await ask(request, context);
    } finally {
      resume();
    }
  };
  return {
    unanswered,
    async elicit(request) {
      const answer = answers.get(request.stepId);
      if (answer !== undefined) return answer;
      if (context.stdin.isTTY !== true) {
        unanswered.add(request.stepId);
        return { action: 'unsupported' };
      }
      // Two questions of one level must not share the terminal.
      const turn = before.catch(() => undefined).then(async () => onTerminal(request));
      before = turn;
      return turn;
    },
  };
}

class Refusal extends Error {
  readonly action: 'decline' | 'cancel';

  constructor(action: 'decline' | 'cancel') {
    super(action);
    this.action = action;
  }
}

async function ask(request: ElicitRequest, context: CliContext): Promise<ElicitAnswer> {
  const { stdin, stderr, noteStyle } = context;
  const terminal = 'setRawMode' in stdin;
  const lines = createInterface({ input: stdin, output: stderr, terminal });
  const gone = new Promise<never>((_, reject) => lines.once('close', () => reject(new Refusal('cancel'))));
  gone.catch(() => undefined);
  stderr.write(`\n${noteStyle.bold(printable(request.message))}\n`);
  stderr.write(noteStyle.dim('An empty line takes the default. !decline declines, !cancel or Ctrl-D cancels.\n'));
  try {
    for (;;) {
      const content = await askFields(request, { lines, gone, context });
      const problems = problemsOf(request.schema, content);
      if (problems.length === 0) return { action: 'accept', content };
      stderr.write(`${noteStyle.red(printable(problems.join('; ')))}\n`);
    }
  } catch (error) {
    if (error instanceof Refusal) return { action: error.action };
    throw error;
  } finally {
    lines.close();
  }
}

interface Conversation {
  readonly lines: Interface;
  readonly gone: Promise<never>;
  readonly context: CliContext;
}

async function askFields({ schema, signal }: ElicitRequest, conversation: Conversation): Promise<JsonObject> {
  const properties = objectOf(schema['properties']);
  const required = Array.isArray(schema['required']) ? (schema['required'] as readonly unknown[]) : [];
  const content: [string, JsonValue][] = [];
  for (const [name, property] of Object.entries(properties)) {
    const field = objectOf(property);
    const value = await askField(name, field, required.includes(name), signal, conversation);
    if (value !== undefined) content.push([name, value]);
  }
  return Object.fromEntries(content);
}

async function askField(
  name: string,
  field: JsonObject,
  required: boolean,
  signal: AbortSignal,
  { lines, gone, context }: Conversation,
): Promise<JsonValue | undefined> {
  for (;;) {
    const line = (await Promise.race([lines.question(prompt(name, field, required), { signal }), gone])).trim();
    if (line === '!decline' || line === '!cancel') throw new Refusal(line === '!decline' ? 'decline' : 'cancel');
    if (line === '') {
      if (field['default'] !== undefined) return field['default'];
      if (!required) return undefined;
    } else {
      const value = convert(line, field);
      if (value !== undefined) {
        const problems = problemsOf({ type: 'object', properties: { [name]: field } }, { [name]: value });
        if (problems.length === 0) return value;
        context.stderr.write(`${context.noteStyle.red(printable(problems.join('; ')))}\n`);
        continue;
      }
    }
    context.stderr.write(`${context.noteStyle.red(`Expected ${expectation(field)}.`)}\n`);
  }
}

function prompt(name: string, field: JsonObject, required: boolean): string {
  const title = typeof field['title'] === 'string' ? field['title'] : name;
  const fallback = field['default'];
  const notes = [
    expectation(field),
    ...(fallback === undefined ? (required ? [] : ['optional']) : [`default ${JSON.stringify(fallback)}`]),
  ];
  const description = typeof field['description'] === 'string' ? ` - ${field['description']}` : '';
  return printable(`${title}${description} (${notes.join(', ')}): `);
}

function expectation(field: JsonObject): string {
  const words = choices(field);
  if (words !== undefined) return words.map((word) => String(word)).join(' | ');
  switch (field['type']) {
    case 'boolean':
      return 'y/n';
    case 'integer':
      return `a whole number${range(field)}`;
    case 'number':
      return `a number${range(field)}`;
    case 'array':
    case 'object':
      return `JSON ${field['type']}`;
    default:
      return 'text';
  }
}

function range({ minimum, maximum }: JsonObject): string {
  if (typeof minimum === 'number') {
    return typeof maximum === 'number' ? ` from ${minimum} to ${maximum}` : ` from ${minimum}`;
  }
  return typeof maximum === 'number' ? ` up to ${maximum}` : '';
}

function choices(field: JsonObject): readonly JsonValue[] | undefined {
  if (Array.isArray(field['enum'])) return field['enum'] as readonly JsonValue[];
  const options = field['oneOf'];
  if (!Array.isArray(options)) return undefined;
  const constants = (options as readonly JsonValue[]).map((option) => objectOf(option)['const']);
  return constants.every((constant) => constant !== undefined) ? (constants as readonly JsonValue[]) : undefined;
}

/** The value that a line means, or `undefined`. */
function convert(line: string, field: JsonObject): JsonValue | undefined {
  const words = choices(field);
  if (words !== undefined) return words.find((word) => String(word).toLowerCase() === line.toLowerCase());
  switch (field['type']) {
    case 'boolean':
      return /^(?:y|yes|true)$/i.test(line) ? true : /^(?:n|no|false)$/i.test(line) ? false : undefined;
    case 'integer':
      return /^[+-]?\d+$/.test(line) ? Number(line) : undefined;
    case 'number':
      return Number.isFinite(Number(line)) ? Number(line) : undefined;
    case 'array':
    case 'object':
      return json(line);
    default:
      return line;
  }
}

function json(line: string): JsonValue | undefined {
  try {
    return JSON.parse(line) as JsonValue;
  } catch {
    return undefined;
  }
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}
