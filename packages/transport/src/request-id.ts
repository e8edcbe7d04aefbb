import { TransportError } from './errors.js';

/** The longest id that is taken; nothing but mischief has longer ones. */
const MAX_ID_BYTES = 4096;
const INTEGER = /^-?(?:0|[1-9]\d*)$/;

/**
 * A key for the id of a request, given as JSON text: `1` and `"1"` differ, `1` and `1.0` are the same, escapes are
 * decoded. Two ids have one key exactly when a peer may take them for one.
 *
 * @throws TransportError `ERR_TRANSPORT_MESSAGE` for text that is neither a string nor an integer.
 */
export function idKey(idText: string): string {
  if (idText.length <= MAX_ID_BYTES) {
    if (INTEGER.test(idText)) return idText === '-0' ? '0' : idText;
    if (idText.startsWith('"')) return idText.includes('\\') ? JSON.stringify(JSON.parse(idText)) : idText;
    const integer = integerText(idText);
    if (integer !== undefined) return integer;
  }
  const shown = idText.length > 64 ? `${idText.slice(0, 64)}…` : idText;
  throw new TransportError(
    'ERR_TRANSPORT_MESSAGE',
    `The id ${shown} is neither a string nor an integer; give each request one of the two`,
  );
}

/** True when {@link idKey} takes the text, which must be one JSON value. */
export function isIdText(text: string): boolean {
  if (text.length > MAX_ID_BYTES) return false;
  return text.startsWith('"') || INTEGER.test(text) || integerText(text) !== undefined;
}

/** Digits of an integer that is written with a fraction of zeros or an exponent, as `1.0` and `1e3` are. */
function integerText(text: string): string | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  if (!match) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const shift = Number(exponent) - fraction.length;
  const digits = whole + fraction;
  if (shift > 1_000) return undefined;
  const cut = shift < 0 ? digits.slice(0, Math.max(0, digits.length + shift)) : digits + '0'.repeat(shift);
  const rest = shift < 0 ? digits.slice(Math.max(0, digits.length + shift)) : '';
  if (/[1-9]/.test(rest)) return undefined;
  const plain = cut.replace(/^0+(?=\d)/, '') || '0';
  return plain === '0' ? '0' : `${sign}${plain}`;
}
