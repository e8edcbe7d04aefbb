import { Aborted } from './budget.js';
import { compileTrees } from './compile.js';
import { GoTemplateError, isStackOverflow } from './errors.js';
import { isFunction } from './evaluate.js';
import { toCallables, type Callable, type TemplateFunctions } from './function.js';
import { Machine, MAX_TEMPLATE_DEPTH, type MissingKey, type Program } from './machine.js';
import { Parser, type Trees } from './parse.js';
import { toOutput, wellFormed } from './text.js';

/** How a source is read. */
export interface ParseOptions {
  /**
   * The template's name, which errors show and `{{template}}` can call.
   *
   * @defaultValue `'template'`
   */
  readonly name?: string;
  /**
   * Functions beside Go's own, which they replace where the names are the same.
   *
   * @defaultValue none
   */
  readonly functions?: TemplateFunctions;
  /**
   * What a key that a map does not have gives: no value, a nil interface, or an error.
   *
   * @see https://pkg.go.dev/text/template#Template.Option
   * @defaultValue `'default'`
   */
  readonly missingKey?: MissingKey;
}

/** What an execution may cost. */
export interface ExecuteOptions {
  /** Looked at before the execution and during it; its reason is thrown. */
  readonly signal?: AbortSignal;
  /**
   * Bytes (UTF-8) of output, and of any text made on the way.
   *
   * @defaultValue 10 MiB
   */
  readonly maxOutputBytes?: number;
  /**
   * Steps: actions, turns of loops, calls, and work on large values in proportion to their size.
   *
   * @defaultValue 1,000,000
   */
  readonly maxSteps?: number;
}

/** A template that was read and can be executed any number of times. */
export interface Template {
  readonly name: string;
  /**
   * Renders the template.
   *
   * @param data - What `.` is at first; plain JSON values, maps, `bigint` for Go's int. It is not changed.
   * @returns Well-formed text; bytes that are no UTF-8 have become U+FFFD.
   * @throws {@link GoTemplateError} `ERR_GO_TEMPLATE_EXEC` with Go's message, `ERR_GO_TEMPLATE_OUTPUT` and
   *   `ERR_GO_TEMPLATE_STEPS` for a limit, `ERR_GO_TEMPLATE_DEPTH` for data or templates nested too deeply,
   *   `ERR_GO_TEMPLATE_ARGUMENT` for a wrong option.
   */
  execute(data?: unknown, options?: ExecuteOptions): string;
}

const MAX_OUTPUT_BYTES = 10 * 1024 * 1024;
const MAX_STEPS = 1_000_000;

/** A private field and not a `WeakMap`: entries of the latter cost the collector more than the whole parsing. */
class ParsedTemplate implements Template {
  readonly name: string;
  readonly #program: Program;
  readonly #trees: Trees;

  constructor(program: Program, trees: Trees) {
    this.name = program.name;
    this.#program = program;
    this.#trees = trees;
  }

  static treesOf(template: Template): Trees | undefined {
    return #trees in template ? template.#trees : undefined;
  }

  execute(data?: unknown, options?: ExecuteOptions): string {
    return execute(this.#program, data, options);
  }
}

/**
 * The trees of a template, for tools that look for what it reads or calls. They belong to the template: change nothing.
 *
 * @returns By name: the template itself under {@link Template.name}, and all that it defines.
 * @throws {@link GoTemplateError} `ERR_GO_TEMPLATE_ARGUMENT` for something that `parseTemplate` did not make.
 */
export function templateTrees(template: Template): Trees {
  const isObject = typeof template === 'object' && template !== null;
  return (
    (isObject ? ParsedTemplate.treesOf(template) : undefined) ??
    refuse('template', 'a template made by `parseTemplate`', template)
  );
}

function refuse(name: string, expected: string, value: unknown): never {
  const shown = typeof value === 'object' && value !== null ? 'an object' : `\`${String(value)}\` (${typeof value})`;
  throw new GoTemplateError('ERR_GO_TEMPLATE_ARGUMENT', `Expected \`${name}\` to be ${expected}, got ${shown}`, {
    details: { argument: name },
  });
}

function checkLimit(name: string, value: unknown): void {
  if (!Number.isSafeInteger(value) || (value as number) < 1) refuse(name, 'a positive integer', value);
}

function read(
  name: string,
  source: string,
  missingKey: MissingKey,
  functions: ReadonlyMap<string, Callable>,
): ParsedTemplate {
  try {
    const trees = new Parser(name, source, (word) => isFunction(word, functions)).parse();
    return new ParsedTemplate({ name, source, missingKey, bodies: compileTrees(trees, functions) }, trees);
  } catch (error) {
    if (!isStackOverflow(error)) throw error;
    throw new GoTemplateError('ERR_GO_TEMPLATE_DEPTH', `template: ${name}: nested too deeply; flatten it`, {
      cause: error,
    });
  }
}

/**
 * Reads the source of a Go template.
 *
 * @throws {@link GoTemplateError} `ERR_GO_TEMPLATE_PARSE` with Go's message and line, `ERR_GO_TEMPLATE_DEPTH`,
 *   `ERR_GO_TEMPLATE_ARGUMENT`
 * @see https://pkg.go.dev/text/template
 */
export function parseTemplate(source: string, options: ParseOptions = {}): Template {
  const { name = 'template', functions = {}, missingKey = 'default' } = options;
  if (typeof source !== 'string') refuse('source', 'a string', source);
  if (typeof name !== 'string') refuse('name', 'a string', name);
  if (typeof functions !== 'object' || functions === null) refuse('functions', 'an object', functions);
  if (!['default', 'zero', 'error'].includes(missingKey))
    refuse('missingKey', "'default', 'zero' or 'error'", missingKey);
  return read(name, wellFormed(source), missingKey, toCallables(functions));
}

function execute(program: Program, data: unknown, options: ExecuteOptions = {}): string {
  const { signal, maxOutputBytes = MAX_OUTPUT_BYTES, maxSteps = MAX_STEPS } = options;
  checkLimit('maxOutputBytes', maxOutputBytes);
  checkLimit('maxSteps', maxSteps);
  signal?.throwIfAborted();
  const machine = new Machine(program, data, { maxOutputBytes, maxSteps, signal });
  try {
    program.bodies.get(program.name)?.(machine);
    return toOutput(machine.output);
  } catch (error) {
    if (error instanceof Aborted) throw error.reason;
    if (!isStackOverflow(error)) throw error;
    throw overflow(machine, error);
  }
}

/** A stack that is full before the templates are as deep as they may be. */
function overflow({ program, template, depth }: Machine, cause: unknown): GoTemplateError {
  const limit =
    depth > 1 ? `exceeded maximum template depth (${Math.min(depth, MAX_TEMPLATE_DEPTH)})` : 'nested too deeply';
  return new GoTemplateError(
    'ERR_GO_TEMPLATE_DEPTH',
    `template: ${program.name}: executing "${template}": ${limit}; flatten it`,
    {
      cause,
      details: { template, depth },
    },
  );
}
