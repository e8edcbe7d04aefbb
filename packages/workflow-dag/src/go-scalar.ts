/** The outcome of reading a scalar from text. */
export type Scalar<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly message: string };

const MAX_INT64 = 2n ** 63n - 1n;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const),
]);

/**
 * Reads a 64-bit integer in base 10.
 *
 * @see https://pkg.go.dev/strconv#ParseInt
 */
export function parseInteger(text: string): Scalar<bigint> {
  if (!/^[+-]?[0-9]+$/.test(text)) return failure('ParseInt', text, 'invalid syntax');
  // Digits beyond these are out of range anyway; converting a megabyte of them would take seconds.
  const digits = text.replace(/^([+-]?)0*(?=[0-9])/, '$1');
  if (digits.length > 20) return failure('ParseInt', text, 'value out of range');
  const value = BigInt(digits.startsWith('+') ? digits.slice(1) : digits);
  if (value > MAX_INT64 || value < -MAX_INT64 - 1n) return failure('ParseInt', text, 'value out of range');
  return { ok: true, value };
}

/**
 * Reads a float64; NaN and the infinities are floats, too.
 *
 * @see https://pkg.go.dev/strconv#ParseFloat
 */
export function parseFloat64(text: string): Scalar<number> {
  const special = /^([+-]?)(?:inf|infinity)$/i.exec(text);
  if (special !== null) {
    return { ok: true, value: special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY };
  }
  if (/^nan$/i.test(text)) return { ok: true, value: Number.NaN };
  const plain = withoutUnderscores(text);
  let value: number | undefined;
  if (plain !== undefined && /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?$/i.test(plain)) value = Number(plain);
  else if (plain !== undefined) value = hexadecimal(plain);
  if (value === undefined) return failure('ParseFloat', text, 'invalid syntax');
  if (!Number.isFinite(value)) return failure('ParseFloat', text, 'value out of range');
  return { ok: true, value };
}

/**
 * Reads a boolean in one of its twelve spellings.
 *
 * @see https://pkg.go.dev/strconv#ParseBool
 */
export function parseBoolean(text: string): Scalar<boolean> {
  const value = BOOLEANS.get(text);
  return value === undefined ? failure('ParseBool', text, 'invalid syntax') : { ok: true, value };
}

/** An underscore must stand between two digits, or between the prefix and a digit. */
function withoutUnderscores(text: string): string | undefined {
  if (!text.includes('_')) return text;
  const hex = /^[+-]?0x/i.test(text);
  const digit = hex ? /[0-9a-fx]/i : /[0-9]/;
  for (let index = text.indexOf('_'); index >= 0; index = text.indexOf('_', index + 1)) {
    if (!digit.test(text[index - 1] ?? '') || !(hex ? /[0-9a-f]/i : digit).test(text[index + 1] ?? ''))
      return undefined;
  }
  return text.replaceAll('_', '');
}

function hexadecimal(text: string): number | undefined {
  const match = /^([+-]?)0x([0-9a-f]*)(?:\.([0-9a-f]*))?p([+-]?[0-9]+)$/i.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  // 64 hexadecimal digits are far more than a float64 keeps.
  const digits = whole + fraction;
  if (digits === '' || digits.length > 64) return undefined;
  const value = Number(BigInt(`0x${digits}`)) * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === '-' ? -value : value;
}

function failure(name: string, text: string, reason: string): { readonly ok: false; readonly message: string } {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return { ok: false, message: `strconv.${name}: parsing ${JSON.stringify(shown)}: ${reason}` };
}
