import { requireInteger } from '../arguments.js';
import type { Clock } from '../ports.js';

/** How a server is looked at. */
export interface HealthOptions {
  /** @defaultValue 10000 */
  readonly intervalMs?: number;
  /** @defaultValue 5000 */
  readonly pingTimeoutMs?: number;
  /** Time between a look that failed and the next one, where one follows. @defaultValue 5000 */
  readonly retryDelayMs?: number;
  /** As many intervals in a row may fail; the last one ends it. @defaultValue 5 */
  readonly failureThreshold?: number;
  /** Without an answer to a client by then, the server counts as failed. @defaultValue none */
  readonly startDeadlineMs?: number;
  /** The server failed for good. Called once. */
  readonly onFailed?: (reason: string) => void;
}

/** What the last look found. */
export interface HealthLook {
  readonly isAlive: boolean;
  readonly error?: string;
  readonly responseTimeMs: number;
  readonly at: Date;
}

/** Looks at a server, from its first answer on. */
export interface HealthMonitor {
  readonly last: HealthLook | undefined;
  readonly failures: number;
  readonly hasFailed: boolean;
  /** The server answered: looking begins. */
  begin(): void;
  close(): void;
}

/**
 * Looks at a server in intervals. One failure is looked into again after a delay; a success in between starts the count
 * anew; the failure that reaches the threshold is told, and looking ends.
 *
 * @throws TransportError `ERR_TRANSPORT_ARGUMENT`.
 */
export function createHealthMonitor(
  /** Resolves when the server lives, rejects with the reason otherwise. */
  ping: (signal: AbortSignal) => Promise<void>,
  options: HealthOptions & { readonly clock: Clock },
): HealthMonitor {
  const { clock, onFailed } = options;
  const intervalMs = requireInteger('intervalMs', options.intervalMs ?? 10_000, 1);
  const pingTimeoutMs = requireInteger('pingTimeoutMs', options.pingTimeoutMs ?? 5_000, 1);
  const retryDelayMs = requireInteger('retryDelayMs', options.retryDelayMs ?? 5_000, 0);
  const threshold = requireInteger('failureThreshold', options.failureThreshold ?? 5, 1);
  let cancel: (() => void) | undefined;
  let last: HealthLook | undefined;
  let failures = 0;
  let hasFailed = false;
  let isOpen = true;
  let hasBegun = false;

  async function look(): Promise<boolean> {
    const started = clock.now();
    const controller = new AbortController();
    const cancelTimeout = clock.setTimer(pingTimeoutMs, () =>
      controller.abort(new Error(`no answer within ${pingTimeoutMs / 1000} s`)),
    );
    const found = await ping(controller.signal).then(
      () => ({ isAlive: true }),
      (error: unknown) => ({ isAlive: false, error: error instanceof Error ? error.message : String(error) }),
    );
    cancelTimeout();
    last = { ...found, responseTimeMs: Math.round(clock.now() - started), at: new Date() };
    return found.isAlive;
  }

  function fail(reason: string): void {
    hasFailed = true;
    close();
    onFailed?.(reason);
  }

  async function round(): Promise<void> {
    if (await look()) {
      failures = 0;
    } else if (isOpen) {
      failures += 1;
      if (failures >= threshold) {
        fail(`the server did not answer ${failures} times in a row: ${last?.error ?? ''}`);
        return;
      }
      await new Promise<void>((resolve) => {
        cancel = clock.setTimer(retryDelayMs, resolve);
      });
      // A look between two rounds forgives, and does not count.
      if (isOpen && (await look())) failures = 0;
    }
    schedule();
  }

  function schedule(): void {
    if (isOpen) cancel = clock.setTimer(intervalMs, () => void round());
  }

  function close(): void {
    isOpen = false;
    cancel?.();
  }

  if (options.startDeadlineMs !== undefined) {
    const ms = requireInteger('startDeadlineMs', options.startDeadlineMs, 1);
    cancel = clock.setTimer(ms, () => fail(`the server answered no client within ${ms / 1000} s`));
  }
  return {
    get last() {
      return last;
    },
    get failures() {
      return failures;
    },
    get hasFailed() {
      return hasFailed;
    },
    begin() {
      if (hasBegun || !isOpen) return;
      hasBegun = true;
      cancel?.();
      schedule();
    },
    close,
  };
}
