/** Every code that this package throws with; the table in `docs/errors.md` explains each. */
export type TransportErrorCode =
  | 'ERR_TRANSPORT_ARGUMENT'
  | 'ERR_TRANSPORT_JSON'
  | 'ERR_TRANSPORT_MESSAGE'
  | 'ERR_TRANSPORT_SPAWN'
  | 'ERR_TRANSPORT_ADDRESS_IN_USE'
  | 'ERR_TRANSPORT_LISTEN'
  | 'ERR_TRANSPORT_DURATION'
  | 'ERR_TRANSPORT_SESSION_STORE';

/** The one error class of this package. */
export class TransportError extends Error {
  readonly code: TransportErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: TransportErrorCode,
    message: string,
    options: { readonly details?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TransportError';
    this.code = code;
    this.details = options.details ?? {};
  }

  /** True for an error of this class, also across two copies of the package. */
  static is(error: unknown): error is TransportError {
    return error instanceof Error && error.name === 'TransportError' && 'code' in error;
  }
}
