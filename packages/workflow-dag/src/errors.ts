/** Codes of {@link WorkflowError}; docs/errors.md tells meaning and remedy of each. */
export type WorkflowErrorCode =
  // Arguments of a function of this package.
  | 'ERR_WORKFLOW_DAG_ARGUMENT'
  // Reading a definition.
  | 'ERR_WORKFLOW_DAG_SYNTAX'
  | 'ERR_WORKFLOW_DAG_NOT_FOUND'
  | 'ERR_WORKFLOW_DAG_AMBIGUOUS'
  | 'ERR_WORKFLOW_DAG_INVALID'
  | 'ERR_WORKFLOW_DAG_CYCLE'
  | 'ERR_WORKFLOW_DAG_DURATION'
  | 'ERR_WORKFLOW_DAG_PARAMETERS'
  // Running it.
  | 'ERR_WORKFLOW_DAG_RUN_NOT_FOUND'
  | 'ERR_WORKFLOW_DAG_RUN_FINAL'
  | 'ERR_WORKFLOW_DAG_CONFLICT'
  | 'ERR_WORKFLOW_DAG_BUSY'
  | 'ERR_WORKFLOW_DAG_LIMIT'
  | 'ERR_WORKFLOW_DAG_CLOSED'
  | 'ERR_WORKFLOW_DAG_TEMPLATE'
  | 'ERR_WORKFLOW_DAG_CONDITION'
  | 'ERR_WORKFLOW_DAG_ROUTING'
  | 'ERR_WORKFLOW_DAG_TOOL'
  | 'ERR_WORKFLOW_DAG_ITERATION'
  | 'ERR_WORKFLOW_DAG_ELICITATION'
  | 'ERR_WORKFLOW_DAG_TRANSFORM'
  | 'ERR_WORKFLOW_DAG_OUTPUT'
  | 'ERR_WORKFLOW_DAG_TIMEOUT'
  | 'ERR_WORKFLOW_DAG_CANCELLED'
  | 'ERR_WORKFLOW_DAG_IN_DOUBT'
  // Keeping its state.
  | 'ERR_WORKFLOW_DAG_LEASE_LOST'
  | 'ERR_WORKFLOW_DAG_STORE'
  | 'ERR_WORKFLOW_DAG_DRIVER';

/** What is known about an error besides its text. */
export interface WorkflowErrorOptions extends ErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Every error that this package throws on purpose. */
export class WorkflowError extends Error {
  override readonly name = 'WorkflowError';
  readonly code: WorkflowErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: WorkflowErrorCode, message: string, { details = {}, ...rest }: WorkflowErrorOptions = {}) {
    super(message, rest);
    this.code = code;
    this.details = details;
  }

  /** Tells whether an error is one of this package, optionally one with the given code. */
  static is(error: unknown, code?: WorkflowErrorCode): error is WorkflowError {
    return error instanceof WorkflowError && (code === undefined || error.code === code);
  }
}
