/** Go's text of a float64. */

/** Significant digits without trailing zeros, and where the decimal point stands among them. */
interface Digits {
  readonly digits: string;
  readonly point: number;
}

const ZERO: Digits = { digits: '', point: 0 };
/** No float64 has more significant digits than this, or more digits after the point than 1,074. */
const MAX_SIGNIFICANT = 800;
const MAX_FRACTION = 1100;

const bits = new DataView(new ArrayBuffer(8));

/** A finite, positive number as `mantissa * 2 ** exponent`. */
function split(value: number): { mantissa: bigint; exponent: number } {
  bits.setFloat64(0, value);
  const raw = bits.getBigUint64(0);
  const biased = Number((raw >> 52n) & 0x7ffn);
  const fraction = raw & 0xfffffffffffffn;
  return biased === 0
    ? { mantissa: fraction, exponent: -1074 }
    : { mantissa: fraction | 0x10000000000000n, exponent: biased - 1075 };
}

function trim(digits: string, point: number): Digits {
  const trimmed = digits.replace(/0+$/, '');
  return trimmed === '' ? ZERO : { digits: trimmed, point };
}

/** The shortest digits that read back as the same number; JavaScript and Go agree on them. */
function shortest(value: number): Digits {
  if (value === 0) return ZERO;
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  return { digits: mantissa.replace('.', ''), point: Number(exponent) + 1 };
}

/** `value * 10 ** power` as a quotient of integers. */
function ratio(value: number, power: number): { top: bigint; bottom: bigint } {
  const { mantissa, exponent } = split(value);
  let top = mantissa;
  let bottom = 1n;
  if (exponent >= 0) top <<= BigInt(exponent);
  else bottom <<= BigInt(-exponent);
  if (power >= 0) top *= 10n ** BigInt(power);
  else bottom *= 10n ** BigInt(-power);
  return { top, bottom };
}

/** Nearest integer of a quotient, ties to even. */
function round(top: bigint, bottom: bigint): bigint {
  const quotient = top / bottom;
  const twice = (top % bottom) * 2n;
  return twice > bottom || (twice === bottom && (quotient & 1n) === 1n) ? quotient + 1n : quotient;
}

/** Digits down to `places` after the point. */
function fixed(value: number, places: number): Digits {
  if (value === 0) return ZERO;
  const used = Math.min(places, MAX_FRACTION);
  const { top, bottom } = ratio(value, used);
  const text = round(top, bottom).toString();
  return trim(text, text.length - used);
}

/** `count` significant digits. */
function significant(value: number, count: number): Digits {
  if (value === 0) return ZERO;
  const used = Math.min(count, MAX_SIGNIFICANT);
  let exponent = shortest(value).point - 1;
  for (;;) {
    const { top, bottom } = ratio(value, used - 1 - exponent);
    // The shortest digits may round up to the next power of ten, the number itself lies below it.
    if ((top / bottom).toString().length < used) {
      exponent -= 1;
      continue;
    }
    const text = round(top, bottom).toString();
    return trim(text, exponent + 1 + text.length - used);
  }
}

function exponentText(exponent: number): string {
  return `${exponent < 0 ? '-' : '+'}${Math.abs(exponent).toString().padStart(2, '0')}`;
}

function printExponential({ digits, point }: Digits, places: number, letter: string): string {
  const first = digits === '' ? '0' : digits.charAt(0);
  const fraction = places > 0 ? `.${digits.slice(1, places + 1).padEnd(places, '0')}` : '';
  return `${first}${fraction}${letter}${exponentText(digits === '' ? 0 : point - 1)}`;
}

function printFixed({ digits, point }: Digits, places: number): string {
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0';
  if (places <= 0) return whole;
  const leading = Math.min(Math.max(-point, 0), places);
  const fraction = `${'0'.repeat(leading)}${digits.slice(Math.max(point, 0))}`.slice(0, places).padEnd(places, '0');
  return `${whole}.${fraction}`;
}

function printGeneral(value: number, precision: number, letter: string): string {
  const short = precision < 0;
  const digits = short ? shortest(value) : significant(value, precision === 0 ? 1 : precision);
  const count = digits.digits.length;
  let limit = short ? 6 : precision === 0 ? 1 : precision;
  if (!short && limit > count && count >= digits.point) limit = count;
  const exponent = digits.point - 1;
  if (exponent < -4 || exponent >= limit) return printExponential(digits, Math.max(count - 1, 0), letter);
  return printFixed(digits, Math.max(count - digits.point, 0));
}

function printBinary(value: number): string {
  const { mantissa, exponent } = split(value);
  return `${mantissa}p${exponent < 0 ? '' : '+'}${exponent}`;
}

function printHexadecimal(value: number, precision: number, upper: boolean): string {
  let { mantissa, exponent } = split(value);
  // The leading 1 goes to bit 60, so that each group of four bits below it is a digit.
  exponent = mantissa === 0n ? 0 : exponent + 52;
  mantissa <<= 8n;
  while (mantissa !== 0n && (mantissa & (1n << 60n)) === 0n) {
    mantissa <<= 1n;
    exponent -= 1;
  }
  if (precision >= 0 && precision < 15) {
    const dropped = BigInt(60 - precision * 4);
    mantissa = round(mantissa, 1n << dropped) << dropped;
    if ((mantissa & (1n << 61n)) !== 0n) {
      mantissa >>= 1n;
      exponent += 1;
    }
  }
  const whole = (mantissa >> 60n).toString();
  const all = (mantissa & ((1n << 60n) - 1n)).toString(16).padStart(15, '0');
  const fraction = precision < 0 ? all.replace(/0+$/, '') : all.slice(0, precision).padEnd(precision, '0');
  const text = `0x${whole}${fraction === '' ? '' : `.${fraction}`}p${exponentText(exponent)}`;
  return upper ? text.toUpperCase() : text;
}

/** How a float is printed: the letters of Go's `strconv.FormatFloat`. */
export type FloatFormat = 'b' | 'e' | 'E' | 'f' | 'g' | 'G' | 'x' | 'X';

/**
 * The text of a float64.
 *
 * @param precision - Digits as the format counts them, -1 for as few as are needed.
 * @see https://pkg.go.dev/strconv#FormatFloat
 */
export function formatFloat(value: number, format: FloatFormat, precision: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  switch (format) {
    case 'b':
      return sign + printBinary(size);
    case 'x':
    case 'X':
      return sign + printHexadecimal(size, precision, format === 'X');
    case 'f': {
      const digits = precision < 0 ? shortest(size) : fixed(size, precision);
      return sign + printFixed(digits, precision < 0 ? Math.max(digits.digits.length - digits.point, 0) : precision);
    }
    case 'e':
    case 'E': {
      const digits = precision < 0 ? shortest(size) : significant(size, precision + 1);
      return sign + printExponential(digits, precision < 0 ? Math.max(digits.digits.length - 1, 0) : precision, format);
    }
    default:
      return sign + printGeneral(size, precision, format === 'G' ? 'E' : 'e');
  }
}

/** The text of a float64 as `%v` prints it. */
export function floatText(value: number): string {
  const size = Math.abs(value);
  // In this range JavaScript writes the same: no exponent, shortest digits.
  if (size < 1e6 && size >= 1e-4) return String(value);
  return value === 0 && !Object.is(value, -0) ? '0' : formatFloat(value, 'g', -1);
}
