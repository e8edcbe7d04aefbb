import { TransportError } from './errors.js';

const UNITS_NS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['\u00B5s', 1_000n],
  ['\u03BCs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);
const MAX_NS = 2n ** 63n - 1n;
const PART = /(\d*)(?:\.(\d*))?(ns|us|\u00B5s|\u03BCs|ms|s|m|h)/y;

/**
 * Milliseconds of a duration in Go's grammar: `90s`, `1h30m`, `1.5h`, `500ms`, `-2s`, `0`. A bare number is refused.
 *
 * @throws TransportError `ERR_TRANSPORT_DURATION`.
 * @see https://pkg.go.dev/time#ParseDuration
 */
export function parseDuration(text: string): number {
  const refuse = () =>
    new TransportError(
      'ERR_TRANSPORT_DURATION',
      `${JSON.stringify(text)} is no duration; write for example 90s, 1h30m or 500ms`,
    );
  const negative = text.startsWith('-');
  const body = negative || text.startsWith('+') ? text.slice(1) : text;
  if (body === '0') return 0;
  if (body === '') throw refuse();
  let total = 0n;
  for (PART.lastIndex = 0; PART.lastIndex < body.length;) {
    const match = PART.exec(body);
    if (!match) throw refuse();
    const [, whole = '', fraction = '', unit = ''] = match;
    if (whole === '' && fraction === '') throw refuse();
    const scale = UNITS_NS.get(unit) ?? 1n;
    total += BigInt(whole || '0') * scale + (BigInt(fraction || '0') * scale) / 10n ** BigInt(fraction.length);
    if (total > MAX_NS) throw refuse();
  }
  return (negative ? -1 : 1) * (Number(total / 1_000_000n) + Number(total % 1_000_000n) / 1e6);
}

/** A duration as Go prints it: `1h30m0s`, `1m30s`, `1.5s`, `500ms`, `0s`. */
export function formatDuration(milliseconds: number): string {
  const size = Math.abs(milliseconds);
  const nanoseconds = BigInt(Math.trunc(size)) * 1_000_000n + BigInt(Math.round((size % 1) * 1e6));
  if (nanoseconds === 0n) return '0s';
  const sign = milliseconds < 0 ? '-' : '';
  if (nanoseconds < 1_000n) return `${sign}${nanoseconds}ns`;
  if (nanoseconds < 1_000_000n) return `${sign}${decimal(nanoseconds, 1_000n)}\u00B5s`;
  if (nanoseconds < 1_000_000_000n) return `${sign}${decimal(nanoseconds, 1_000_000n)}ms`;
  const hours = nanoseconds / 3_600_000_000_000n;
  const minutes = (nanoseconds / 60_000_000_000n) % 60n;
  const seconds = `${decimal(nanoseconds % 60_000_000_000n, 1_000_000_000n)}s`;
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}` : sign + seconds;
}

function decimal(value: bigint, unit: bigint): string {
  const fraction = (value % unit)
    .toString()
    .padStart(unit.toString().length - 1, '0')
    .replace(/0+$/, '');
  return `${value / unit}${fraction === '' ? '' : `.${fraction}`}`;
}
