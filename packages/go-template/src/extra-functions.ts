import type { RenderBudget } from './budget.js';
import type { TemplateFunction } from './function.js';
import { decodeJson } from './json-decode.js';
import { encodeJson } from './json-encode.js';
import { quote } from './quote.js';
import type { GoValue } from './value.js';

/** Reading so much JSON costs a step. */
const DECODED_PER_STEP = 32;
/** Quoting that adds so many characters takes a step. */
const ADDED_PER_STEP = 8;

function explained<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof Error) || 'code' in error || error instanceof RangeError) throw error;
    throw new Error(`${what}: ${error.message}`, { cause: error });
  }
}

function quoted([text]: readonly GoValue[], budget: RenderBudget): string {
  const literal = quote(text as string);
  budget.spend(Math.floor((literal.length - (text as string).length) / ADDED_PER_STEP));
  budget.fits(literal.length);
  return literal;
}

/**
 * Functions that workflows have beside Go's own: `json` (a value as JSON text), `fromJson` (the value of a JSON text) and
 * `quote` (a text as a Go string literal).
 */
export const extraFunctions = Object.freeze({
  json: {
    parameters: ['any'],
    call: ([value], budget) => explained('failed to encode JSON', () => encodeJson(value, budget)),
  },
  fromJson: {
    parameters: ['string'],
    call: ([text], budget) => {
      budget.spend(Math.floor((text as string).length / DECODED_PER_STEP));
      return explained('failed to unmarshal JSON', () => decodeJson(text as string) as GoValue);
    },
  },
  quote: { parameters: ['string'], call: quoted },
} satisfies Readonly<Record<string, TemplateFunction>>) as Readonly<
  Record<'json' | 'fromJson' | 'quote', TemplateFunction>
>;
