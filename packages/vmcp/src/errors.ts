/** Codes of {@link VmcpError}; docs/errors.md tells meaning and remedy of each. */
export type VmcpErrorCode =
  | 'ERR_VMCP_ARGUMENT'
  | 'ERR_VMCP_SERVERS_FILE'
  | 'ERR_VMCP_VARIABLE'
  | 'ERR_VMCP_CONNECT'
  | 'ERR_VMCP_CALL'
  | 'ERR_VMCP_CLOSED';

/** What is known about an error besides its text. */
export interface VmcpErrorOptions extends ErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>;
  /** `false`: another attempt would fail in the same way. */
  readonly retryable?: boolean;
}

/** Every error that this package throws on purpose. */
export class VmcpError extends Error {
  override readonly name = 'VmcpError';
  readonly code: VmcpErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryable: boolean;

  constructor(
    code: VmcpErrorCode,
    message: string,
    { details = {}, retryable = true, ...rest }: VmcpErrorOptions = {},
  ) {
    super(message, rest);
    this.code = code;
    this.details = details;
    this.retryable = retryable;
  }

  /** Tells whether an error is one of this package, optionally one with the given code. */
  static is(error: unknown, code?: VmcpErrorCode): error is VmcpError {
    return error instanceof VmcpError && (code === undefined || error.code === code);
  }
}
