const FACTOR = 1.5;
const CAP_MS = 60_000;
/** No retry starts later than this after the first attempt. */
const BUDGET_MS = 15 * 60_000;
/** More retries than this are not made, whatever a definition asks for. */
export const MAX_RETRIES = 10;
export const DEFAULT_RETRY_DELAY_MS = 1000;

/** How the delay between attempts is capped: at 60 seconds, or with `go` at 60 times the first delay. */
export type RetryCap = '60s' | 'go';

/** How a step is retried. */
export interface RetryPolicy {
  /** Attempts after the first. */
  readonly retries: number;
  readonly initialDelayMs: number;
  readonly cap: RetryCap;
}

/** A policy that never retries. */
export const NO_RETRY: RetryPolicy = { retries: 0, initialDelayMs: DEFAULT_RETRY_DELAY_MS, cap: '60s' };

/**
 * Milliseconds to wait after the failed attempt `attempt` (from 1): the first delay times 1.5 for each attempt, capped,
 * then anything from half to one and a half of it, so that many clients do not come back at the same moment.
 */
export function retryDelay(policy: RetryPolicy, attempt: number, random: number): number {
  const { initialDelayMs, cap } = policy;
  const ceiling = cap === 'go' ? initialDelayMs * 60 : Math.max(CAP_MS, initialDelayMs);
  return Math.min(initialDelayMs * FACTOR ** (attempt - 1), ceiling) * (0.5 + random);
}

/**
 * Decides what follows a failed attempt: milliseconds to wait, or undefined when it was the last.
 *
 * @param elapsedMs - Time since the first attempt began.
 */
export function nextDelay(
  policy: RetryPolicy,
  failed: { readonly attempt: number; readonly elapsedMs: number; readonly error: unknown },
  random: () => number,
): number | undefined {
  if (failed.attempt > policy.retries || !isRetryable(failed.error)) return undefined;
  const delay = Math.max(retryDelay(policy, failed.attempt, random()), retryAfterMs(failed.error));
  return failed.elapsedMs + delay > BUDGET_MS ? undefined : delay;
}

/** JSON-RPC errors that no repetition cures: invalid request, method, params. */
const HOPELESS_CODES = new Set<unknown>([-32600, -32601, -32602, 401, 403]);

function property(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? (error as Record<string, unknown>)[name] : undefined;
}

/** False for an error that says `retryable: false` or whose code says that the call itself is wrong or not allowed. */
export function isRetryable(error: unknown): boolean {
  const stated = property(error, 'retryable');
  if (typeof stated === 'boolean') return stated;
  return !HOPELESS_CODES.has(property(error, 'code')) && !HOPELESS_CODES.has(property(error, 'status'));
}

function retryAfterMs(error: unknown): number {
  const stated = property(error, 'retryAfterMs');
  return typeof stated === 'number' && Number.isFinite(stated) && stated > 0 ? stated : 0;
}
