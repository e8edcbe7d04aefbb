/** Go's grammar of numbers. */

const INTEGER = /^[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)$/;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const HEXADECIMAL = /^([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)$/;

/**
 * The integer that a Go literal stands for, of any size, or undefined where the text is none.
 *
 * @see https://go.dev/ref/spec#Integer_literals
 */
export function parseInteger(text: string): bigint | undefined {
  if (!INTEGER.test(text)) return undefined;
  const negative = text.startsWith('-');
  const digits = text.replace(/^[+-]/, '').replaceAll('_', '');
  // `BigInt` knows 0x, 0o and 0b, but not C's octal.
  const value = BigInt(/^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits);
  return negative ? -value : value;
}

/** Underscores must stand between digits, or between a base prefix and a digit. */
function underscoresFit(text: string): boolean {
  if (!text.includes('_')) return true;
  const body = text.replace(/^[+-]/, '');
  const prefixed = /^0[xX]/.test(body);
  const digit = prefixed ? /[0-9a-fA-F]/ : /\d/;
  const rest = prefixed ? body.slice(2) : body;
  for (let i = 0; i < rest.length; i += 1) {
    if (rest[i] !== '_') continue;
    if (!(i === 0 ? prefixed : digit.test(rest[i - 1] ?? '')) || !digit.test(rest[i + 1] ?? '')) return false;
  }
  return true;
}

/** Rounds `mantissa * 2 ** exponent` to the nearest float64, ties to even. */
function scale(mantissa: bigint, exponent: number): number {
  if (mantissa === 0n) return 0;
  const bits = mantissa.toString(2).length;
  const top = bits + exponent;
  if (top > 1100) return Number.POSITIVE_INFINITY;
  if (top < -1100) return 0;
  // 53 significant bits, fewer where the number is too small to be normal.
  const excess = Math.max(bits - 53, -1074 - exponent);
  if (excess <= 0) return Number(mantissa) * 2 ** exponent;
  const shift = BigInt(excess);
  const half = 1n << (shift - 1n);
  const rest = mantissa & ((1n << shift) - 1n);
  let kept = mantissa >> shift;
  if (rest > half || (rest === half && (kept & 1n) === 1n)) kept += 1n;
  const power = exponent + excess;
  // 2 ** 1024 is no number, but half of it times an even mantissa may be.
  return power > 970 ? Number(kept) * 2 ** 970 * 2 ** (power - 970) : Number(kept) * 2 ** power;
}

/**
 * The float64 that a Go literal stands for. Infinite where it is out of range, undefined where the text is none.
 *
 * @see https://pkg.go.dev/strconv#ParseFloat
 */
export function parseFloat64(text: string): number | undefined {
  if (!underscoresFit(text)) return undefined;
  const plain = text.replaceAll('_', '');
  if (DECIMAL.test(plain)) return Number(plain);
  const parts = HEXADECIMAL.exec(plain);
  if (parts === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  if (whole === '' && fraction === '') return undefined;
  const value = scale(BigInt(`0x${whole}${fraction}`), Number(exponent) - 4 * fraction.length);
  return sign === '-' ? -value : value;
}
