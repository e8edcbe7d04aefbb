import type { Ask } from './ask.js';
import { missingCapabilities, missingForAll, requiredCapabilities } from './capabilities.js';
import { MrtrError } from './errors.js';
import type { ClientCapabilities, InputRequiredResult, InputRequests } from './types.js';

/** Questions by key. */
export type Asks = Readonly<Record<string, Ask>>;

const MAX_KEYS = 16;
const MAX_BYTES = 256 * 1024;
const HOSTILE: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * The result that asks. A state alone asks the client to come again.
 *
 * @throws MrtrError `ERR_MRTR_ASK` for neither questions nor state, for too many or too large ones, and for keys that
 * mean something to JavaScript
 */
export function inputRequired(asks: Asks, state?: string): InputRequiredResult {
  const entries = Object.entries(asks);
  if (entries.length === 0 && state === undefined) {
    throw refused('Expected at least one question or a state: a result that asks for nothing cannot be answered');
  }
  if (entries.length > MAX_KEYS)
    throw refused(`Expected at most ${MAX_KEYS} questions in a round, got ${entries.length}`);
  const hostile = entries.find(([key]) => key === '' || key.length > 128 || HOSTILE.has(key));
  if (hostile !== undefined) throw refused(`Expected another key than \`${hostile[0].slice(0, 40)}\``);
  const inputRequests: InputRequests = Object.fromEntries(entries.map(([key, { request }]) => [key, request]));
  const bytes = Buffer.byteLength(JSON.stringify(inputRequests));
  if (bytes > MAX_BYTES) throw refused(`The questions have ${bytes} bytes, more than ${MAX_BYTES}`);
  return {
    resultType: 'input_required',
    ...(entries.length === 0 ? {} : { inputRequests }),
    ...(state === undefined ? {} : { requestState: state }),
  };
}

/** The questions that a client can be asked. */
export interface Admitted {
  readonly asks: Asks;
  /** What the client would have to declare for the others, unless they are optional. */
  readonly missing: ClientCapabilities | undefined;
}

/** Leaves out optional questions that the client did not declare, and tells what the others lack. */
export function admitAsks(asks: Asks, declared: ClientCapabilities | undefined): Admitted {
  const kept = Object.entries(asks).filter(
    ([, { request, optional }]) =>
      optional !== true || missingCapabilities(requiredCapabilities(request), declared) === undefined,
  );
  const requests = Object.fromEntries(kept.map(([key, { request }]) => [key, request]));
  return { asks: Object.fromEntries(kept), missing: missingForAll(requests, declared) };
}

const refused = (message: string): MrtrError => new MrtrError('ERR_MRTR_ASK', message);
