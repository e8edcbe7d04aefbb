import { setTimeout } from 'node:timers/promises';
import type { Clock } from './types.js';

/** The system's time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(milliseconds, signal) {
    try {
      await setTimeout(milliseconds, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      throw signal?.aborted === true ? signal.reason : error;
    }
  },
};
