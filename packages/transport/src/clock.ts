import type { Clock } from './ports.js';

/** The longest delay that the system's timers take; longer ones fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

/** Monotonic system time and timers. A timer does not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer(delayMs, callback) {
    let timer: NodeJS.Timeout;
    const arm = (left: number): void => {
      const step = Math.min(left, MAX_TIMER_MS);
      timer = setTimeout(() => (left > step ? arm(left - step) : callback()), step);
      timer.unref();
    };
    arm(Math.max(0, delayMs));
    return () => clearTimeout(timer);
  },
};
