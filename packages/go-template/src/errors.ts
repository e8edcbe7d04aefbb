/** Every code that this package throws with; the table in `docs/errors.md` explains each. */
export type GoTemplateErrorCode =
  | 'ERR_GO_TEMPLATE_ARGUMENT'
  | 'ERR_GO_TEMPLATE_PARSE'
  | 'ERR_GO_TEMPLATE_EXEC'
  | 'ERR_GO_TEMPLATE_OUTPUT'
  | 'ERR_GO_TEMPLATE_STEPS'
  | 'ERR_GO_TEMPLATE_DEPTH';

/** Where in the source an error was found. */
export interface GoTemplateErrorPlace {
  /** Line, from 1. */
  readonly line?: number | undefined;
  /** Bytes (UTF-8) between the start of the line and the node, from 0. Only known for errors of an execution. */
  readonly column?: number | undefined;
}

/**
 * The one error class of this package. The message of a parse or execution error is the text that Go prints for the
 * same template and data.
 */
export class GoTemplateError extends Error {
  readonly code: GoTemplateErrorCode;
  /** Line in the source, from 1, where there is one. */
  readonly line: number | undefined;
  /** Offset in that line in bytes, from 0, where there is one. */
  readonly column: number | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: GoTemplateErrorCode,
    message: string,
    options: GoTemplateErrorPlace & {
      readonly details?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GoTemplateError';
    this.code = code;
    this.line = options.line;
    this.column = options.column;
    this.details = options.details ?? {};
  }

  /** True for an error of this class, also across two copies of the package. */
  static is(error: unknown): error is GoTemplateError {
    return error instanceof Error && error.name === 'GoTemplateError' && 'code' in error;
  }
}

/** What is nested too deeply to be handled. */
export function tooDeep(problem: string): GoTemplateError {
  return new GoTemplateError('ERR_GO_TEMPLATE_DEPTH', `${problem}; flatten it`, { details: { problem } });
}

/** True for the error of a JavaScript stack that is full. */
export function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && /call stack/i.test(error.message);
}
