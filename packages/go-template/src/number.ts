import type { NumberNode } from './nodes.js';
import { quote, unquoteCharacter } from './quote.js';
import { parseFloat64, parseInteger } from './strconv.js';
import { T, type Token } from './token.js';

const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;

function asInt(value: bigint): bigint | undefined {
  return value >= MIN_INT64 && value <= MAX_INT64 ? value : undefined;
}

function asUint(value: bigint): bigint | undefined {
  return value >= 0n && value <= MAX_UINT64 ? value : undefined;
}

/** An integer where the float is one. */
function whole(value: number): bigint | undefined {
  return Number.isInteger(value) ? BigInt(value) : undefined;
}

type Parts = Pick<NumberNode, 'int' | 'uint' | 'float' | 'complex'>;

function complexParts(real: number, imaginary: number): Parts {
  const integer = imaginary === 0 ? whole(real) : undefined;
  return {
    complex: [real, imaginary],
    float: imaginary === 0 ? real : undefined,
    int: integer === undefined ? undefined : asInt(integer),
    uint: integer === undefined ? undefined : asUint(integer),
  };
}

function finite(text: string): number | undefined {
  const value = parseFloat64(text);
  return value !== undefined && Number.isFinite(value) ? value : undefined;
}

function readComplex(text: string): Parts | string {
  // The sign that is neither the first character nor part of an exponent.
  const split = (/^[+-]?0[xX]/.test(text) ? /^(.*?[^pP])([+-].*)i$/ : /^(.*?[^eEpP])([+-].*)i$/).exec(text);
  const [, real = '', imaginary = ''] = split ?? [];
  if (real === '' || real.endsWith('i') || /^[+-]$/.test(imaginary)) return 'syntax error scanning complex number';
  const parts: number[] = [];
  for (const part of [real, imaginary]) {
    const value = parseFloat64(powerOfTwo(part));
    if (value === undefined) return `strconv.ParseFloat: parsing ${quote(part)}: invalid syntax`;
    if (!Number.isFinite(value)) return `strconv.ParseFloat: parsing ${quote(part)}: value out of range`;
    parts.push(value);
  }
  return complexParts(parts[0] ?? 0, parts[1] ?? 0);
}

/** Go's scanner reads `0x10` here as a mantissa without its exponent. */
function powerOfTwo(text: string): string {
  return /^[+-]?0[xX]/.test(text) && !/[pP]/.test(text) ? `${text}p0` : text;
}

function readReal(text: string): Parts | string {
  const integer = parseInteger(text);
  const int = integer === undefined ? undefined : asInt(integer);
  // A sign makes a number no uint, except for -0.
  const signed = /^[+-]/.test(text);
  const uint = integer === undefined || (signed && integer !== 0n) ? undefined : asUint(integer);
  const exact = int ?? uint;
  if (exact !== undefined) return { int, uint, float: Number(exact), complex: undefined };
  const float = finite(text);
  if (float === undefined) return `illegal number syntax: ${quote(text)}`;
  if (!/[.eEpP]/.test(text)) return `integer overflow: ${quote(text)}`;
  const value = whole(float);
  return {
    float,
    int: value === undefined ? undefined : asInt(value),
    uint: value === undefined ? undefined : asUint(value),
    complex: undefined,
  };
}

function readNumber({ type, text }: Token): Parts | string {
  if (type === T.CharConstant) {
    const character = unquoteCharacter(text);
    if ('problem' in character) return character.problem;
    const value = BigInt(character.code);
    return { int: value, uint: value, float: character.code, complex: undefined };
  }
  if (type === T.Complex) return readComplex(text);
  if (text.endsWith('i')) {
    const imaginary = finite(text.slice(0, -1));
    if (imaginary !== undefined) return complexParts(0, imaginary);
  }
  return readReal(text);
}

/** The node of a number or character, or what is wrong with it. */
export function numberNode(token: Token): NumberNode | string {
  const parts = readNumber(token);
  return typeof parts === 'string' ? parts : { kind: 'number', pos: token.pos, text: token.text, ...parts };
}
