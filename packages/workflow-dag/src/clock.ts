import { randomUUID } from 'node:crypto';
import type { Clock, Random } from './ports.js';

/** Node fires a timer above this at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

function setTimer(delayMs: number, callback: () => void): () => void {
  let handle: NodeJS.Timeout;
  const arm = (left: number): void => {
    handle =
      left > LONGEST_TIMER_MS
        ? setTimeout(() => arm(left - LONGEST_TIMER_MS), LONGEST_TIMER_MS)
        : setTimeout(callback, Math.max(0, left));
  };
  arm(delayMs);
  return () => clearTimeout(handle);
}

/** The clock of the machine. Timers of any length work: long ones are chained. */
export const systemClock: Clock = { now: () => Date.now(), setTimer };

/** The randomness of the machine. */
export const systemRandom: Random = { next: () => Math.random(), uuid: () => randomUUID() };

interface Repeating {
  readonly clock: Clock;
  readonly random: Random;
  report(error: unknown): void;
}

/** Calls again and again, with a fifth of jitter: engines that started together must not ask together for ever. */
export function repeat(
  { clock, random, report }: Repeating,
  intervalMs: number,
  call: () => Promise<unknown>,
): () => void {
  let stopped = false;
  let stop: () => void = () => undefined;
  const plan = (): void => {
    if (stopped) return;
    stop = clock.setTimer(intervalMs * (0.8 + 0.4 * random.next()), () => {
      call().catch(report).finally(plan);
    });
  };
  plan();
  return () => {
    stopped = true;
    stop();
  };
}
