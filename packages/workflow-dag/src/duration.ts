import { WorkflowError } from './errors.js';

const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['\u00B5s', 1_000n],
  ['\u03BCs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);
const MAX = 2n ** 63n;

/** The durations that a definition may have: no sign, no bare zero. */
export const DURATION_PATTERN = /^(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|\u00B5s|ms|s|m|h))+$/u;

/**
 * Reads a duration in Go's grammar, such as `1h30m` or `-1.5s`.
 *
 * @returns Nanoseconds.
 * @throws WorkflowError `ERR_WORKFLOW_DAG_DURATION` with Go's wording.
 * @see https://pkg.go.dev/time#ParseDuration
 */
export function parseDuration(text: string): bigint {
  const signed = /^[+-]/.test(text);
  const negative = text.startsWith('-');
  let rest = signed ? text.slice(1) : text;
  if (rest === '0') return 0n;
  if (rest === '') throw invalid(text);
  let total = 0n;
  while (rest !== '') {
    const number = /^([0-9]*)(\.([0-9]*))?/.exec(rest);
    const [matched = '', whole = '', , fraction = ''] = number ?? [];
    if (whole === '' && fraction === '') throw invalid(text);
    rest = rest.slice(matched.length);
    const unit = /^[^.0-9]*/.exec(rest)?.[0] ?? '';
    if (unit === '') throw failure(`time: missing unit in duration ${quote(text)}`, text);
    const scale = UNITS.get(unit);
    if (scale === undefined) throw failure(`time: unknown unit ${quote(unit)} in duration ${quote(text)}`, text);
    rest = rest.slice(unit.length);
    total += BigInt(whole === '' ? '0' : whole) * scale + fractionOf(fraction, scale);
    if (total > MAX) throw invalid(text);
  }
  if (negative) return -total;
  if (total === MAX) throw invalid(text);
  return total;
}

/** In floating point, as Go does it, so that the last nanosecond is the same. */
function fractionOf(digits: string, scale: bigint): bigint {
  const kept = digits.slice(0, 18);
  return kept === '' ? 0n : BigInt(Math.trunc(Number(kept) * (Number(scale) / 10 ** kept.length)));
}

/**
 * Prints nanoseconds as Go does: `1h30m0s`, `1.5s`, `100ms`, `0s`.
 *
 * @see https://pkg.go.dev/time#Duration.String
 */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s';
  const sign = nanoseconds < 0n ? '-' : '';
  const value = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (value < 1_000n) return `${sign}${value}ns`;
  if (value < 1_000_000n) return `${sign}${decimal(value, 3)}\u00B5s`;
  if (value < 1_000_000_000n) return `${sign}${decimal(value, 6)}ms`;
  const seconds = value / 1_000_000_000n;
  const hours = seconds / 3600n;
  const minutes = (seconds / 60n) % 60n;
  const tail = `${decimal(value - (seconds / 60n) * 60_000_000_000n, 9)}s`;
  if (hours > 0n) return `${sign}${hours}h${minutes}m${tail}`;
  return minutes > 0n ? `${sign}${minutes}m${tail}` : `${sign}${tail}`;
}

function decimal(value: bigint, places: number): string {
  const scale = 10n ** BigInt(places);
  const fraction = (value % scale).toString().padStart(places, '0').replace(/0+$/, '');
  return fraction === '' ? `${value / scale}` : `${value / scale}.${fraction}`;
}

/** Nanoseconds as whole milliseconds: rounded down, but never from something to nothing. */
export function toMilliseconds(nanoseconds: bigint): number {
  if (nanoseconds <= 0n) return 0;
  return Math.max(1, Number(nanoseconds / 1_000_000n));
}

/** Milliseconds as Go prints them, for messages such as `timed out after 5m0s`. */
export function formatMilliseconds(milliseconds: number): string {
  const whole = Math.trunc(milliseconds);
  return formatDuration(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1e6)));
}

function invalid(text: string): WorkflowError {
  return failure(`time: invalid duration ${quote(text)}`, text);
}

function failure(message: string, text: string): WorkflowError {
  return new WorkflowError('ERR_WORKFLOW_DAG_DURATION', message, { details: { text } });
}

function quote(text: string): string {
  return JSON.stringify(text);
}
