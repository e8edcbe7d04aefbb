import { missingCapabilities, requiredCapabilities } from '../capabilities.js';
import { isObject, own } from '../json.js';
import type { ClientCapabilities, InputRequest, InputResponses, JsonObject } from '../types.js';

/** What a client of an earlier revision said in its `initialize`. */
export interface LegacyClient {
  /** The version that was agreed on. */
  readonly protocolVersion: string;
  readonly capabilities: JsonObject;
}

/** What came of one question. */
export type AskOutcome =
  | { readonly kind: 'result'; readonly result: JsonObject }
  /** The client answered with a JSON-RPC error, or could not be reached. */
  | { readonly kind: 'error'; readonly message: string };

/** Options of {@link fulfilRound}. */
export interface FulfilOptions {
  readonly client: LegacyClient;
  /** Puts one question to the client, as a request of that revision. Aborted when another one failed. */
  readonly ask: (request: InputRequest, signal: AbortSignal) => Promise<AskOutcome>;
  /** Makes ids for questions that open an address. */
  readonly createId: () => string;
  readonly signal?: AbortSignal;
  /** Questions in one round. @defaultValue 16 */
  readonly maxKeys?: number;
}

/** What comes of a round. */
export type FulfilledRound =
  /** The retry to send: the parameters of the original request and these. */
  | {
      readonly kind: 'retry';
      readonly inputResponses: InputResponses | undefined;
      readonly requestState: string | undefined;
      /** Ids of addresses that were opened; the client is told when the call is over. */
      readonly elicitationIds: readonly string[];
    }
  /** The call cannot go on. For `tools/call` the text belongs into a result with `isError`. */
  | { readonly kind: 'failed'; readonly message: string };

const ELICITATION_SINCE = '2025-06-18';
const MODES_SINCE = '2025-11-25';
const KINDS: ReadonlySet<unknown> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list']);

/**
 * Puts the questions of one `input_required` result to a client that knows them as requests of the server, all at once,
 * and answers what to send back. What the client did not declare, or its revision does not have, is not asked.
 */
export async function fulfilRound(result: JsonObject, options: FulfilOptions): Promise<FulfilledRound> {
  const questions = readQuestions(result, options);
  if ('kind' in questions) return questions;
  const { requests, requestState } = questions;
  const ids: string[] = [];
  const prepared = new Map<string, InputRequest>();
  for (const [key, request] of requests) {
    const question = prepare(request, options, ids);
    if (typeof question === 'string') return failed(question);
    prepared.set(key, question);
  }
  const answers = await askAll(prepared, options);
  if (typeof answers === 'string') return failed(answers);
  const inputResponses = answers.size === 0 ? undefined : (Object.fromEntries(answers) as InputResponses);
  return { kind: 'retry', inputResponses, requestState, elicitationIds: ids };
}

const failed = (message: string): FulfilledRound => ({ kind: 'failed', message });

interface Questions {
  readonly requests: ReadonlyMap<string, InputRequest>;
  readonly requestState: string | undefined;
}

function readQuestions(result: JsonObject, { maxKeys = 16 }: FulfilOptions): Questions | FulfilledRound {
  const state = own(result, 'requestState');
  const asked = own(result, 'inputRequests');
  if ((state !== undefined && typeof state !== 'string') || (asked !== undefined && !isObject(asked))) {
    return failed('The server asked for input in a form that the protocol does not have');
  }
  const requests = new Map<string, InputRequest>();
  for (const [key, request] of Object.entries(asked ?? {})) {
    if (!isObject(request) || !KINDS.has(own(request, 'method'))) {
      return failed(`The server asked for input of an unknown kind under ${JSON.stringify(key)}`);
    }
    if (own(request, 'params') !== undefined && !isObject(own(request, 'params'))) {
      return failed(`The server asked for input under ${JSON.stringify(key)} with parameters that are no object`);
    }
    requests.set(key, request as unknown as InputRequest);
  }
  if (requests.size === 0 && state === undefined) return failed('The server asked for input and said for which not');
  if (requests.size > maxKeys)
    return failed(`The server asked ${requests.size} questions at once, more than ${maxKeys}`);
  return { requests, requestState: state };
}

/** The question in the form of the client's revision, or why it cannot be put. */
function prepare(request: InputRequest, { client, createId }: FulfilOptions, ids: string[]): InputRequest | string {
  const { method, params = {} } = request;
  const lacks = missingCapabilities(requiredCapabilities(request), client.capabilities as ClientCapabilities);
  const isUrl = method === 'elicitation/create' && own(params, 'mode') === 'url';
  const needsTools = method === 'sampling/createMessage' && own(params, 'tools') !== undefined;
  const since = method !== 'elicitation/create' ? '' : ELICITATION_SINCE;
  const version = isUrl || needsTools ? MODES_SINCE : since;
  if (lacks !== undefined || client.protocolVersion < version) {
    const what = isUrl ? `${method} with an address` : needsTools ? `${method} with tools` : method;
    return `The server needs ${what}, which the client does not support`;
  }
  if (isUrl) {
    const elicitationId = createId();
    ids.push(elicitationId);
    return { method, params: { ...params, elicitationId } };
  }
  if (method === 'elicitation/create' && client.protocolVersion < MODES_SINCE) {
    const { mode: _form, ...rest } = params;
    return { method, params: rest };
  }
  return request;
}

/** One question that cannot be answered ends the others. */
async function askAll(
  questions: ReadonlyMap<string, InputRequest>,
  { ask, signal }: FulfilOptions,
): Promise<ReadonlyMap<string, JsonObject> | string> {
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal?.reason);
  signal?.addEventListener('abort', stop, { once: true });
  const answers = new Map<string, JsonObject>();
  let problem: string | undefined;
  await Promise.all(
    [...questions].map(async ([key, request]) => {
      const outcome = await ask(request, controller.signal);
      if (outcome.kind === 'result') answers.set(key, outcome.result);
      else if (request.method === 'elicitation/create') answers.set(key, { action: 'cancel' });
      else if (problem === undefined) {
        problem = `The client did not answer ${request.method}: ${outcome.message}`;
        controller.abort();
      }
    }),
  );
  signal?.removeEventListener('abort', stop);
  return problem ?? answers;
}
