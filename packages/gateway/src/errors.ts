/** Every code that this package throws with; the table in `docs/errors.md` explains each. */
export type GatewayErrorCode = 'ERR_GATEWAY_ARGUMENT' | 'ERR_GATEWAY_CLOSED' | 'ERR_GATEWAY_NOT_READY';

/** The one error class of this package. */
export class GatewayError extends Error {
  readonly code: GatewayErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: GatewayErrorCode,
    message: string,
    options: { readonly details?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.details = options.details ?? {};
  }

  /** True for an error of this class, also across two copies of the package. */
  static is(error: unknown): error is GatewayError {
    return error instanceof Error && error.name === 'GatewayError' && 'code' in error;
  }
}
