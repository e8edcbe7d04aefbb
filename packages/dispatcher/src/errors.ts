/** Every code that this package throws with; the table in `docs/errors.md` explains each. */
export type DispatcherErrorCode = 'ERR_DISPATCHER_ARGUMENT' | 'ERR_DISPATCHER_CLOSED' | 'ERR_DISPATCHER_HANDSHAKE';

/** The one error class of this package. Failures of single requests are no exceptions: clients get them as answers. */
export class DispatcherError extends Error {
  readonly code: DispatcherErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: DispatcherErrorCode,
    message: string,
    options: { readonly details?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'DispatcherError';
    this.code = code;
    this.details = options.details ?? {};
  }

  /** True for an error of this class, also across two copies of the package. */
  static is(error: unknown): error is DispatcherError {
    return error instanceof Error && error.name === 'DispatcherError' && 'code' in error;
  }
}
