import { MrtrError } from './errors.js';
import { isObject, own } from './json.js';
import type { ClientCapabilities, InputRequest, InputRequests, JsonObject } from './types.js';

/** JSON-RPC code of a request that needs what the client did not declare. HTTP 400. */
export const MISSING_CAPABILITY = -32021;

/** The error object of {@link missingCapabilityError}. */
export interface MissingCapabilityError {
  readonly code: typeof MISSING_CAPABILITY;
  readonly message: string;
  readonly data: { readonly requiredCapabilities: ClientCapabilities };
}

const has = (holder: unknown, key: string): boolean => isObject(holder) && isObject(own(holder, key));

/**
 * What a client must have declared to be asked this, in the shape of its capabilities.
 *
 * @see https://modelcontextprotocol.io/specification — "Elicitation", "Sampling", "Roots", each under "Capabilities"
 */
export function requiredCapabilities({ method, params: given }: InputRequest): ClientCapabilities {
  // What another program sent may be anything, `null` too.
  const params = isObject(given) ? given : {};
  switch (method) {
    case 'elicitation/create':
      return { elicitation: own(params, 'mode') === 'url' ? { url: {} } : { form: {} } };
    case 'sampling/createMessage':
      return { sampling: samplingNeeds(params) };
    case 'roots/list':
      return { roots: {} };
    default:
      // What another program sent, whatever the type says.
      throw new MrtrError('ERR_MRTR_ASK', `Expected a question, got ${JSON.stringify(method as unknown)}`);
  }
}

function samplingNeeds(params: JsonObject): JsonObject {
  const tools = own(params, 'tools') !== undefined || own(params, 'toolChoice') !== undefined;
  return tools ? { tools: {} } : {};
}

/**
 * The part of `required` that `declared` lacks; `undefined` when nothing is missing. A bare `elicitation: {}` stands for
 * forms alone, and `{ url: {} }` does not stand for forms.
 */
export function missingCapabilities(
  required: ClientCapabilities,
  declared: ClientCapabilities | undefined,
): ClientCapabilities | undefined {
  const missing: Record<string, JsonObject> = {};
  for (const kind of ['elicitation', 'sampling', 'roots'] as const) {
    const wanted = required[kind];
    if (wanted === undefined) continue;
    const given = declared !== undefined && has(declared, kind) ? (own(declared, kind) as JsonObject) : undefined;
    const lacking = Object.keys(wanted).filter((feature) => !covers(kind, given, feature));
    if (given === undefined || lacking.length > 0) {
      missing[kind] = Object.fromEntries((lacking.length > 0 ? lacking : []).map((feature) => [feature, {}]));
    }
  }
  return Object.keys(missing).length === 0 ? undefined : missing;
}

function covers(kind: string, given: JsonObject | undefined, feature: string): boolean {
  if (given === undefined) return false;
  if (has(given, feature)) return true;
  return kind === 'elicitation' && feature === 'form' && !has(given, 'url');
}

/** What all of the questions need that the client did not declare. */
export function missingForAll(
  requests: InputRequests,
  declared: ClientCapabilities | undefined,
): ClientCapabilities | undefined {
  const merged: Record<string, JsonObject> = {};
  for (const request of Object.values(requests)) {
    const missing = missingCapabilities(requiredCapabilities(request), declared) ?? {};
    for (const [kind, features] of Object.entries(missing)) {
      merged[kind] = { ...merged[kind], ...(features as JsonObject) };
    }
  }
  return Object.keys(merged).length === 0 ? undefined : merged;
}

/** The JSON-RPC error for a request that cannot be served without asking; its HTTP status is 400. */
export function missingCapabilityError(missing: ClientCapabilities): MissingCapabilityError {
  const names = Object.entries(missing).map(([kind, features]) => {
    const parts = Object.keys(features as JsonObject);
    return parts.length === 0 ? kind : parts.map((part) => `${kind}.${part}`).join(', ');
  });
  return {
    code: MISSING_CAPABILITY,
    message: `The client must declare: ${names.join(', ')}`,
    data: { requiredCapabilities: missing },
  };
}
