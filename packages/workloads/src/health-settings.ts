import { parseDuration } from '@thv/transport';
import type { HealthOptions } from '@thv/transport';
import type { Environment } from './environment.js';

const durations = [
  ['TOOLHIVE_HEALTH_CHECK_INTERVAL', 'intervalMs'],
  ['TOOLHIVE_HEALTH_CHECK_PING_TIMEOUT', 'pingTimeoutMs'],
  ['TOOLHIVE_HEALTH_CHECK_RETRY_DELAY', 'retryDelayMs'],
] as const;
const thresholdName = 'TOOLHIVE_HEALTH_CHECK_FAILURE_THRESHOLD';

/** How a server that speaks HTTP is looked at; a value that cannot be used is told, and the default is used. */
export function healthSettings(env: Environment, warn: (text: string) => void): HealthOptions {
  const result: { -readonly [Key in keyof HealthOptions]: HealthOptions[Key] } = {};
  for (const [name, key] of durations) {
    const text = env[name];
    if (text === undefined || text === '') continue;
    const milliseconds = durationOf(text);
    if (milliseconds > 0) result[key] = milliseconds;
    else warn(`${name} is no positive duration ("${text}"); the default is used`);
  }
  const text = env[thresholdName];
  if (text !== undefined && text !== '') {
    if (/^[1-9]\d{0,5}$/.test(text)) result.failureThreshold = Number(text);
    else warn(`${thresholdName} is no positive whole number ("${text}"); the default is used`);
  }
  return result;
}

/** Whether remote servers are looked at: only where somebody asked for it. */
export const looksAtRemotes = (env: Environment): boolean =>
  /^(?:true|1)$/i.test(env['TOOLHIVE_REMOTE_HEALTHCHECKS'] ?? '');

function durationOf(text: string): number {
  try {
    return Math.round(parseDuration(text));
  } catch {
    return 0;
  }
}
