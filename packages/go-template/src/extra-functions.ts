import type { RenderBudget } from './budget.js';
import type { TemplateFunction } from './function.js';
import { decodeJson } from './json-decode.js';
import { encodeJson } from './json-encode.js';
import { quote } from './quote.js';
import type { GoValue } from './value.js';

function explained<T>(what: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof Error) || 'code' in error || error instanceof RangeError) throw error;
    throw new Error(`${what}: ${error.message}`, { cause: error });
  }
}

function quoted([text]: readonly GoValue[], budget: RenderBudget): string {
  budget.fits((text as string).length);
  const literal = quote(text as string);
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
    call: ([text]) => explained('failed to unmarshal JSON', () => decodeJson(text as string) as GoValue),
  },
  quote: { parameters: ['string'], call: quoted },
} satisfies Readonly<Record<string, TemplateFunction>>) as Readonly<
  Record<'json' | 'fromJson' | 'quote', TemplateFunction>
>;
