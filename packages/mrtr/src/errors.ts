/** What can go wrong, see `docs/errors.md`. */
export type MrtrErrorCode =
  | 'ERR_MRTR_ARGUMENT'
  | 'ERR_MRTR_ASK'
  | 'ERR_MRTR_STATE_SIZE'
  | 'ERR_MRTR_STORE'
  | 'ERR_MRTR_PROTOCOL'
  | 'ERR_MRTR_ROUNDS'
  | 'ERR_MRTR_TIMEOUT'
  | 'ERR_MRTR_UNANSWERED'
  | 'ERR_MRTR_TOKEN';

/** The error of this package. */
export class MrtrError extends Error {
  readonly code: MrtrErrorCode;
  /** What the message is about, by name. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: MrtrErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'MrtrError';
    this.code = code;
    this.details = options.details ?? {};
  }

  /** Whether a value is such an error, of one code where that is given. */
  static is(value: unknown, code?: MrtrErrorCode): value is MrtrError {
    return value instanceof MrtrError && (code === undefined || value.code === code);
  }
}
