import { TransportError } from './errors.js';

/** Checks an option at the door, so that a wrong one shows where it was passed. */
export function requireInteger(name: string, value: number, minimum: number): number {
  if (Number.isSafeInteger(value) && value >= minimum) return value;
  const kind = minimum === 1 ? 'a positive integer' : `an integer of at least ${minimum}`;
  throw new TransportError(
    'ERR_TRANSPORT_ARGUMENT',
    `Expected \`${name}\` to be ${kind}, got \`${String(value)}\` (${typeof value})`,
  );
}
