import { requireInteger } from '../arguments.js';

/** How a server that ended by itself is started again. */
export interface RestartOptions {
  /** Delay before the first restart; doubled for each further one. @defaultValue 5000 */
  readonly initialDelayMs?: number;
  /** @defaultValue 60000 */
  readonly maxDelayMs?: number;
  /** Restarts in a row before the connection gives up. @defaultValue 10 */
  readonly maxAttempts?: number;
  /** A server that lived this long starts the count anew. @defaultValue 30000 */
  readonly resetAfterMs?: number;
}

/** Counts restarts and says how long to wait. */
export interface Backoff {
  /** Delay before the next start, or `undefined` when it gives up. */
  next(livedMs: number): number | undefined;
}

/** A back-off of doubling delays. */
export function createBackoff(options: RestartOptions = {}): Backoff {
  const { initialDelayMs = 5_000, maxDelayMs = 60_000, maxAttempts = 10, resetAfterMs = 30_000 } = options;
  requireInteger('restart.initialDelayMs', initialDelayMs, 0);
  requireInteger('restart.maxDelayMs', maxDelayMs, 0);
  requireInteger('restart.maxAttempts', maxAttempts, 0);
  requireInteger('restart.resetAfterMs', resetAfterMs, 0);
  let attempts = 0;
  return {
    next(livedMs) {
      if (livedMs >= resetAfterMs) attempts = 0;
      if (attempts >= maxAttempts) return undefined;
      attempts += 1;
      return Math.min(initialDelayMs * 2 ** (attempts - 1), maxDelayMs);
    },
  };
}
