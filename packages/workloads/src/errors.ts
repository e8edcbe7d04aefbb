/** Every code that this package throws with; the table in `docs/errors.md` explains each. */
export type WorkloadsErrorCode =
  | 'ERR_WORKLOADS_ARGUMENT'
  | 'ERR_WORKLOADS_NAME'
  | 'ERR_WORKLOADS_NAME_IN_USE'
  | 'ERR_WORKLOADS_NOT_FOUND'
  | 'ERR_WORKLOADS_FILE'
  | 'ERR_WORKLOADS_UNSUPPORTED'
  | 'ERR_WORKLOADS_ENV'
  | 'ERR_WORKLOADS_PACKAGE'
  | 'ERR_WORKLOADS_GROUP_NOT_FOUND'
  | 'ERR_WORKLOADS_GROUP_EXISTS'
  | 'ERR_WORKLOADS_GROUP_DEFAULT'
  | 'ERR_WORKLOADS_COMMAND'
  | 'ERR_WORKLOADS_PORT'
  | 'ERR_WORKLOADS_START'
  | 'ERR_WORKLOADS_ALREADY_RUNNING'
  | 'ERR_WORKLOADS_STOP';

/** What else is known of an error. */
export interface WorkloadsErrorDetails {
  /** What to do about it, as one sentence or command. */
  readonly hint?: string;
  /** The file that is at fault, and the line in it. */
  readonly file?: string;
  readonly line?: number;
  /** The last lines that the server wrote to stderr. */
  readonly stderrTail?: readonly string[];
  readonly [key: string]: unknown;
}

/** The one error class of this package. */
export class WorkloadsError extends Error {
  readonly code: WorkloadsErrorCode;
  readonly details: WorkloadsErrorDetails;

  constructor(
    code: WorkloadsErrorCode,
    message: string,
    options: { readonly details?: WorkloadsErrorDetails; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'WorkloadsError';
    this.code = code;
    this.details = options.details ?? {};
  }

  /** True for an error of this class, also across two copies of the package. */
  static is(error: unknown): error is WorkloadsError {
    return error instanceof Error && error.name === 'WorkloadsError' && 'code' in error;
  }
}
