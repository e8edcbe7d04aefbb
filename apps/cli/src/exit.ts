/** What the program answers to the shell; scripts rely on these numbers. */
export const exitCodes = {
  success: 0,
  /** Any error, wrong usage included. */
  error: 1,
  /** A check found something: drift, a stale lock, an update. */
  check: 2,
  /** The operation failed for some or all targets. */
  operational: 3,
  /** A policy said no. */
  refused: 4,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
